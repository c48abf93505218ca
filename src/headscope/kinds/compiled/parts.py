"""What the loops over maps and pictures share."""

from typing import Any

import numpy as np
from numba import njit

from headscope.measures.fast.compiled.numbers import ROUNDED, ZERO

Array = np.ndarray[Any, Any]

part = njit(fastmath=ROUNDED, nogil=True, forceinline=True)
"""A part of a loop; see `measures.fast.compiled.maps`."""

LEAST = np.float32(-3e38)


@part
def lower(x: Any, y: Any) -> Any:
    """The smaller of two numbers; numba's own `min` is not vectorised."""
    return x if x < y else y


@part
def higher(x: Any, y: Any) -> Any:
    """The larger of two numbers."""
    return x if x > y else y


@part
def rank(values: Array, count: int, best: Array) -> None:
    """Put the `count` largest of values into `best`, the largest first; where there are fewer, the last again."""
    best[:count] = LEAST
    for k in range(len(values)):
        put(values[k], count, best)
    for place in range(len(values), count):
        best[place] = best[len(values) - 1]


@part
def put(value: Any, count: int, best: Array) -> None:
    """Put a value among the `count` largest so far, if it is one of them."""
    if value > best[count - 1]:
        place = count - 1
        while place > 0 and best[place - 1] < value:
            best[place] = best[place - 1]
            place -= 1
        best[place] = value


@part
def largest(values: Array) -> Any:
    """The largest of values."""
    top = LEAST
    for k in range(len(values)):
        top = higher(top, values[k])
    return top


@part
def median(values: Array, ranked: Array) -> Any:
    """The middling value, the lower one of two; `ranked` is room."""
    middle = len(values) // 2 + 1
    rank(values, middle, ranked)
    return ranked[middle - 1]


@part
def total(values: Array) -> Any:
    """The sum of values."""
    found = ZERO
    for k in range(len(values)):
        found += values[k]
    return found


@part
def product(values: Array, others: Array) -> Any:
    """The sum of the products of values."""
    found = ZERO
    for k in range(len(values)):
        found += values[k] * others[k]
    return found
