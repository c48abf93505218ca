"""Does the model use what a head finds? The verdict on a head and a relation, its sentence and its columns."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from headscope.atlas import Atlas
from headscope.facts.description import described_in
from headscope.facts.wording import Part, count, sentence, share
from headscope.stats.correction import SIGNIFICANT
from headscope.types import HeadId

USES = "uses"

Verdict = Literal["finds and uses", "finds, not needed here", "not shown"]
FINDS_AND_USES: Verdict = "finds and uses"
NOT_NEEDED: Verdict = "finds, not needed here"
NOT_SHOWN: Verdict = "not shown"

SMALL = 0.1
"""Nats: a loss whose whole interval is below it is called not needed. The word is then at most 10 % less likely."""

DESCRIPTION = described_in(__file__)


@dataclass(frozen=True)
class Use:
    """One head and one relation: what the model loses without the edges along which the head finds it."""

    relation: str
    does: str
    """What a head that finds it does, in words: finds the verb of an object (obj)."""
    head: str
    direction: str
    accuracy: float
    """The share of governors (or dependents) that it finds."""
    finds: bool
    """Whether that is clearly above what needs no attention."""
    score: str
    """What was scored, in words."""
    cases: int
    sentences: int
    tests: int
    """How many heads were tested."""
    needed: int
    """The fewest sentences with which one of so many tests can come out significant."""
    change: float
    control: float
    difference: float
    low: float
    high: float
    p_value: float
    """After Holm's correction."""
    random: float
    beyond: float
    beyond_low: float
    beyond_high: float
    """How much more is lost than in random heads, and its 95 % interval."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """From a row of the table; what is missing is nan."""
        values: dict[str, Any] = {field.name: row.get(field.name) for field in fields(cls)}
        known: dict[str, Any] = {name: math.nan if value is None else value for name, value in values.items()}
        return cls(**known)

    @property
    def verdict(self) -> Verdict:
        """The one verdict."""
        if not self.finds or self.sentences < self.needed:
            return NOT_SHOWN
        if self.p_value < SIGNIFICANT and self.difference > 0:
            # An interval is not known where every sentence changes alike.
            is_beyond = self.beyond > 0 and not self.beyond_low <= 0
            return FINDS_AND_USES if is_beyond else NOT_SHOWN
        return NOT_NEEDED if self.high < SMALL else NOT_SHOWN

    @property
    def why(self) -> str:
        """Why nothing is shown, or what to keep in mind."""
        if not self.finds:
            return "the head does not clearly find the relation"
        if self.sentences < self.needed:
            tests = count(self.tests, "test")
            return f"{count(self.sentences, 'sentence')} are too few for {tests}; it takes {self.needed}"
        if self.verdict == NOT_NEEDED:
            return "other heads may stand in for it"
        if self.p_value < SIGNIFICANT and self.difference > 0:
            return "" if self.verdict == FINDS_AND_USES else "the same edge in other heads is missed as much"
        return "the interval is too wide to tell"

    @property
    def parts(self) -> tuple[Part, ...]:
        """The finding as a sentence, cut at the head."""
        verdict = self.verdict
        does = {
            FINDS_AND_USES: f" {self.does} in {share(self.accuracy)} of cases, and the model uses it",
            NOT_NEEDED: f" {self.does} in {share(self.accuracy)} of cases, and the model does not need it here",
            NOT_SHOWN: f": whether the model uses it for {self.relation} is not shown",
        }[verdict]
        why = f"; {self.why}" if self.why else ""
        return sentence("Head ", HeadId.parse(self.head), f"{does}: {self.numbers}{why}.")

    @property
    def numbers(self) -> str:
        """What is lost, beside its controls."""
        if math.isnan(self.difference):
            return "no edge could be compared"
        p_value = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        return (
            f"without that edge {self.score} loses {self.change:.3f} nats, without another as far and as strong "
            f"{self.control:.3f} (difference {self.difference:.3f}, 95% interval {self.low:.3f} to {self.high:.3f}, "
            f"{p_value} after correction for {count(self.tests, 'test')}), without the same edge in other heads of the "
            f"layer {self.random:.3f}"
        )

    @property
    def brief(self) -> str:
        """The verdict in a short sentence, for a card."""
        lost = f"without that edge {self.score} loses {self.change:.2f} nats, control {self.control:.2f}"
        if self.verdict == FINDS_AND_USES:
            return f"The model uses what it finds ({self.relation}): {lost}."
        return f"The model does not need what it finds here ({self.relation}): {lost}; {self.why}."

    @property
    def text(self) -> str:
        """The finding as a sentence."""
        return "".join(map(str, self.parts))


def uses_of(atlas: Atlas, stack: str, head: HeadId | None = None) -> list[Use]:
    """What was found of all heads of a stack, or of one."""
    if USES not in atlas.probes:
        return []
    found = [Use.of(row) for row in atlas.table(USES, stack=stack)]
    return [use for use in found if head is None or use.head == str(head)]


def used_sentence(atlas: Atlas, stack: str, head: HeadId) -> str:
    """Of the relations of a head for which something was shown, the one that the model loses most without."""
    shown = [use for use in uses_of(atlas, stack, head) if use.verdict != NOT_SHOWN]
    return max(shown, key=lambda use: use.difference).brief if shown else ""


def with_uses(rows: Sequence[Mapping[str, Any]], atlas: Atlas, stack: str) -> list[dict[str, Any]]:
    """The rows of the dependency probe's table, each with the verdict on its best head where that was tested."""
    verdicts = {(use.relation, use.head): {"used": use.verdict} for use in uses_of(atlas, stack)}
    keys = [(str(row.get("relation")), str(row.get("head"))) for row in rows]
    return [{**row, **verdicts.get(key, {})} for row, key in zip(rows, keys, strict=True)]
