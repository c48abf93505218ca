"""What was found of known kinds of heads: every head beside its control, and the best head of each kind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from headscope.atlas import Results
from headscope.facts.description import ArrayText, Column, Description, EveryHead, Sentences, Table
from headscope.known_heads import reading
from headscope.probes.result import COUNT, OVER, ProbeResult, Row
from headscope.run.controlled import ControlledMean, ControlledMeans
from headscope.stats.intervals import mean_interval
from headscope.types import HeadGrid, HeadId, LabelledArray

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.types import AttentionBatch

SINK_WITHOUT_START = "sink_without_start"
MADE = ("previous", "duplicate", "induction", "sink", SINK_WITHOUT_START)
"""What made text shows."""

_Read = Callable[["AttentionBatch"], "tuple[Tensor, Tensor, Tensor]"]


def _read(
    batch: "AttentionBatch", *, pairs: "Callable[[AttentionBatch], Tensor]", by_place: bool
) -> "tuple[Tensor, Tensor, Tensor]":
    return (reading.beside_even if by_place else reading.natural)(batch, pairs(batch))


IN_TEXT: Mapping[str, _Read] = {
    "previous_in_text": partial(_read, pairs=reading.before, by_place=True),
    "duplicate_in_text": partial(_read, pairs=reading.copies, by_place=False),
    "induction_in_text": partial(_read, pairs=reading.after_copies, by_place=False),
    "sink_in_text": partial(_read, pairs=reading.first, by_place=True),
}
"""What natural text shows, and how it is read off a layer."""

RETRIEVAL = "retrieval"
KINDS = (*MADE, *IN_TEXT, RETRIEVAL)

LEAST = 0.1
"""The smallest difference from its control by which a head is called one of a kind: a tenth of its attention."""

MOST = 8
"""How many heads of a kind are listed by name where a person reads."""

DESCRIPTION = Description(
    "known",
    title="Which heads are of a known kind: induction, previous token, sink, retrieval?",
    question="Random tokens, then the same ones again: a duplicate-token head looks at the earlier copy of a token, "
    "an induction head at the token that followed it. The control is the same place when the second half is fresh. "
    "For the previous token and the first token (the sink) the control is even attention. For copies in natural text "
    "it is what the head gives other keys at the same distance. Retrieval is the share of a needle's tokens that the "
    "model repeats while the head's largest weight lies on that token; its control is another stretch of the text. "
    "Intervals are corrected for all {heads} heads, and a head is named only if it is 0.1 above its control.",
    subject="known kinds",
    group="Known kinds of heads",
    label="kind",
    labels="kinds",
    names={
        "previous": "previous token",
        "duplicate": "duplicate token",
        "sink": "sink on the first token",
        SINK_WITHOUT_START: "sink, without a start token",
        "previous_in_text": "previous token, natural text",
        "duplicate_in_text": "duplicate token, natural text",
        "induction_in_text": "induction, natural text",
        "sink_in_text": "sink on the first token, natural text",
    },
    value="difference",
    value_name="attention, minus that of the control",
    is_difference=True,
    least=LEAST,
    few_cases=2,
    tables=(
        Table(
            (
                Column("kind", "kind"),
                Column("cases", "texts"),
                Column("head", "best head"),
                Column("attention", "attention", "percent"),
                Column("control", "control", "percent"),
                Column("difference", "difference", "percent", low="low", high="high"),
                Column("verdict", "clearly above", "verdict"),
                Column("named", "heads of this kind"),
            ),
            "The best head of each kind, and all heads clearly of that kind",
        ),
    ),
    chart="Best head of each kind",
    chart_caption="A dot is the attention that defines the kind, minus that of its control; its bar is the 95% "
    "interval after correction for all heads.",
    arrays={
        "known_heads": ArrayText("Known kinds: {}"),
        "known_heads_control": ArrayText("Known kinds, control: {}"),
        "known_heads_difference": ArrayText(
            "Known kinds, minus their control: {}", "difference of attention"
        ),
    },
    every_head=EveryHead(
        "known_heads_difference",
        "known",
        value="known_heads",
        value_name="attention",
        baseline="known_heads_control",
        baseline_name="control",
    ),
    texts="texts",
    sentences=Sentences(
        "Known kinds",
        "{}",
        objects={
            "previous": "is a previous-token head",
            "duplicate": "is a duplicate-token head",
            "induction": "is an induction head",
            "sink": "attends to the first token (sink)",
            SINK_WITHOUT_START: "attends to the first token (sink) even without a start token",
            "previous_in_text": "looks at the token before in natural text",
            "duplicate_in_text": "looks at earlier copies in natural text",
            "induction_in_text": "looks at what followed earlier copies in natural text",
            "sink_in_text": "attends to the first token of natural text (sink)",
            RETRIEVAL: "fetches the needle",
        },
        more="of attention more than its control",
    ),
)


@dataclass(frozen=True)
class KnownResult(ProbeResult):
    """Every head's attention for each kind, beside its control."""

    description = DESCRIPTION

    grid: HeadGrid
    sums: ControlledMeans

    def intervals(self) -> str:
        """What intervals are over, in words."""
        return f"over texts, after correction for {self.grid.layers * self.grid.heads} heads"

    def arrays(self) -> Results:
        """`known_heads` (kind, layer, head), its control and its difference, with standard errors over texts."""
        kinds = list(self.sums.by_name)
        arrays = self.sums.labelled("known_heads", "kind", self.grid, _QUANTITIES)
        texts = np.array([kind.texts for kind in self.sums.by_name.values()])
        for name in ("known_count", "known_units"):
            arrays[name] = LabelledArray(texts, ("kind",), {"kind": kinds}, "how many texts have a case")
        return {self.grid.stack: arrays}

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each kind: its best head, and all heads that are clearly of it."""
        self.stack_of([self.grid.stack], stack)
        return [_row(kind, means) for kind, means in self.sums.by_name.items()]


_QUANTITIES = {
    "value": "attention that defines each known kind of head",
    "control": "the same attention where there is no reason for it",
    "difference": "known_heads minus known_heads_control, text by text",
}


def _row(kind: str, means: ControlledMean) -> Row:
    row: Row = {"kind": kind, "cases": means.texts, OVER: "texts", COUNT: means.texts}
    columns = ("head", "attention", "control", "difference", "low", "high", "heads", "named")
    if means.texts < 2:
        return row | dict.fromkeys(columns)
    difference, error = means.difference.mean(), means.difference.stderr()  # (layer, head)
    ends = mean_interval(difference, error, means.texts, comparisons=difference.size)
    low, high = (end.clip(-1, 1) for end in ends)
    best = np.unravel_index(int(difference.argmax()), difference.shape)
    numbers = (means.value.mean(), means.control.mean(), difference, low, high)
    clear = [HeadId(*map(int, place)) for place in np.argwhere(low > LEAST)]
    clear.sort(key=lambda head: -difference[head.layer, head.head])
    named = str(HeadId(*map(int, best)))
    values = (
        named,
        *(float(array[best]) for array in numbers),
        [str(head) for head in clear],
        _listed(clear),
    )
    return row | dict(zip(columns, values, strict=True))


def _listed(heads: Sequence[HeadId]) -> str:
    """The first of them by name, and how many more there are."""
    more = f" and {len(heads) - MOST} more" if len(heads) > MOST else ""
    return f"{', '.join(map(str, heads[:MOST]))}{more}" or "none"
