"""Verdicts: does a paper's finding hold for our model, given our intervals?

A verdict compares kinds of findings, never decimals: that a head beats its baseline, that a change is a loss, that one
share exceeds another. Where our interval allows the finding and its opposite, the verdict is `unclear`.
"""

from headscope.reproduce.table import Figure, Verdict


def exceeds(ours: Figure | None, baseline: Figure | float | None, finding: str) -> Verdict | None:
    """The finding is that a figure exceeds its baseline; the same when our two intervals lie apart that way."""
    if ours is None or ours.value is None or baseline is None:
        return None
    other = Figure(baseline) if isinstance(baseline, float | int) else baseline
    if other.value is None:
        return None
    if _low(ours) > _high(other):
        return Verdict("same", finding)
    return Verdict("different" if _high(ours) < _low(other) else "unclear", finding)


def falls_below(ours: Figure | None, baseline: Figure | float | None, finding: str) -> Verdict | None:
    """The finding is that a figure lies below its baseline."""
    return _turned(exceeds(ours, baseline, finding))


def does_not_exceed(ours: Figure | None, baseline: Figure | float | None, finding: str) -> Verdict | None:
    """The finding is that a figure does *not* exceed a baseline, which only a figure clearly above it contradicts.

    Unlike `falls_below`, an interval that reaches both sides agrees.
    """
    verdict = exceeds(ours, baseline, finding)
    if verdict is None:
        return None
    return Verdict("different" if verdict.agreement == "same" else "same", finding)


def within(ours: Figure | None, low: float, high: float, finding: str) -> Verdict | None:
    """The finding is a range: the same when our whole interval lies in it, different when it lies outside."""
    if ours is None or ours.value is None:
        return None
    if low <= _low(ours) and _high(ours) <= high:
        return Verdict("same", finding)
    return Verdict("different" if _high(ours) < low or _low(ours) > high else "unclear", finding)


def holds(is_so: bool | None, finding: str) -> Verdict:
    """A finding that was decided elsewhere, by a test of its own; None is unclear."""
    return Verdict("unclear" if is_so is None else "same" if is_so else "different", finding)


def _low(figure: Figure) -> float:
    assert figure.value is not None
    return figure.value if figure.low is None else figure.low


def _high(figure: Figure) -> float:
    assert figure.value is not None
    return figure.value if figure.high is None else figure.high


def _turned(verdict: Verdict | None) -> Verdict | None:
    if verdict is None or verdict.agreement == "unclear":
        return verdict
    return Verdict("different" if verdict.agreement == "same" else "same", verdict.finding)
