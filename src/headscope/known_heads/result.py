"""What was found of known kinds of heads: every head beside its control, and the best head of each kind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from headscope.atlas import Results
from headscope.facts.description import described_in
from headscope.known_heads import reading
from headscope.known_heads.written import SIGNS
from headscope.passes.controlled import ControlledMean, ControlledMeans
from headscope.probes.result import COUNT, OVER, ProbeResult, Row
from headscope.stats.intervals import mean_interval
from headscope.types import Array, HeadGrid, HeadId, LabelledArray, LayerAttention

IN_TEXT_ENDING = "_in_text"
MADE = ("previous", "duplicate", "induction", "sink")
"""What made text shows."""

IN_TEXT: Mapping[str, Callable[[LayerAttention], tuple[Tensor, Tensor, Tensor]]] = {
    "previous_in_text": lambda batch: reading.beside_even(batch, reading.before(batch)),
    "duplicate_in_text": lambda batch: reading.natural(batch, reading.copies(batch)),
    "induction_in_text": lambda batch: reading.natural(batch, reading.after_copies(batch)),
    "sink_in_text": lambda batch: reading.beside_even(batch, reading.first(batch)),
}
"""What natural text shows, and how it is read off a layer."""

WRITTEN = tuple(SIGNS)
"""What made text shows of what heads write."""
WRITTEN_IN_TEXT = tuple(f"{kind}{IN_TEXT_ENDING}" for kind in SIGNS)
RETRIEVAL = "retrieval"
KINDS = (*MADE, *WRITTEN, *IN_TEXT, *WRITTEN_IN_TEXT, RETRIEVAL)
SINKS = ("sink", "sink_in_text")

LOGITS, SHARE = "logits", "share"
"""What kinds are counted in."""

MOST = 8
"""How many heads of a kind are listed by name where a person reads."""


DESCRIPTION = described_in(__file__)


@dataclass(frozen=True)
class KnownResult(ProbeResult):
    """What makes every head one of each kind, beside its control."""

    description = DESCRIPTION

    grid: HeadGrid
    sums: ControlledMeans
    loudness: Array | None = None  # (layer, head) on made text, over the mean of the layer's heads

    def intervals(self) -> str:
        """What intervals are over, in words."""
        return f"over texts, after correction for {self.grid.size} heads"

    def arrays(self) -> Results:
        """`known_heads` (kind, layer, head), its control and its difference, with standard errors over texts."""
        kinds = list(self.sums.by_name)
        arrays = self.sums.labelled("known_heads", "kind", self.grid, _QUANTITIES)
        texts = np.array([kind.texts for kind in self.sums.by_name.values()])
        for name in ("known_count", "known_units"):
            arrays[name] = LabelledArray.of(texts, {"kind": kinds}, "how many texts have a case")
        if self.loudness is not None:
            words = "mean length of what a head adds on made text, over the mean of its layer's heads"
            arrays["known_loudness"] = LabelledArray.of(self.loudness, self.grid.coords, words)
        return {self.grid.stack: arrays}

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each kind: its best head, and all heads that are clearly of it."""
        self.stack_of([self.grid.stack], stack)
        return [self._row(kind, means) for kind, means in self.sums.by_name.items()]

    def _row(self, kind: str, means: ControlledMean) -> Row:
        row = _row(kind, means)
        if kind in SINKS and self.loudness is not None and row["head"]:
            best = HeadId.parse(row["head"])
            row["loudness"] = float(self.loudness[best.layer, best.head])
        return row


_QUANTITIES = {
    "value": "what makes a head one of a known kind: attention, share of tokens, or logits added or taken off",
    "control": "the same number where there is no reason for it",
    "difference": "known_heads minus known_heads_control, text by text",
}


def _row(kind: str, means: ControlledMean) -> Row:
    unit = DESCRIPTION.units.get(kind, SHARE)
    row: Row = {"kind": kind, "unit": unit, "cases": means.texts, OVER: "texts", COUNT: means.texts}
    value = "logits" if unit == LOGITS else "attention"
    columns = ("head", value, "control", "difference", "low", "high", "heads", "named")
    if means.texts < 2:
        return row | dict.fromkeys(columns)
    difference, error = means.difference.mean(), means.difference.stderr()  # (layer, head)
    ends = mean_interval(difference, error, means.texts, comparisons=difference.size)
    low, high = (end.clip(-1, 1) if unit == SHARE else end for end in ends)
    best = HeadId(*divmod(int(difference.argmax()), difference.shape[1]))
    numbers = (means.value.mean(), means.control.mean(), difference, low, high)
    clear = [HeadId(*map(int, place)) for place in np.argwhere(low > DESCRIPTION.least)]
    clear.sort(key=lambda head: -difference[head.layer, head.head])
    own = (float(array[best.layer, best.head]) for array in numbers)
    values = (str(best), *own, [str(head) for head in clear], _listed(clear))
    return row | dict(zip(columns, values, strict=True))


def _listed(heads: Sequence[HeadId]) -> str:
    """The first of them by name, and how many more there are."""
    more = f" and {len(heads) - MOST} more" if len(heads) > MOST else ""
    return f"{', '.join(map(str, heads[:MOST]))}{more}" or "none"
