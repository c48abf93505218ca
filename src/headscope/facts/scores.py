"""Scores of heads beside their baselines, the verdict on them, and the best heads of a probe's table."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headscope.atlas import Atlas
from headscope.errors import AtlasError, OptionError
from headscope.facts.probe_names import NEAREST, OFFSET, RULES, SAME_WORD
from headscope.stats.intervals import mean_interval, share_interval
from headscope.types import HeadId

ALL = "all"
"""The label of the row over all cases."""

FEW_CASES = 30
"""Fewer cases than this say little about a head: of 30, a share of one half is known to 17 points either way."""

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


def compared(score: Score, baselines: Sequence[Score], cases: int | None = None) -> Verdict:
    """The one verdict on a head beside its baselines.

    `above` when its whole interval lies above those of all baselines, `below` when it lies below that of the best,
    else `unclear`. A score without interval or baseline is `unclear`, one of few cases `too few`.
    """
    if cases is not None and cases < FEW_CASES:
        return "too few"
    if not baselines:
        return "unclear"
    if score.low is not None and score.low > max(one.highest for one in baselines):
        return "above"
    if score.high is not None and score.high < max(baselines, key=lambda one: one.value).lowest:
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

    @property
    def verdict(self) -> Verdict:
        """How the head compares with its baselines."""
        return compared(self.score, (NOTHING,) if self.is_difference else self.baselines, self.cases)

    @property
    def has_few_cases(self) -> bool:
        """True when there are too few cases to say much."""
        return self.verdict == "too few"

    @property
    def is_above(self) -> bool:
        """True when the head is clearly above all of its baselines."""
        return self.verdict == "above"

    @property
    def best_baseline(self) -> Score | None:
        """The strongest of the baselines."""
        return max(self.baselines, key=lambda one: one.value, default=None)

    @property
    def margin(self) -> float:
        """How far the lower end of the interval is above the best baseline's upper end."""
        return self.score.lowest - (self.best_baseline or NOTHING).highest


def convincing(rows: Sequence[HeadScore]) -> list[HeadScore]:
    """Rows with enough cases: those clearly above every baseline first, and among these the most frequent first."""
    enough = [row for row in rows if row.label != ALL and not row.has_few_cases]
    return sorted(enough, key=lambda row: (not row.is_above, -(row.cases or 0)))


@dataclass(frozen=True)
class Columns:
    """Which columns of a probe's table mean what; a baseline's are its share, low and high."""

    label: str
    value: str
    value_name: str
    baselines: Mapping[str, tuple[str, str, str]]
    """Name and columns of every baseline."""
    detail: str = ""
    """The column that says which baseline it is, where there were several to choose from."""


COLUMNS = {
    "dependency": Columns(
        "relation",
        "accuracy",
        "share of right guesses",
        {OFFSET: ("offset_accuracy", "offset_low", "offset_high")},
        detail="offset",
    ),
    "coreference": Columns(
        "mention_class",
        "accuracy",
        "share of right guesses",
        {
            NEAREST: ("nearest", "nearest_low", "nearest_high"),
            SAME_WORD: ("head_match", "head_match_low", "head_match_high"),
            RULES: ("rules", "rules_low", "rules_high"),
        },
    ),
    "relations": Columns(
        "role",
        "difference",
        "attention of the pair, less that of other pairs as far apart",
        {},
    ),
    "parser": Columns("parser", "uas", "share of words with the right head (UAS)", {}),
}
"""The probes whose tables can be drawn."""


_WITH_THE_MODEL = ("attention", "attention_words")
"""The parsers that see the attention of the model itself; all others are there for comparison."""


def best_heads(atlas: Atlas, probe: str, *, stack: str | None = None) -> list[HeadScore]:
    """The rows of a probe's table that have a score, in the table's order."""
    if probe not in COLUMNS:
        raise OptionError(f"there is no chart of {probe!r}; choose from {', '.join(COLUMNS)}")
    columns = COLUMNS[probe]
    rows = [_best_head(row, columns) for row in atlas.table(probe, stack=stack)]
    return [row for row in rows if row is not None]


def check_probed(atlas: Atlas, probe: str) -> None:
    """Raise AtlasError unless the atlas holds what this probe found."""
    probes = atlas.provenance.get("probes") or {}
    if probe not in probes:
        has = f"it has {', '.join(probes)}" if probes else "it has no probe's results"
        raise AtlasError(f"this atlas has no {probe!r} probe; {has}; add it with: headscope probe {probe}")


def _best_head(row: Mapping[str, Any], columns: Columns) -> HeadScore | None:
    value = number(row.get(columns.value))
    if value is None:
        return None
    which = number(row.get(columns.detail))
    detail = "" if which is None else signed(which)
    baselines = [
        Score(name, share, number(row.get(low)), number(row.get(high)), detail)
        for name, (column, low, high) in columns.baselines.items()
        if (share := number(row.get(column))) is not None
    ]
    cases = number(row.get("cases"))
    direction = row.get("direction")
    return HeadScore(
        label=str(row.get(columns.label, "")),
        cases=None if cases is None else int(cases),
        head=_head(row.get("head")),
        direction=None if direction is None else str(direction),
        score=Score(columns.value_name, value, number(row.get("low")), number(row.get("high"))),
        baselines=tuple(baselines),
        is_baseline=columns.value == "uas" and str(row.get(columns.label)) not in _WITH_THE_MODEL,
        is_difference=columns.value == "difference",
    )


def mean_ends(mean: float, stderr: float, units: float | None) -> tuple[float, float] | None:
    """The 95 % interval of a mean whose error is over so many texts or documents; None where it is not known.

    Where their number is not known they count as many.
    """
    return _known(mean_interval(mean, stderr, math.inf if units is None else units))


def share_ends(share: float, stderr: float, cases: int, units: float | None) -> tuple[float, float] | None:
    """The same for a share of right guesses."""
    return _known(share_interval(share, stderr, cases, units))


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


def _head(value: object) -> HeadId | None:
    try:
        return HeadId.parse(str(value))
    except OptionError:
        return None
