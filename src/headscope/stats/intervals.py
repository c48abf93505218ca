"""Confidence intervals of shares, means and differences, from their standard error and the sample it is over."""

import math
from typing import Any, TypeVar

import numpy as np
from scipy.special import ndtri, stdtrit

from headscope.errors import OptionError

ERROR_RATE = 0.05
LEVEL = 1 - ERROR_RATE

Number = TypeVar("Number", float, np.ndarray[Any, Any])


def student(units: float | None, *, level: float = LEVEL, comparisons: int = 1) -> float:
    """How many standard errors an interval reaches: Student's t, for an error over so many independent units.

    The fewer units, the less is known of the error itself. `units` need not be whole: see `effective`. Where their
    number is not known it is the normal quantile; nan for a single unit. With several `comparisons`, all intervals
    hold at once (Bonferroni's correction).
    """
    if not 0 < level < 1:
        raise OptionError(f"level must lie between 0 and 1, not {level}")
    tail = (1 - level) / (2 * comparisons)
    if units is None:
        return float(-ndtri(tail))
    return float(-stdtrit(units - 1, tail)) if units > 1 else math.nan


def mean_interval(
    mean: Number, stderr: Number, units: float | None = None, *, level: float = LEVEL, comparisons: int = 1
) -> tuple[Number, Number]:
    """The ends of an interval of a mean or a difference, 95 % by default; nan where the error is not known.

    `units` is how many independent texts or documents the error is over, see `student`.
    """
    half = stderr * student(units, level=level, comparisons=comparisons)
    return mean - half, mean + half


def difference_interval(
    first: np.ndarray[Any, Any], second: np.ndarray[Any, Any], *, comparisons: int = 1
) -> tuple[float, float]:
    """The ends of a 95 % interval of mean(first) - mean(second), for samples of unlike spread (Welch 1947).

    nan where a sample has less than two numbers.
    """
    if min(len(first), len(second)) < 2:
        return math.nan, math.nan
    parts = [float(sample.var(ddof=1)) / len(sample) for sample in (first, second)]
    difference = float(first.mean() - second.mean())
    if not sum(parts):
        return difference, difference
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(sample) - 1) for part, sample in zip(parts, (first, second), strict=True)
    )
    return mean_interval(difference, math.sqrt(sum(parts)), freedom + 1, comparisons=comparisons)


def share_interval(
    share: float, stderr: float, cases: int, units: float | None = None, *, comparisons: int = 1
) -> tuple[float, float]:
    """A 95 % interval of a share that stays inside 0 and 1; of several `comparisons` one that holds for all at once.

    Wilson's interval, with as many independent cases as would give the standard error that was seen. Where that
    says nothing (one unit, or all guesses alike) every case counts as independent. `units` is how many texts or
    documents the error is over: of few it is itself unsure, and the interval wider (Korn and Graubard 1998).
    """
    if not cases or math.isnan(share):
        return math.nan, math.nan
    effective_cases, quantile = float(cases), student(None, comparisons=comparisons)
    if stderr > 0 and 0 < share < 1:  # nan compares as False
        effective_cases = min(effective_cases, share * (1 - share) / stderr**2)
        if units is not None and units > 1:
            effective_cases *= (quantile / student(units, comparisons=comparisons)) ** 2
    return wilson(share, effective_cases, quantile)


def mean_share_interval(
    share: float, stderr: float, units: int, *, level: float = LEVEL
) -> tuple[float, float]:
    """The same for a mean of shares, one or more a document, of which it is not known how many cases they stand for.

    Where nothing varies, as when every answer is right, each of the `units` documents counts as one case.
    """
    varies = stderr > 1e-12 and 0 < share < 1
    cases = share * (1 - share) / stderr**2 if varies else float(units)
    return wilson(share, cases, student(units, level=level))


def wilson(share: float, cases: float, quantile: float) -> tuple[float, float]:
    """Wilson's interval of a share of so many independent cases, at this quantile of the sampling distribution."""
    squared = quantile * quantile / cases
    centre = (share + squared / 2) / (1 + squared)
    half = quantile / (1 + squared) * math.sqrt(share * (1 - share) / cases + squared / (4 * cases))
    return max(0.0, centre - half), min(1.0, centre + half)
