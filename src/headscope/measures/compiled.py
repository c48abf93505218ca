"""Loops over attention maps that numba compiles (`headscope[fast]`); `cpu.py` says when they are used.

Each map is read once, while it is in cache. Logarithms are of base 2 and by a polynomial, which the compiler turns into
vector instructions. Sums are of float32 over short stretches, and of float64 over what these give. Functions here are
longer than elsewhere in the house: what is cut out of a loop costs another pass.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

Array = np.ndarray[Any, Any]

_STRETCH = 64
"""So many rows are summed in float32 before their sums go on in float64."""
_BLOCK = 1024
"""So many numbers of a head are compared with those of all others before the next: they stay in cache."""

_LOG_2 = 0.6931471805599453
_INT, _FLOAT = ir.IntType(32), ir.FloatType()
_CENTRE = 0x3F2AAAAB
"""2/3 as float32 has it: mantissas are taken from there to 4/3, around 1."""

# log2(1 + f) / f for f from -1/3 to 1/3, at Chebyshev points: log2 is good to 7e-8 in float32.
_C0, _C1, _C2 = np.float32(1.44269505), np.float32(-0.721346541), np.float32(0.480895817)
_C3, _C4, _C5 = np.float32(-0.360789563), np.float32(0.28871829), np.float32(-0.236786641)
_C6, _C7, _C8 = np.float32(0.201699001), np.float32(-0.22222056), np.float32(0.203237192)
_ONE, _ZERO = np.float32(1), np.float32(0)

_part = njit(fastmath=True, nogil=True, forceinline=True)
"""A part of a loop. Called, it would be optimised once by itself, for the process that compiles it, and once more with
its caller, for those that read it from numba's cache: these would round differently."""


# In the compiler's own words: numba's integers are of 64 bits, and its loops over them half as fast.
@intrinsic
def _exponent(typing: Any, x: Any) -> Any:
    """How often 2 divides a number, as a float; for 0 about -127."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.sub(builder.bitcast(arguments[0], _INT), _INT(_CENTRE))
        return builder.sitofp(builder.ashr(bits, _INT(23)), _FLOAT)

    return types.float32(types.float32), generate


@intrinsic
def _mantissa(typing: Any, x: Any) -> Any:
    """What is left of it, from 2/3 to 4/3."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.sub(builder.bitcast(arguments[0], _INT), _INT(_CENTRE))
        rest = builder.add(builder.and_(bits, _INT(0x7FFFFF)), _INT(_CENTRE))
        return builder.bitcast(rest, _FLOAT)

    return types.float32(types.float32), generate


@njit(inline="always", fastmath=True)
def _log2(x: Any) -> Any:
    """The logarithm of a number that is 0 or more; of 0 a finite one, so that 0 log 0 is 0."""
    f = _mantissa(x) - _ONE
    p = _C8 * f + _C7
    p = p * f + _C6
    p = p * f + _C5
    p = p * f + _C4
    p = p * f + _C3
    p = p * f + _C2
    p = p * f + _C1
    p = p * f + _C0
    return _exponent(x) + f * p


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
            mass, total = _ZERO, _ZERO
            for k in range(len(left)):
                mass += left[k]
                total += left[k] * _log2(left[k])
            own[a, 0] += mass
            own[a, 1] += total * _LOG_2
            for b in range(a + 1, heads):
                right = maps[b, start:stop]
                total = _ZERO
                for k in range(len(left)):
                    both = left[k] + right[k]
                    total += both * _log2(both)
                joint[a, b] += total * _LOG_2


@njit(fastmath=True, nogil=True, cache=True)
def map_sums(
    maps: Array,
    lengths: Array | None,
    kinds: Array,
    ordinary: Array,
    first: int,
    last: int,
    columns: Array,
    entropies: Array,
    scales: Array,
    diagonals: Array,
    near: Array,
) -> None:
    """Fill in the sums of maps `first` to `last` of `maps` (map, query, key), float32; the sums are float64.

    With `lengths` (map, key) the maps are those of moved shares: weights times lengths, rows adding up to 1. `kinds`
    (text, query) says to which sum of rows a query of a text belongs, -1 for padding; `ordinary` (text, key) is 1 for
    keys that count on `diagonals`.

    `columns` (map, kind, key) sums of rows; `entropies` (map, query) in nats; `scales` (map, query) what rows are
    scaled by; `diagonals` (map, offset + queries), of ordinary keys; `near` (map, offset), of all keys.
    """
    queries, keys = maps.shape[1:]
    heads, farthest = len(maps) // len(kinds), near.shape[1] // 2
    of_kinds = np.zeros(columns.shape[1:], np.float32)
    along = np.zeros(diagonals.shape[1], np.float32)
    shares, logs = np.ones(keys, np.float32), np.zeros(keys, np.float32)
    counted = np.zeros(keys, np.float32)
    for m in range(first, last):
        counted[:] = ordinary[m // heads]
        if lengths is not None:
            _take_lengths(lengths[m], shares, logs, counted)
        for q in range(queries):
            kind = kinds[m // heads, q]
            if kind >= 0:
                row, sums, diagonal = maps[m, q], of_kinds[kind], along[queries - q :]
                if lengths is None:
                    scale = _ONE
                    entropies[m, q] = _looked(row, counted, sums, diagonal)
                else:
                    scale, entropies[m, q] = _moved(row, shares, logs, counted, sums, diagonal)
                scales[m, q] = scale
                for offset in range(max(-farthest, -q), min(farthest, keys - 1 - q) + 1):
                    near[m, farthest + offset] += row[q + offset] * shares[q + offset] * scale
            if q % _STRETCH == _STRETCH - 1 or q == queries - 1:
                _flush(of_kinds, along, shares, columns[m], diagonals[m])


@_part
def _take_lengths(lengths: Array, shares: Array, logs: Array, counted: Array) -> None:
    """What a map's keys are scaled by: (key,) each; `logs` are the lengths times their logarithms."""
    for k in range(len(shares)):
        shares[k] = lengths[k]
        logs[k] = shares[k] * _log2(shares[k])
        counted[k] *= shares[k]


@_part
def _looked(row: Array, counted: Array, sums: Array, diagonal: Array) -> Any:
    """Add a row to the sums of its kind and of diagonals; gives its entropy."""
    total = _ZERO
    for k in range(len(row)):
        total += row[k] * _log2(row[k])
    for k in range(len(row)):
        sums[k] += row[k]
        diagonal[k] += row[k] * counted[k]
    return -total * _LOG_2


@_part
def _moved(row: Array, shares: Array, logs: Array, counted: Array, sums: Array, diagonal: Array) -> Any:
    """The same of what a row moves; gives what it is scaled by, and its entropy. `sums` lack the keys' shares."""
    mass, total = _ZERO, _ZERO
    for k in range(len(row)):
        moved = row[k] * shares[k]
        mass += moved
        total += moved * _log2(row[k]) + row[k] * logs[k]
    if mass == _ZERO:
        return _ZERO, 0.0
    scale = _ONE / mass
    for k in range(len(row)):
        weight = row[k] * scale
        sums[k] += weight
        diagonal[k] += weight * counted[k]
    return scale, max(0.0, (_log2(mass) - total * scale) * _LOG_2)


@_part
def _flush(of_kinds: Array, along: Array, shares: Array, columns: Array, diagonals: Array) -> None:
    """Move what was summed in float32 over to the sums of a map."""
    for kind in range(len(of_kinds)):
        for k in range(len(shares)):
            columns[kind, k] += of_kinds[kind, k] * shares[k]
    for place in range(len(along)):
        diagonals[place] += along[place]
    of_kinds[:] = 0
    along[:] = 0


@njit(nogil=True, cache=True)
def entry_sums(
    maps: Array,
    lengths: Array | None,
    scales: Array,
    entries: Array,
    starts: Array,
    first: int,
    last: int,
    sums: Array,
) -> None:
    """Fill in `sums` (map, sum) of maps `first` to `last`: of single weights, each of which belongs to one sum.

    `entries` (entry, 3) are query, key and sum, those of text t from `starts[t]` on. With `lengths` (map, key) weights
    are moved shares: times lengths and `scales` (map, query).
    """
    heads = len(maps) // (len(starts) - 1)
    for m in range(first, last):
        for entry in range(starts[m // heads], starts[m // heads + 1]):
            query, key = entries[entry, 0], entries[entry, 1]
            weight = maps[m, query, key]
            if lengths is not None:
                weight *= lengths[m, key] * scales[m, query]
            sums[m, entries[entry, 2]] += weight


@njit(fastmath=True, nogil=True, cache=True)
def template_sums(
    rows: Array,
    templates: Array,
    share: Array,
    bins: Array,
    first: int,
    last: int,
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
