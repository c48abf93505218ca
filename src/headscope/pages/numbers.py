"""Numbers of an atlas on their way into JSON: nothing that is not finite, no digits that mean nothing."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

DIGITS = 5
"""Significant digits of what is sent; standard errors are far coarser."""


def plain(value: float | None, *, digits: int = DIGITS) -> float | None:
    """The number to a few significant digits; None for what is missing."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{float(value):.{digits}g}")


def plain_list(values: Iterable[float] | Array) -> list[float | None]:
    """The same for every one of them."""
    return [plain(float(value)) for value in values]
