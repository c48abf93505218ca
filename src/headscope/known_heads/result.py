"""What was found of known kinds of heads: every head beside its control, and the best head of each kind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from headscope.atlas import Results
from headscope.facts.description import ArrayText, Column, Description, EveryHead, Sentences, Table
from headscope.known_heads import reading
from headscope.known_heads.successor import SUCCESSOR
from headscope.known_heads.written import SIGNS
from headscope.probes.result import COUNT, OVER, ProbeResult, Row
from headscope.run.controlled import ControlledMean, ControlledMeans
from headscope.stats.intervals import mean_interval
from headscope.types import Array, HeadGrid, HeadId, LabelledArray

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.types import AttentionBatch

IN_TEXT_ENDING = "_in_text"
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

WRITTEN = tuple(SIGNS)
"""What made text shows of what heads write."""
WRITTEN_IN_TEXT = tuple(f"{kind}{IN_TEXT_ENDING}" for kind in SIGNS)
RETRIEVAL = "retrieval"
KINDS = (*MADE, *WRITTEN, SUCCESSOR, *IN_TEXT, *WRITTEN_IN_TEXT, RETRIEVAL)
SINKS = ("sink", SINK_WITHOUT_START, "sink_in_text")

LOGITS, SHARE = "logits", "share"
"""What kinds are counted in."""

LEAST = 0.1
"""The smallest difference from its control by which a head is called one of a kind: a tenth of its attention, a tenth
of the items, a tenth of a logit."""

_UNIT = "share, or logits"

MOST = 8
"""How many heads of a kind are listed by name where a person reads."""


def _table(*numbers: Column, more: tuple[Column, ...] = (), caption: str, unit: str) -> Table:
    """The table of the kinds that are counted in one unit."""
    columns = (
        Column("kind", "kind"),
        Column("cases", "cases"),
        Column("head", "best head"),
        *numbers,
        Column("verdict", "clearly above", "verdict"),
        *more,
        Column("named", "heads of this kind"),
    )
    return Table(columns, caption, where={"unit": unit})


DESCRIPTION = Description(
    "known",
    title="Which heads are of a known kind: induction, previous token, sink, copying, successor, retrieval?",
    question="Random tokens, then the same ones again: a duplicate-token head looks at the earlier copy of a token, "
    "an induction head at the token that followed it. The control is the same place when the second half is fresh. "
    "For the previous token and the first token (the sink) the control is even attention. For copies in natural text "
    "it is what the head gives other keys at the same distance. Retrieval is the share of a needle's tokens that the "
    "model repeats while the head's largest weight lies on that token; its control is another stretch of the text. "
    "Copying is what a head adds directly to the score of the token it looks at most, copy suppression what it takes "
    "off; the control is its output at another position of the text. A successor head, by its weights, raises the "
    "next item of an ordered list (weekdays, months, numbers, letters) above all others of the list; the control is "
    "words without an order. Intervals allow for all {heads} heads, and a head is named only if it is a tenth above "
    "its control: of attention, of the items, or of a logit.",
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
        "copy_suppression": "copy suppression",
        "copying_in_text": "copying, natural text",
        "copy_suppression_in_text": "copy suppression, natural text",
    },
    value="difference",
    value_name="share, minus that of the control",
    units=dict.fromkeys((*WRITTEN, *WRITTEN_IN_TEXT), LOGITS),
    is_difference=True,
    least=LEAST,
    few_cases=2,
    tables=(
        _table(
            Column("attention", "share", "percent"),
            Column("control", "control", "percent"),
            Column("difference", "difference", "percent", low="low", high="high"),
            more=(Column("loudness", "loudness", "number", digits=2),),
            caption="The best head of each kind, and all heads clearly of that kind; a sink's loudness is over the "
            "mean of its layer's heads",
            unit=SHARE,
        ),
        _table(
            Column("logits", "logits", "number", digits=2),
            Column("control", "control", "number", digits=2),
            Column("difference", "difference", "number", digits=2, low="low", high="high"),
            caption="Kinds by what a head writes on the score of the token it looks at",
            unit=LOGITS,
        ),
    ),
    chart="Best head of each kind",
    chart_caption="A dot is the share that makes a head one of its kind, minus that of its control; its bar is the "
    "95% interval after correction for all heads.",
    arrays={
        "known_heads": ArrayText("Known kinds: {}", _UNIT, "number"),
        "known_heads_control": ArrayText("Known kinds, control: {}", _UNIT, "number"),
        "known_heads_difference": ArrayText("Known kinds, minus their control: {}", _UNIT, "number"),
        "known_loudness": ArrayText("Loudness on made text", "times the layer's mean", "number"),
    },
    every_head=EveryHead(
        "known_heads_difference",
        "known",
        value="known_heads",
        value_name="share",
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
            "copying": "raises the token it looks at, a copying head",
            "copy_suppression": "lowers the token it looks at, a copy suppression head",
            "copying_in_text": "raises the token it looks at in natural text",
            "copy_suppression_in_text": "lowers the token it looks at in natural text",
            SUCCESSOR: "raises the next item of ordered lists, a successor head",
        },
        more="of attention more than its control",
    ),
)


@dataclass(frozen=True)
class KnownResult(ProbeResult):
    """What makes every head one of each kind, beside its control."""

    description = DESCRIPTION

    grid: HeadGrid
    sums: ControlledMeans
    loudness: Array | None = None  # (layer, head) on made text, over the mean of the layer's heads

    def intervals(self) -> str:
        """What intervals are over, in words."""
        return f"over texts (a successor's: items), after correction for {self.grid.layers * self.grid.heads} heads"

    def arrays(self) -> Results:
        """`known_heads` (kind, layer, head), its control and its difference, with standard errors over texts."""
        kinds = list(self.sums.by_name)
        arrays = self.sums.labelled("known_heads", "kind", self.grid, _QUANTITIES)
        texts = np.array([kind.texts for kind in self.sums.by_name.values()])
        for name in ("known_count", "known_units"):
            arrays[name] = LabelledArray(texts, ("kind",), {"kind": kinds}, "how many texts have a case")
        if self.loudness is not None:
            coords = {"layer": range(self.grid.layers), "head": range(self.grid.heads)}
            words = "mean length of what a head adds on made text, over the mean of its layer's heads"
            arrays["known_loudness"] = LabelledArray(self.loudness, ("layer", "head"), coords, words)
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
    "value": "what makes a head one of a known kind: attention, share of items, or logits added or taken off",
    "control": "the same number where there is no reason for it",
    "difference": "known_heads minus known_heads_control, text by text",
}


def _row(kind: str, means: ControlledMean) -> Row:
    unit = DESCRIPTION.units.get(kind, SHARE)
    over = "items" if kind == SUCCESSOR else "texts"
    row: Row = {"kind": kind, "unit": unit, "cases": means.texts, OVER: over, COUNT: means.texts}
    value = "logits" if unit == LOGITS else "attention"
    columns = ("head", value, "control", "difference", "low", "high", "heads", "named")
    if means.texts < 2:
        return row | dict.fromkeys(columns)
    difference, error = means.difference.mean(), means.difference.stderr()  # (layer, head)
    ends = mean_interval(difference, error, means.texts, comparisons=difference.size)
    low, high = (end.clip(-1, 1) if unit == SHARE else end for end in ends)
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
