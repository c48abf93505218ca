"""p values corrected for how many tests were made.

A sweep of 96 heads at p < 0.05 finds five heads that matter where none does. Holm's correction is the default: the
chance that *any* edit is called significant wrongly stays below 5 %, whatever the edits have to do with each other, and
all of them are tried on the same examples. Benjamini and Hochberg's keeps the expected *share* of wrong ones among
those called significant below 5 %: it finds more, and wants edits that are independent or err in the same direction.
"""

from collections.abc import Sequence
from itertools import count
from typing import Literal, get_args

import numpy as np

from headscope.stats.paired import least_p
from headscope.types import Array

Correction = Literal["holm", "benjamini-hochberg", "none"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
SIGNIFICANT = 0.05


def adjusted(p_values: Sequence[float], correction: Correction) -> Array:
    """(test,) the p values after the correction, to be held against 0.05; nan stays nan and does not count."""
    result = np.array(p_values, np.float64)
    known = ~np.isnan(result)
    if correction == "holm":
        result[known] = _holm(result[known])
    elif correction == "benjamini-hochberg":
        from scipy.stats import false_discovery_control  # noqa: PLC0415  (slow to load; reading an atlas needs none)

        result[known] = false_discovery_control(result[known])
    return result


def units_needed(tests: int, correction: Correction) -> int:
    """The fewest independent texts with which one of so many tests can come out significant.

    With fewer, even if every text changed alike under every edit (the sign test's smallest p), none would.
    """
    return next(
        units for units in count(2) if adjusted([least_p(units)] * tests, correction)[0] < SIGNIFICANT
    )


def _holm(p_values: Array) -> Array:
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(order), 0, -1)
    result = np.empty_like(p_values)
    result[order] = np.maximum.accumulate(steps).clip(max=1)
    return result
