"""Rows of attention that were chosen: heads held against each other and against templates; small pictures of maps."""

from typing import Any

import numpy as np
from numba import njit

from headscope.kernels.cpu.compiled.numbers import LOG_2, ZERO, log2

Array = np.ndarray[Any, Any]

_BLOCK = 1024
"""So many numbers of a head are compared with those of all others before the next: they stay in cache."""


@njit(fastmath=True, nogil=True, cache=True)
def joint_sums(maps: Array, first: int, last: int, own: Array, joint: Array) -> None:
    """Add up columns `first` to `last` of `maps` (head, query and key), float32; the sums are float64.

    `own` (head, 2) each head's mass and its sum of p log p; `joint` (head, head), above the diagonal, the sum of
    s log s with s = p + q.
    """
    heads = len(maps)
    for start in range(first, last, _BLOCK):
        stop = min(last, start + _BLOCK)
        for a in range(heads):
            left = maps[a, start:stop]
            mass, total = ZERO, ZERO
            for k in range(len(left)):
                mass += left[k]
                total += left[k] * log2(left[k])
            own[a, 0] += mass
            own[a, 1] += total * LOG_2
            for b in range(a + 1, heads):
                right = maps[b, start:stop]
                total = ZERO
                for k in range(len(left)):
                    both = left[k] + right[k]
                    total += both * log2(both)
                joint[a, b] += total * LOG_2


@njit(fastmath=True, nogil=True, cache=True)
def template_sums(
    rows: Array,
    first: int,
    last: int,
    templates: Array,
    share: Array,
    bins: Array,
    products: Array,
    binned: Array,
) -> None:
    """Add up what heads `first` to `last` give in `rows` (text, head, row, key), each row times its `share`.

    `products` (head, template) with each of `templates` (text, template, row, key); `binned` (head, bin) by the bin of
    each key (text, row, key), -1 for none.
    """
    texts, _, count, keys = rows.shape
    for head in range(first, last):
        for text in range(texts):
            for place in range(count):
                row, weight = rows[text, head, place], share[text, place]
                for template in range(templates.shape[1]):
                    total, other = 0.0, templates[text, template, place]
                    for k in range(keys):
                        total += row[k] * other[k]
                    products[head, template] += total * weight
                for k in range(keys):
                    if bins[text, place, k] >= 0:
                        binned[head, bins[text, place, k]] += row[k] * weight


@njit(fastmath=True, nogil=True, cache=True)
def largest(maps: Array, pooled: Array) -> None:
    """Fill in `pooled` (map, row, column), 0 before, with the largest weight of each cell of (map, query, key)."""
    _, rows, columns = pooled.shape
    count, queries, keys = maps.shape
    for m in range(count):
        for row in range(rows):
            for q in range(row * queries // rows, -(-(row + 1) * queries // rows)):
                for column in range(columns):
                    best = pooled[m, row, column]
                    for k in range(column * keys // columns, -(-(column + 1) * keys // columns)):
                        best = max(best, maps[m, q, k])
                    pooled[m, row, column] = best
