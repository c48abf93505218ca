"""Findings on what heads move: where a head looks, and how much it takes from there."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headscope.atlas.files import MOVED
from headscope.facts.findings.finding import Finding
from headscope.facts.head_arrays import Choice, HeadArrays
from headscope.facts.scores import Score, Verdict
from headscope.facts.slices import head_values
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import role_name
from headscope.facts.wording import HEAD, share, with_heads
from headscope.stats.intervals import mean_interval
from headscope.types import HeadId

APART = 0.05
"""How far what is taken must be from what is looked at, besides being clearly so, to be told."""

TOPIC = "What is moved"
LOOKED = "share of attention"
_MANY = ("period", "comma")
_ROLES = ("cls", "sep", *_MANY)


@dataclass(frozen=True)
class Takes:
    """A head's share of attention to some keys, and its share of what is moved from them."""

    looked: float
    moved: float
    low: float
    high: float
    """The ends of the interval of moved minus looked, corrected for all that was compared."""

    @property
    def verdict(self) -> Verdict:
        """Whether clearly more or less is taken than is looked at, and by enough to matter."""
        if abs(self.moved - self.looked) < APART or not (self.low > 0 or self.high < 0):
            return "unclear"
        return "above" if self.low > 0 else "below"


def takes(
    arrays: HeadArrays, measure: str, units: int | None, *, comparisons: int, **labels: Choice
) -> Takes | None:
    """What one head takes from the keys under these labels; None where the atlas does not say."""
    looked, error, moved, moved_error = (
        arrays.number(measure + end, **labels) for end in ("", "_stderr", MOVED, f"{MOVED}_stderr")
    )
    if not np.isfinite([looked, error, moved, moved_error]).all():
        return None
    # As if both were over other texts; over the same ones their difference is surer than that.
    ends = mean_interval(moved - looked, float(np.hypot(error, moved_error)), units, comparisons=comparisons)
    return Takes(looked, moved, float(ends[0]), float(ends[1]))


def taking(subject: Subject) -> Iterator[Finding]:
    """For each kind of special token and punctuation, the head whose taking differs most from its looking."""
    measure = "role_attention"
    if not (subject.has(measure) and subject.has(measure + MOVED)):
        return
    known = [role for role in _ROLES if role in subject.array(measure + MOVED).choices("role")]
    for role in known:
        select: dict[str, Choice] = {"role": role, "query_role": "all"}
        looked, moved = (
            head_values(subject.atlas, name, select=select, stack=subject.stack)
            for name in (measure, measure + MOVED)
        )
        if looked.stderr is None or moved.stderr is None:
            continue
        apart, error = moved.values - looked.values, np.hypot(looked.stderr, moved.stderr)
        comparisons = int(np.isfinite(apart).sum()) * len(known)
        low, high = mean_interval(apart, error, looked.sample_size, comparisons=max(comparisons, 1))
        surely = np.where((low > 0) | (high < 0), np.abs(apart), 0.0)
        head = HeadId(*map(int, np.unravel_index(int(np.nanargmax(surely)), surely.shape)))
        if not surely[head.layer, head.head] >= APART:
            continue
        (before, _), after = looked.at(head), moved.at(head)
        name, them = role_name(subject.atlas, subject.stack, role), "them" if role in _MANY else "it"
        means = [share(float(np.nanmean(each.values))) for each in (looked, moved)]
        text = (
            f"Head {HEAD} looks at {name} {share(*looked.at(head))} and takes {share(*after)} from {them}. On average "
            f"over heads: looks {means[0]}, takes {means[1]}."
        )
        yield Finding(
            TOPIC,
            subject.stack,
            with_heads(text, head),
            after[0],
            after[1],
            (head,),
            interval=subject.interval(*after),
            control=Score(LOOKED, before),
            verdict="above" if after[0] > before else "below",
        )
