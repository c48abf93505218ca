"""What one head writes into the output, beside its controls: effects on scores, tokens, copying, and whom it reads."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headscope.facts.head_arrays import HeadArrays
from headscope.facts.scores import Score, Verdict, compared, mean_ends
from headscope.types import HeadId

PROBE = "writes"
EFFECT = "direct_effect"
TARGETS = {
    "looked_at": "the token it looks at",
    "next": "the token that follows",
    "current": "the token itself",
}
CONTROL = "its output at another position"
READS = {"query": "queries", "key": "keys", "value": "values"}
LEAST = 0.1
"""Logits that an effect must differ from its control by, besides being clearly so, to be said."""
MOST_PARTNERS = 6


@dataclass(frozen=True)
class WrittenEffect:
    """What a head adds to the score of a token, beside its output at another position of the same text."""

    target: str
    score: Score
    control: Score
    verdict: Verdict
    """Whether the difference, after correction for all heads and targets, is clear of 0 and large enough to matter."""

    @property
    def text(self) -> str:
        """The effect in a sentence; empty where it is not clear."""
        if self.verdict not in ("above", "below"):
            return ""
        does = "Raises" if self.score.value > 0 else "Lowers"
        if (self.score.value > 0) != (self.verdict == "above"):
            return ""  # less than its control is not yet the other way round
        beside = f"{self.score.value:+.2f} logits, at another position {self.control.value:+.2f}"
        return f"{does} the score of {self.target}: {beside}.".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True)
class Partner:
    """An earlier head that a head reads, from the weights."""

    head: HeadId
    read: str
    """As what: queries, keys or values."""
    ratio: float


@dataclass(frozen=True)
class HeadWrites:
    """What one head of an atlas writes."""

    effects: tuple[WrittenEffect, ...]
    raised: tuple[tuple[str, float], ...]
    lowered: tuple[tuple[str, float], ...]
    copying: float
    """From -1 to 1; nan where the weights do not tell."""
    partners: tuple[Partner, ...]
    random: float
    """The composition of random matrices."""


def head_writes(arrays: HeadArrays, texts: int | None, *, heads: int) -> HeadWrites | None:
    """What one of so many heads writes, over so many texts; None where that was not asked."""
    if EFFECT not in arrays:
        return None
    return HeadWrites(
        tuple(_effects(arrays, texts, comparisons=heads * len(TARGETS))),
        tuple(_tokens(arrays, "raised")),
        tuple(_tokens(arrays, "lowered")),
        arrays.number("copying"),
        tuple(_partners(arrays)),
        arrays.number("composition_random", read="key"),
    )


def _effects(arrays: HeadArrays, texts: int | None, *, comparisons: int) -> Iterator[WrittenEffect]:
    for target, name in TARGETS.items():
        value, error, control, difference, apart = (
            arrays.number(EFFECT + ending, target=target)
            for ending in ("", "_stderr", "_control", "_difference", "_difference_stderr")
        )
        if not np.isfinite([value, control, difference]).all():
            continue
        low, high = mean_ends(difference, apart, texts, comparisons=comparisons) or (None, None)
        against = [Score("no difference", 0.0, -LEAST, LEAST)]
        yield WrittenEffect(
            name,
            Score("logits", value, *(mean_ends(value, error, texts) or ())),
            Score(CONTROL, control),
            compared(Score("difference", difference, low, high), against),
        )


def _tokens(arrays: HeadArrays, change: str) -> Iterator[tuple[str, float]]:
    tokens = arrays.get("written_token")
    if tokens is None or change not in tokens.labels["change"]:
        return
    names = tokens.values[tokens.labels["change"].index(change)]
    for rank, name in zip(tokens.labels["rank"], names.tolist(), strict=True):
        yield str(name), arrays.number("written_effect", change=change, rank=rank)


def _partners(arrays: HeadArrays) -> Iterator[Partner]:
    """The earlier heads that it reads most, as whatever it reads them most; the strongest first."""
    ratios = arrays.get("composition")
    if ratios is None or ratios.dims != ("read", "from_layer", "from_head"):
        return
    values = np.where(np.isfinite(ratios.values), ratios.values, -np.inf)
    best, reads = values.max(0), values.argmax(0)  # (from_layer, from_head)
    for place in np.argsort(-best, axis=None, kind="stable")[:MOST_PARTNERS]:
        layer, head = (int(at) for at in np.unravel_index(place, best.shape))
        if np.isfinite(best[layer, head]):
            read = str(ratios.labels["read"][reads[layer, head]])
            yield Partner(HeadId(layer, head), READS.get(read, read), float(best[layer, head]))
