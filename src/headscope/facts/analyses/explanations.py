"""What `headscope explain` finds of a head: a row of its table, the names of its parts, and the row in words."""

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from headscope.facts.description import ArrayText, Column, Description, from_data
from headscope.remembered import once

if TYPE_CHECKING:  # the command line names contrasts and embeddings without opening an atlas
    from headscope.atlas import Atlas

PROBE = "explanation"

CONTRASTS = {
    "segment": "its own segment from the other",
    "sentence": "its own sentence from others",
    "sep": "[SEP] from other keys",
}
EMBEDDINGS = {"token": "tokens", "position": "positions", "segment": "segments"}
"""What may be replaced by its mean, one by one."""
REPLACED = {**EMBEDDINGS, "all": "all of these"}

DESCRIPTION = Description(
    PROBE,
    group="What makes a head look where it looks",
    outlook="what makes a head's pattern",
    names={
        "neurons=1": "neuron",
        **{f"neurons={count}": f"{count} neurons" for count in (2, 4, 8)},
        **{f"contrast={name}": words for name, words in CONTRASTS.items()},
        **{f"replaced={name}": f"without {words}" for name, words in REPLACED.items()},
        "replaced=even": "of even attention",
    },
    arrays={
        "score_share": ArrayText("Score carried by the best {}", "share of the score"),
        "score_share_random": ArrayText("Score carried at random, beside the best {}", "share of the score"),
        "score_share_bias": ArrayText("Score carried by the bias for position", "share of the score"),
        "score_pattern": ArrayText("Pattern given by the best {} alone", "share of the pattern"),
        "score_pattern_random": ArrayText(
            "Pattern given at random, beside the best {}", "share of the pattern"
        ),
        "score_auc": ArrayText("How well the score tells {}", "AUC"),
        "pattern_left": ArrayText("Pattern left {}", "share of the pattern"),
        "replaced_js": ArrayText("Difference from the map {}", "nats", "number"),
        "replaced_cosine": ArrayText("Likeness to the map {} (cosine)", "cosine"),
        "replaced_overlap": ArrayText("Attention shared with the map {}"),
    },
)


@dataclass(frozen=True)
class Cell:
    """A number with its standard error over texts and its 95 % interval; None for what is not known."""

    value: float | None = None
    stderr: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def number(self) -> float:
        """The value, nan where there is none."""
        return math.nan if self.value is None else self.value

    def covers(self, value: float) -> bool:
        """Whether the interval is known and the value lies inside it."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high


NOTHING = Cell()


def _number(key: str, heading: str = "") -> Column:
    return Column(key, heading, "number", 3, stderr="" if key.endswith("_random") else f"{key}_stderr")


CARRIES = (
    Column("neurons"),
    _number("score", "share of score"),
    _number("score_random", "random"),
    Column("isotropic", "if all alike", "number", 3),
    _number("pattern", "share of pattern"),
    _number("pattern_random", "random"),
)
SEPARATES = (
    Column("contrast", "it tells"),
    _number("score", "whole score"),
    Column("texts"),
    Column("sure", "neurons, best first"),
)
LEFT = (
    Column("replaced"),
    _number("left"),
    _number("js", "JS, nats"),
    _number("cosine"),
    _number("overlap"),
)


def columns_of(part: "Carried | Separated | Replaced") -> dict[str, Any]:
    """A part of the table as a row to be read: numbers with their standard errors beside them, names in words."""
    row: dict[str, Any] = {}
    for name, value in ((field.name, getattr(part, field.name)) for field in fields(part)):
        row |= (
            {name: value.value, f"{name}_stderr": value.stderr} if isinstance(value, Cell) else {name: value}
        )
    if isinstance(part, Replaced):
        row["replaced"] = REPLACED.get(part.replaced, "(even attention)")
    if isinstance(part, Separated):
        row["contrast"] = part.words
        best = (
            f"{cell.neuron}: {cell.auc:.2f} ({cell.low:.2f} to {cell.high:.2f})" for cell in part.sure[:3]
        )
        row["sure"] = "; ".join(best) or "none is clear"
    return row


@dataclass(frozen=True)
class Carried:
    """What the best so many neurons carry of the score and give of the pattern, beside as many at random."""

    neurons: int
    score: Cell = NOTHING
    score_random: Cell = NOTHING
    isotropic: float = math.nan
    """What they would carry if all neurons were alike."""
    pattern: Cell = NOTHING
    pattern_random: Cell = NOTHING


@dataclass(frozen=True)
class Neuron:
    """How well one neuron tells keys apart, with an interval that holds for all neurons at once."""

    neuron: int
    auc: float
    stderr: float
    low: float
    high: float
    clear: bool
    """Whether the interval leaves 0.5 out."""


@dataclass(frozen=True)
class Separated:
    """How well the score tells keys of a kind from others, and its neurons that tell them best, the best first."""

    contrast: str
    texts: int
    score: Cell = NOTHING
    neurons: tuple[Neuron, ...] = ()
    clear: int = 0
    """How many of all neurons tell them surely."""

    @property
    def words(self) -> str:
        """What is told from what."""
        return CONTRASTS.get(self.contrast, self.contrast)

    @property
    def sure(self) -> list[Neuron]:
        """The neurons listed that surely tell these keys apart."""
        return [neuron for neuron in self.neurons if neuron.clear]


@dataclass(frozen=True)
class Replaced:
    """How near the map stays with embeddings replaced by their mean, or how near it is to even attention."""

    replaced: str
    left: Cell | None = None
    """The share of the pattern that is left; None for even attention, which it is held against."""
    js: Cell = NOTHING
    cosine: Cell = NOTHING
    overlap: Cell = NOTHING


@dataclass(frozen=True)
class HeadExplanation:
    """A row of the table: why one head does what it does."""

    head: str
    neurons: int = 0
    best: tuple[int, ...] = ()
    """The best neurons in order, by all texts."""
    alike: int = 0
    """How many of them both halves of the texts choose."""
    carries: tuple[Carried, ...] = ()
    bias: Cell | None = None
    separates: tuple[Separated, ...] = ()
    left: tuple[Replaced, ...] = ()

    @property
    def carried(self) -> list[Carried]:
        """What is known of `carries`; nothing for a head whose score does not vary."""
        return [part for part in self.carries if part.score.value is not None]

    @property
    def told(self) -> list[Separated]:
        """What is known of `separates`; a text without a second segment says nothing of segments."""
        return [part for part in self.separates if part.score.value is not None]

    @property
    def pattern_left(self) -> dict[str, Cell]:
        """What is left of the pattern, by what was replaced, where it is known."""
        known = {part.replaced: part.left for part in self.left if part.left is not None}
        return {name: left for name, left in known.items() if left.value is not None}

    @property
    def words(self) -> list[str]:
        """What carries the score, what tells keys apart and what is left, in a sentence each."""
        return [line for line in (self._carried_words(), self._told_words(), self._left_words()) if line]

    def _carried_words(self) -> str:
        if not self.carried:
            return ""
        enough = next((part for part in self.carried if part.score.number >= 0.5), None)
        few = enough if enough is not None and enough.neurons < self.neurons else None
        part = few or self.carried[-1]
        random = part.score_random
        beside = "" if random.value is None else f"; as many random neurons carry {random.value:.0%}"
        share = f"{part.score.number:.0%}"
        if few is None:
            best = f"the best {part.neurons} of {self.neurons} neurons"
            return f"Its score is spread: {best} carry {share} of it{beside}."
        names = ", ".join(map(str, self.best[: few.neurons]))
        who = (
            f"One neuron ({names}) carries" if few.neurons == 1 else f"{few.neurons} neurons ({names}) carry"
        )
        return f"{who} {share} of its score, of {self.neurons}{beside}."

    def _told_words(self) -> str:
        """The contrast that its score tells best, and the neuron that tells it best."""
        if not self.told:
            return ""
        best = max(self.told, key=lambda part: abs(part.score.number - 0.5))
        if best.score.covers(0.5):
            return "Its score does not tell keys apart by sentence, segment or [SEP]."
        by = f"; neuron {best.sure[0].neuron} by itself, {best.sure[0].auc:.2f}" if best.sure else ""
        way = ", by looking away" if best.score.number < 0.5 else ""
        return f"What it separates best is {best.words}{way}: AUC {best.score.number:.2f}, where 0.50 is chance{by}."

    def _left_words(self) -> str:
        parts = [
            f"{f'{left.number:.0%}' if round(left.number, 2) > 0 else 'nothing'} without {REPLACED.get(name, name)}"
            for name, left in self.pattern_left.items()
            if name != "all"
        ]
        return f"Its pattern keeps {', '.join(parts)}." if parts else ""


@once
def explained_heads(atlas: "Atlas", stack: str) -> list[HeadExplanation]:
    """What `headscope explain` found, head by head; none where it was not asked."""
    return [from_data(HeadExplanation, row) for row in atlas.table(PROBE, stack=stack)]
