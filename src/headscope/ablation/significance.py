"""p values corrected for how many edits were tried.

A sweep of 96 heads at p < 0.05 finds five heads that matter where none does. Holm's correction is the default: the
chance that *any* edit is called significant wrongly stays below 5 %, whatever the edits have to do with each other, and
all of them are tried on the same examples. Benjamini and Hochberg's keeps the expected *share* of wrong ones among
those called significant below 5 %: it finds more, and wants edits that are independent or err in the same direction.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

Correction = Literal["holm", "benjamini-hochberg", "none"]
CORRECTIONS: tuple[Correction, ...] = ("holm", "benjamini-hochberg", "none")
SIGNIFICANT = 0.05

Array = np.ndarray[Any, Any]


def adjusted(p_values: Sequence[float], correction: Correction) -> Array:
    """(test,) the p values after the correction, to be held against 0.05; nan stays nan and does not count."""
    given = np.asarray(p_values, np.float64)
    found = np.full(given.shape, np.nan)
    known = np.flatnonzero(~np.isnan(given))
    order = known[np.argsort(given[known], kind="stable")]
    ranked, count = given[order], len(order)
    if correction == "none":
        found[order] = ranked
    elif correction == "holm":
        found[order] = np.maximum.accumulate(ranked * np.arange(count, 0, -1)).clip(max=1)
    else:
        steps = ranked * count / np.arange(1, count + 1)
        found[order] = np.minimum.accumulate(steps[::-1])[::-1].clip(max=1)
    return found
