"""Scores of heads beside their baselines, and the one verdict on them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from headscope.errors import OptionError
from headscope.facts.description import ALL, FEW_CASES, Description
from headscope.facts.wording import amount, interval, share
from headscope.stats.intervals import mean_interval, share_interval
from headscope.types import HeadId

LEAD = 0.1
"""How far above the best rule a share of right guesses must be, besides being clearly so, to say what a head does of
which nobody has chosen it for that on other texts."""
NOTICEABLE = 0.15
"""How far above its control a share of attention must be to be a finding. Words differ in how many pieces they are
split into and in where they stand, so that heads with random weights, which look almost evenly, gave some pairs of
words up to 9 points more than others."""

Verdict = Literal["above", "below", "unclear", "too few"]
"""How a head compares with what needs no attention; see `compared`."""


@dataclass(frozen=True)
class Score:
    """A number with its 95 % interval; the ends are None where nothing says how sure it is."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    detail: str = ""
    """Which one it is, where the name stands for several: the offset."""
    unit: str = ""
    """What it is counted in; empty for a share."""

    @property
    def text(self) -> str:
        """The number as it is written: a share in per cent, or an amount with its unit."""
        return amount(self.value, units=self.unit) if self.unit else share(self.value)

    @property
    def ends(self) -> str:
        """Its interval in the same form; empty where it is not known."""
        if self.low is None or self.high is None:
            return ""
        return f"{self.low:z.2f} to {self.high:z.2f}" if self.unit else interval(self.low, self.high)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends; None where they are not known."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def lowest(self) -> float:
        """The lower end, or the value where there is none."""
        return self.value if self.low is None else self.low

    @property
    def highest(self) -> float:
        """The upper end, or the value where there is none."""
        return self.value if self.high is None else self.high


EVEN = "even attention"
NOTHING = Score("nothing", 0.0)
"""What a difference is held against."""


def compared(
    score: Score, baselines: Sequence[Score], cases: int | None = None, *, few_cases: int = FEW_CASES
) -> Verdict:
    """The one verdict on a head beside its baselines.

    `above` when its whole interval lies above those of all baselines, `below` when it lies below that of the best,
    else `unclear`. A score without interval or baseline is `unclear`, one of few cases `too few`.
    """
    if cases is not None and cases < few_cases:
        return "too few"
    if not baselines:
        return "unclear"
    if score.low is not None and score.low > max(baseline.highest for baseline in baselines):
        return "above"
    if score.high is not None and score.high < max(baselines, key=lambda baseline: baseline.value).lowest:
        return "below"
    return "unclear"


@dataclass(frozen=True)
class HeadScore:
    """A head's score for what a probe asked, beside what needs no attention to answer."""

    label: str
    cases: int | None
    head: HeadId | None
    direction: str | None
    score: Score
    baselines: tuple[Score, ...] = ()
    is_baseline: bool = False
    """True for a row that is itself a baseline, as the parsers have them."""
    is_difference: bool = False
    """True for a score from which its control is taken off already, so that it is held against 0."""
    few_cases: int = FEW_CASES
    least: float = 0.0
    """The smallest difference that counts, where the score is one."""
    least_lead: float = 0.0
    """How far above its baselines it must be to matter."""
    corrected: Verdict | None = None
    """The verdict after correction for all heads and labels; None where the head was chosen on other texts."""

    @property
    def verdict(self) -> Verdict:
        """How the head compares with its baselines."""
        if self.corrected is not None:
            return self.corrected
        nothing = replace(NOTHING, low=0.0, high=self.least)
        against = (nothing,) if self.is_difference else self.baselines
        return compared(self.score, against, self.cases, few_cases=self.few_cases)

    @property
    def has_few_cases(self) -> bool:
        """True when there are too few cases to say much."""
        return self.verdict == "too few"

    @property
    def is_above(self) -> bool:
        """True when the head is clearly above all of its baselines."""
        return self.verdict == "above"

    @property
    def stands_out(self) -> bool:
        """True when the head is above all of its baselines clearly, and by enough to matter."""
        return self.is_above and self.lead >= self.least_lead

    @property
    def best_baseline(self) -> Score | None:
        """The strongest of the baselines."""
        return max(self.baselines, key=lambda baseline: baseline.value, default=None)

    @property
    def lead(self) -> float:
        """How far the score is above the best baseline; 0 where there is none. Of a difference, the difference."""
        if self.is_difference:
            return self.score.value
        return 0.0 if self.best_baseline is None else self.score.value - self.best_baseline.value

    @property
    def margin(self) -> float:
        """How far the lower end of the interval is above the best baseline's upper end."""
        return self.score.lowest - (self.best_baseline or NOTHING).highest


def rarity(doing: int, heads: int) -> float:
    """How rare it is what so many of all heads do: 1 where one head alone does it, 0 where all do.

    Between them it goes by the logarithm of their share. What every head does says nothing about one of them.
    """
    return math.log(heads / doing) / math.log(heads) if heads > 1 and doing > 0 else 1.0


def convincing(rows: Sequence[HeadScore]) -> list[HeadScore]:
    """Rows with enough cases: those that stand out from every baseline first, among these the most frequent first."""
    enough = [row for row in rows if row.label != ALL and not row.has_few_cases]
    return sorted(enough, key=lambda row: (not row.stands_out, -(row.cases or 0)))


def row_score(row: Mapping[str, Any], described: Description) -> HeadScore | None:
    """The score of a row of a probe's table; None for a row without one."""
    value = number(row.get(described.value)) if described.value else None
    if value is None:
        return None
    label, cases, direction = (
        str(row.get(described.label, "")),
        number(row.get("cases")),
        row.get("direction"),
    )
    baselines = [
        Score(
            rule.name,
            share,
            number(row.get(rule.low)),
            number(row.get(rule.high)),
            _detail(row.get(rule.detail)),
        )
        for rule in described.baselines
        if (share := number(row.get(rule.value))) is not None
    ]
    return HeadScore(
        label=label,
        cases=None if cases is None else int(cases),
        head=_head(row.get("head")),
        direction=None if direction is None else str(direction),
        score=Score(
            described.value_name,
            value,
            number(row.get("low")),
            number(row.get("high")),
            unit=described.units.get(label, ""),
        ),
        baselines=tuple(baselines),
        is_baseline=bool(described.own_rows) and label not in described.own_rows,
        is_difference=described.is_difference,
        few_cases=described.few_cases,
        least=described.least,
        least_lead=_least_lead(described),
    )


def _least_lead(described: Description) -> float:
    """How far above its control a difference must be to matter, unless the probe itself says what counts."""
    return NOTICEABLE if described.is_difference and not described.least else 0.0


def judged(rows: Sequence[Mapping[str, Any]], described: Description) -> list[dict[str, Any]]:
    """The rows of a probe's table, each with its verdict where they are held against anything."""
    if not (described.baselines or described.is_difference):
        return [dict(row) for row in rows]
    scores = [row_score(row, described) for row in rows]
    return [
        {**row, "verdict": None if score is None else score.verdict}
        for row, score in zip(rows, scores, strict=True)
    ]


def mean_ends(
    mean: float, stderr: float, units: float | None, *, comparisons: int = 1
) -> tuple[float, float] | None:
    """The 95 % interval of a mean whose error is over so many texts or documents; None where it is not known.

    Where their number is not known they count as many. With several `comparisons`, all intervals hold at once.
    """
    return _known(mean_interval(mean, stderr, math.inf if units is None else units, comparisons=comparisons))


def share_ends(
    share: float, stderr: float, cases: int, units: float | None, *, comparisons: int = 1
) -> tuple[float, float] | None:
    """The same for a share of right guesses."""
    return _known(share_interval(share, stderr, cases, units, comparisons=comparisons))


def _known(ends: tuple[float, float]) -> tuple[float, float] | None:
    return ends if all(map(math.isfinite, ends)) else None


def signed(offset: float) -> str:
    """An offset with its sign."""
    return f"{offset:+g}".replace("-", "\N{MINUS SIGN}")


def number(value: object) -> float | None:
    """The value if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _detail(value: object) -> str:
    which = number(value)
    return "" if which is None else signed(which)


def _head(value: object) -> HeadId | None:
    try:
        return HeadId.parse(str(value))
    except OptionError:
        return None
