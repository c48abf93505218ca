"""Attention maps, each worked on while it is in cache: scores become weights, and weights are summed up.

Functions here are longer than elsewhere in the house: what is cut out of a loop costs another pass.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from headscope.kernels.cpu.compiled.numbers import LOG_2, LOWEST, ONE, ROUNDED, ZERO, exp2, larger, log2

Array = np.ndarray[Any, Any]

_STRETCH = 128
"""So many rows are summed in float32 before their sums go on in float64."""

_part = njit(fastmath=ROUNDED, nogil=True, forceinline=True)
"""A part of a loop. Called, it would be optimised once by itself, for the process that compiles it, and once more with
its caller, for those that read it from numba's cache: these would round differently."""


class Scores(NamedTuple):
    """How scores become weights."""

    scale: float  # times the logarithm of e to the base of 2; 0 where maps hold weights already
    hidden: Array  # (text, key) float32, added to scores: 0, or so little that a key is not seen
    sinks: (
        Array  # (head,) float32, a score that no key has; so little that it is not seen where there is none
    )
    causal: bool  # whether a query sees no key behind its own place


class Tokens(NamedTuple):
    """What is known of the tokens of a batch."""

    kinds: Array  # (text, query) to which sum of rows a query belongs, -1 for padding
    classes: Array  # (text, class, key) float32, 1 where the key is of the class
    ordinary: Array  # (text, key) float32, 1 for keys that count by distance
    windows: Array  # (text, offset + queries) the window of each offset
    pairs: Array  # (pair, 3) query, key, and the sum that their weight belongs to
    starts: Array  # (text + 1,) where the pairs of each text begin


class Into(NamedTuple):
    """Where sums go, float64; a way to weigh attention is 0, looked, or 1, moved."""

    mass: Array  # (text, head, way, kind, class)
    entropies: Array  # (text, head, way, kind) in nats
    distances: Array  # (text, head, way, window) of ordinary keys
    near: Array  # (text, head, way, offset) of all keys
    pairs: Array  # (text, head, way, sum)


class Rows(NamedTuple):
    """Rows that are kept: row `query` of head h of a text goes to `room[start + h * step:]`."""

    room: Array  # (number,) float32
    places: Array  # (row, 3) query, start and step
    starts: Array  # (text + 1,) where the rows of each text begin


@njit(fastmath=ROUNDED, nogil=True, cache=True)
def map_sums(
    maps: Array,
    first: int,
    last: int,
    base: int,
    line: int,
    heads: int,
    scores: Scores,
    lengths: Array,
    tokens: Tokens,
    into: Into,
    rows: Rows,
    alone: bool,
) -> None:
    """Sum up maps `first` to `last` of `maps` (map, query, key), float32; scores become weights there.

    They are those of a layer's `heads` on the first text, on the second, …, from the one at `base` on; their sums go to
    heads from `line` on. Where there are two ways to weigh attention, the second is by what heads move: weights times
    `lengths` (text, head, key), rows adding up to 1. If entropies are wanted `alone`, nothing else is summed up.
    """
    queries, keys = maps.shape[1:]
    ways, kinds = into.mass.shape[2], into.mass.shape[3]
    of_kinds = np.zeros((ways, kinds, keys), np.float32)
    along = np.zeros((ways, queries + keys + 1), np.float32)
    near = np.zeros((ways, into.near.shape[3]), np.float32)
    shares, counted = np.ones((2, keys), np.float32), np.ones((2, keys), np.float32)
    logs = np.zeros(keys, np.float32)
    scales, entropies = np.ones((2, queries), np.float32), np.zeros((ways, queries), np.float32)
    for m in range(first, last):
        text, head = (base + m) // heads, (base + m) % heads
        weights, at = maps[m], line + head
        counted[0] = tokens.ordinary[text]
        if ways > 1:
            for k in range(keys):
                shares[1, k] = lengths[text, head, k]
                logs[k] = shares[1, k] * log2(shares[1, k])
                counted[1, k] = counted[0, k] * shares[1, k]
        if scores.scale > 0:
            _weigh_map(weights, scores, text, head, shares[1], logs, scales[1], entropies)
        else:
            _look_at_map(weights, shares[1], logs, scales[1], entropies)
        for q in range(queries):
            kind = tokens.kinds[text, q]
            if kind >= 0:
                for way in range(ways):
                    into.entropies[text, at, way, kind] += entropies[way, q]
                    if alone:
                        continue
                    _add(
                        weights[q],
                        scales[way, q],
                        counted[way],
                        of_kinds[way, kind],
                        along[way, queries - q :],
                    )
                    _add_near(weights[q], q, scales[way, q], shares[way], near[way])
            if alone:
                continue
            if q % _STRETCH == _STRETCH - 1 or q == queries - 1:
                _flush(of_kinds, along, near, shares, tokens, into, text, at)
        for pair in range(tokens.starts[text], tokens.starts[text + 1]):
            q, k, number = tokens.pairs[pair, 0], tokens.pairs[pair, 1], tokens.pairs[pair, 2]
            for way in range(ways):
                into.pairs[text, at, way, number] += weights[q, k] * shares[way, k] * scales[way, q]
        for place in range(rows.starts[text], rows.starts[text + 1]):
            start = rows.places[place, 1] + at * rows.places[place, 2]
            rows.room[start : start + keys] = weights[rows.places[place, 0]]


@_part
def _weigh_map(
    maps: Array,
    scores: Scores,
    text: int,
    head: int,
    shares: Array,
    logs: Array,
    scales: Array,
    entropies: Array,
) -> None:
    """Turn the scores of a map into weights.

    Fills in (way, query) `entropies`, and of what is moved (query,) what rows are to be scaled by.
    """
    queries, keys = maps.shape
    hidden, scale, sink = scores.hidden[text], np.float32(scores.scale), scores.sinks[head]
    for q in range(queries):
        seen = max(1, min(keys, q + 1 + keys - queries)) if scores.causal else keys
        row = maps[q, :seen]
        top = max(_largest(row, hidden), sink)
        rest = max((sink - top) * scale, LOWEST)
        if len(entropies) > 1:
            mass, total, gross, given = _weigh_moved(row, hidden, top, scale, shares, logs)
            _fill_in_moved(q, gross, given, mass + exp2(rest), scales, entropies)
        else:
            mass, total = _weigh(row, hidden, top, scale)
        whole = mass + exp2(rest)
        entropies[0, q] = (log2(whole) * mass - total) / whole * LOG_2
        for k in range(seen):
            row[k] /= whole
        maps[q, seen:] = 0


@_part
def _look_at_map(maps: Array, shares: Array, logs: Array, scales: Array, entropies: Array) -> None:
    """The same of a map that holds weights."""
    for q in range(len(maps)):
        if len(entropies) > 1:
            total, gross, given = _logs_moved(maps[q], shares, logs)
            _fill_in_moved(q, gross, given, ONE, scales, entropies)
        else:
            total = _logs(maps[q])
        entropies[0, q] = -total * LOG_2


@_part
def _fill_in_moved(q: int, gross: Any, given: Any, whole: Any, scales: Array, entropies: Array) -> None:
    """Of a row of what is moved: `gross` is its sum, `given` that of it times logarithms, in shares of `whole`."""
    scales[q] = whole / gross if gross > ZERO else ZERO
    entropies[1, q] = max(ZERO, log2(gross) - given / gross) * LOG_2 if gross > ZERO else ZERO


@_part
def _largest(row: Array, hidden: Array) -> Any:
    """The largest score of a row."""
    top = np.float32(-3e38)
    for k in range(len(row)):
        top = larger(top, row[k] + hidden[k])
    return top


@_part
def _weigh(row: Array, hidden: Array, top: Any, scale: Any) -> Any:
    """Turn scores into weights that are still to be divided by their sum.

    Gives that sum, and that of weights times their logarithms.
    """
    mass, total = ZERO, ZERO
    for k in range(len(row)):
        x = larger((row[k] + hidden[k] - top) * scale, LOWEST)
        weight = exp2(x)
        mass += weight
        total += weight * x
        row[k] = weight
    return mass, total


@_part
def _weigh_moved(row: Array, hidden: Array, top: Any, scale: Any, shares: Array, logs: Array) -> Any:
    """The same, and both sums of weights times `shares`."""
    mass, total, gross, given = ZERO, ZERO, ZERO, ZERO
    for k in range(len(row)):
        x = larger((row[k] + hidden[k] - top) * scale, LOWEST)
        weight = exp2(x)
        mass += weight
        total += weight * x
        gross += weight * shares[k]
        given += weight * (shares[k] * x + logs[k])
        row[k] = weight
    return mass, total, gross, given


@_part
def _logs(row: Array) -> Any:
    """The sum of weights times their logarithms."""
    total = ZERO
    for k in range(len(row)):
        total += row[k] * log2(row[k])
    return total


@_part
def _logs_moved(row: Array, shares: Array, logs: Array) -> Any:
    """The same, and both sums of weights times `shares`."""
    total, gross, given = ZERO, ZERO, ZERO
    for k in range(len(row)):
        x = log2(row[k])
        total += row[k] * x
        gross += row[k] * shares[k]
        given += row[k] * (shares[k] * x + logs[k])
    return total, gross, given


@_part
def _add(row: Array, scale: Any, counted: Array, sums: Array, diagonal: Array) -> None:
    """Add up weights times `scale`: by kind of query, which lack the keys' shares, and along diagonals."""
    for k in range(len(row)):
        weight = row[k] * scale
        sums[k] += weight
        diagonal[k] += weight * counted[k]


@_part
def _add_near(row: Array, query: int, scale: Any, shares: Array, near: Array) -> None:
    """Add up the weights near the diagonal."""
    farthest = len(near) // 2
    for offset in range(max(-farthest, -query), min(farthest, len(row) - 1 - query) + 1):
        near[farthest + offset] += row[query + offset] * shares[query + offset] * scale


@_part
def _flush(
    of_kinds: Array,
    along: Array,
    near: Array,
    shares: Array,
    tokens: Tokens,
    into: Into,
    text: int,
    line: int,
) -> None:
    """Move what was summed in float32 over to the sums of a map."""
    for way in range(into.mass.shape[2]):
        for kind in range(into.mass.shape[3]):
            for number in range(into.mass.shape[4]):
                mass = ZERO
                for k in range(shares.shape[1]):
                    mass += of_kinds[way, kind, k] * shares[way, k] * tokens.classes[text, number, k]
                into.mass[text, line, way, kind, number] += mass
        for place in range(along.shape[1]):
            into.distances[text, line, way, tokens.windows[text, place]] += along[way, place]
        for offset in range(near.shape[1]):
            into.near[text, line, way, offset] += near[way, offset]
    of_kinds[:] = 0
    along[:] = 0
    near[:] = 0


@njit(fastmath=ROUNDED, nogil=True, cache=True)
def given_sums(
    vectors: Array, first: int, last: int, kinds: Array, residual: Array, line: int, into: Array
) -> None:
    """Sum up what heads give to the queries of texts, `vectors` (text, head, query, dim), of maps `first` to `last`.

    To `into` (text, head, 4), heads from `line` on: their lengths, squared lengths, lengths against those of the
    `residual` stream (text, query), which are nan where it is not seen, and the length of their sum. `kinds`
    (text, query) is -1 for padding.
    """
    heads, queries, dim = vectors.shape[1:]
    together = np.zeros(dim, np.float32)
    for m in range(first, last):
        text, head = m // heads, m % heads
        together[:] = 0
        lengths: Any = 0.0
        squares: Any = 0.0
        against: Any = 0.0
        for q in range(queries):
            if kinds[text, q] < 0:
                continue
            square = ZERO
            for d in range(dim):
                square += vectors[text, head, q, d] * vectors[text, head, q, d]
                together[d] += vectors[text, head, q, d]
            length = np.sqrt(square)
            lengths += length
            squares += square
            if not residual[text, q] <= ZERO:
                against += length / residual[text, q]
        whole = ZERO
        for d in range(dim):
            whole += together[d] * together[d]
        into[text, line + head, 0] = lengths
        into[text, line + head, 1] = squares
        into[text, line + head, 2] = against
        into[text, line + head, 3] = np.sqrt(whole)
