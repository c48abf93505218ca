"""Confidence intervals of shares, means and differences, from their standard error and the sample it is over."""

import math

from scipy.special import stdtrit

Z = 1.959964  # two-sided 95 %
ERROR_RATE = 0.05


def student(units: float) -> float:
    """How many standard errors a 95 % interval reaches: Student's t, for an error over so many independent units.

    The fewer units, the less is known of the error itself. `units` need not be whole: see `effective`.
    """
    return float(stdtrit(units - 1, 1 - ERROR_RATE / 2)) if units > 1 else math.nan


def critical(units: float, *, comparisons: int) -> float:
    """The same for one of several differences that were looked at, by Bonferroni's correction."""
    return float(-stdtrit(units - 1, ERROR_RATE / (2 * comparisons))) if units > 1 else math.nan


def mean_interval(mean: float, stderr: float, units: float) -> tuple[float, float]:
    """A 95 % interval of a mean; nan where the error is not known."""
    half = stderr * student(units)
    return mean - half, mean + half


def share_interval(
    share: float, stderr: float, cases: int, units: float | None = None
) -> tuple[float, float]:
    """A 95 % interval of a share that stays inside 0 and 1.

    Wilson's interval, with as many independent cases as would give the standard error that was seen. Where that
    says nothing (one unit, or all guesses alike) every case counts as independent. `units` is how many texts or
    documents the error is over: of few it is itself unsure, and the interval wider (Korn and Graubard 1998).
    """
    if not cases or math.isnan(share):
        return math.nan, math.nan
    effective_cases = float(cases)
    if stderr > 0 and 0 < share < 1:  # nan compares as False
        effective_cases = min(effective_cases, share * (1 - share) / stderr**2)
        if units is not None and units > 1:
            effective_cases *= (Z / student(units)) ** 2
    return wilson(share, effective_cases, Z)


def wilson(share: float, cases: float, quantile: float) -> tuple[float, float]:
    """Wilson's interval of a share of so many independent cases, at this quantile of the sampling distribution."""
    squared = quantile * quantile / cases
    centre = (share + squared / 2) / (1 + squared)
    half = quantile / (1 + squared) * math.sqrt(share * (1 - share) / cases + squared / (4 * cases))
    return max(0.0, centre - half), min(1.0, centre + half)
