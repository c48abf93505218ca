"""Verdicts: does a paper's finding hold for our model, given our intervals?

A verdict compares kinds of findings, never decimals: that a head beats its baseline, that a change is a loss, that one
share exceeds another. Where our interval allows the finding and its opposite, the verdict is `unclear`.
"""

from collections.abc import Callable
from typing import Any

from headscope_papers.reproduce.table import Figure, Verdict


def exceeds(ours: Figure | None, baseline: Figure | float | None, finding: str) -> Verdict | None:
    """The finding is that a figure exceeds its baseline; the same when our two intervals lie apart that way."""
    other = baseline if isinstance(baseline, Figure) else Figure(baseline)
    if ours is None or ours.value is None or other.value is None:
        return None
    if _ends(ours)[0] > _ends(other)[1]:
        return Verdict("same", finding)
    return Verdict("different" if _ends(ours)[1] < _ends(other)[0] else "unclear", finding)


def falls_below(ours: Figure | None, baseline: Figure | float | None, finding: str) -> Verdict | None:
    """The finding is that a figure lies below its baseline."""
    verdict = exceeds(ours, baseline, finding)
    if verdict is None or verdict.agreement == "unclear":
        return verdict
    return holds(verdict.agreement == "different", finding)


def does_not_exceed(ours: Figure | None, baseline: Figure | float | None, finding: str) -> Verdict | None:
    """The finding is that a figure does *not* exceed a baseline, which only a figure clearly above it contradicts.

    Unlike `falls_below`, an interval that reaches both sides agrees.
    """
    verdict = exceeds(ours, baseline, finding)
    return None if verdict is None else holds(verdict.agreement != "same", finding)


def within(ours: Figure | None, limits: tuple[float, float], finding: str) -> Verdict | None:
    """The finding is a range: the same when our whole interval lies in it, different when it lies outside."""
    if ours is None or ours.value is None:
        return None
    (low, high), (least, most) = _ends(ours), limits
    if least <= low and high <= most:
        return Verdict("same", finding)
    return Verdict("different" if high < least or low > most else "unclear", finding)


def holds(is_so: bool | None, finding: str) -> Verdict:
    """A finding that was decided elsewhere, by a test of its own; None is unclear."""
    return Verdict("unclear" if is_so is None else "same" if is_so else "different", finding)


Rule = Callable[[Figure | None, Any, str], Verdict | None]


def _surely(rule: Rule) -> Rule:
    """The same rule, but unclear where our figure has no interval."""

    def decide(ours: Figure | None, than: Any, finding: str) -> Verdict | None:
        return holds(None, finding) if ours and ours.low is None else rule(ours, than, finding)

    return decide


RULES: dict[str, Rule] = {
    "exceeds": exceeds,
    "falls_below": falls_below,
    "does_not_exceed": does_not_exceed,
    "surely_exceeds": _surely(exceeds),
    "surely_falls_below": _surely(falls_below),
    "within": within,
    "holds": lambda ours, is_so, finding: holds(is_so, finding),
}
"""How a row of a paper's file decides whether its finding holds, from our figure and what that is held against."""


def _ends(figure: Figure) -> tuple[float, float]:
    """The interval; the figure itself where it has none."""
    assert figure.value is not None
    low = figure.value if figure.low is None else figure.low
    return low, figure.value if figure.high is None else figure.high
