"""Paired differences: how sure a change is that was measured twice on the same documents."""

import math
from dataclasses import dataclass

from scipy.special import stdtr

from headscope.stats.documents import left_out_error
from headscope.stats.intervals import LEVEL, mean_interval
from headscope.types import Array


@dataclass(frozen=True)
class PairedChange:
    """A difference with its error, interval and p value; nan where nothing can be said."""

    value: float
    stderr: float
    low: float
    high: float
    p: float
    """Two-sided, of no difference; not corrected for other comparisons."""


def paired_change(value: float, without: Array, *, level: float = LEVEL) -> PairedChange:
    """How sure a difference is, from the differences (unit,) that are left without each document in turn.

    Student's t with as many degrees of freedom as units less one. This serves means, ratios, F1 and correlations
    alike, needs no random numbers, and its p values go as low as a correction for hundreds of comparisons asks, which
    those of a few thousand resamples do not.
    """
    units, stderr = len(without), left_out_error(without)
    if math.isnan(value) or math.isnan(stderr):
        return PairedChange(value, stderr, math.nan, math.nan, math.nan)
    if stderr > 1e-12 * max(1.0, abs(value)):
        p = max(float(2 * stdtr(units - 1, -abs(value) / stderr)), least_p(units))
    elif abs(value) > 1e-12:  # the same everywhere: how much it would vary, these few documents do not tell
        return PairedChange(value, stderr, math.nan, math.nan, least_p(units))
    else:
        p = 1.0
    return PairedChange(value, stderr, *mean_interval(value, stderr, units, level=level), p)


def least_p(units: int) -> float:
    """The smallest p that so many documents can give when each is as likely to go up as down (the sign test's).

    Student's t knows no such end: two documents that happen to change alike would be sure.
    """
    return float(2.0 ** (1 - units))
