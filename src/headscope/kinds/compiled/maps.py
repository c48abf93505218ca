"""Attention maps as numbers, each worked on while it is in cache: rows pooled, columns and lines followed.

Functions here are longer than elsewhere in the house: what is cut out of a loop costs another pass.
"""

from typing import Any

import numpy as np
from numba import njit

from headscope.kinds.compiled.blocks import Blocks, block_numbers
from headscope.kinds.compiled.parts import LEAST, Array, higher, largest, lower, part, put, rank, total
from headscope.measures.fast.compiled.numbers import ONE, ROUNDED, ZERO

_QUARTERS = 4
_LIFT, _BRIGHT = np.float32(0.12), np.float32(0.3)
_TWO, _FIVE, _EIGHT = np.float32(2), np.float32(5), np.float32(8)


@njit(fastmath=ROUNDED, nogil=True, cache=True)
def map_numbers(
    maps: Array,
    first: int,
    last: int,
    lengths: Array,
    fetched: Array,
    shape: tuple[int, int, int, int],
    brightest: float,
    flat: float,
    blocks: Blocks,
    out: Array,
) -> None:
    """Fill in `out` (map, number) of maps `first` to `last` of `maps` (map, query, key), float32.

    Of map m, queries and keys from `lengths[m]` on are padding. With `fetched` (map, key), the lengths of what heads
    fetch, of what they move: weights times these, rows adding up to 1. `shape` says how many rows a map's queries
    are pooled into, how far from the diagonal its band goes, how far lines are followed, and what is near.
    """
    side, reach, followed, near = shape
    longest = maps.shape[2]
    pooling, counts = np.zeros((side, longest), np.float32), np.zeros((_QUARTERS, longest), np.float32)
    edges = np.zeros((side, 4), np.int64)
    moved = np.zeros((longest if len(fetched) else 0, longest), np.float32)
    rows, bright = (
        np.zeros((side, longest + 2 * near), np.float32),
        np.zeros((side, longest + 2 * near), np.float32),
    )
    band = np.zeros((2 * reach + 1, longest), np.float32)
    columns = np.zeros((16, longest), np.float32)
    picture, bright_picture = np.zeros((side, side), np.float32), np.zeros((side, side), np.float32)
    best, room = np.zeros(longest + 2 * side, np.float32), np.zeros(7 * side, np.float32)
    turned = np.zeros((longest, side), np.float32)
    length = 0
    for m in range(first, last):
        if lengths[m] != length:
            length = lengths[m]
            _prepare(length, near, pooling, edges, counts)
        weights = maps[m]
        if len(fetched):
            _move(weights, length, fetched[m], moved)
            weights = moved
        scale = _scale(weights, length, side, brightest, flat, best)
        _pool(weights, length, scale, near, pooling, edges, rows, bright)
        numbers, full = out[m], ONE / np.sqrt(scale)
        _columns(rows, bright, length, near, edges, counts, columns, best, numbers)
        _band(weights, length, reach, band)
        _lines(band, length, reach, followed, best, numbers[24:27])
        numbers[27] = _near(band, length, reach, near) / length
        for offset in range(len(band)):
            for q in range(length):
                band[offset, q] = np.sqrt(lower(band[offset, q], scale)) * full
        _bright_lines(band, length, reach, followed, near, best, numbers[17:24])
        roots = ZERO
        for row in range(side):
            roots += np.log(higher(total(bright[row, near : near + length]) / full, np.float32(1e-6)))
        numbers[30] = 2 * roots / side / np.log(np.float32(max(length, 2)))
        numbers[31] = np.log1p(scale * length) / 6
        _picture(rows, near, pooling, edges, np.float32(length), turned, picture)
        _picture(bright, near, pooling, edges, ONE, turned, bright_picture)
        block_numbers(picture, bright_picture, blocks, room, numbers[39:])


@part
def _prepare(length: int, near: int, pooling: Array, edges: Array, counts: Array) -> None:
    """What maps of one length have in common.

    The weights of tokens in each share, the first token of a share and that after its last, and in the share's row the
    keys that are far from all its queries: those before `edges[row, 2]`, and from `edges[row, 3]` on; by quarters, in
    how many rows a key is far.
    """
    side = len(pooling)
    counts[:] = 0
    for row in range(side):
        start, stop = row * length / side, (row + 1) * length / side
        edges[row, 0], edges[row, 1] = int(np.floor(start)), int(np.ceil(stop))
        edges[row, 2] = max(0, int(np.ceil(start - near)))
        edges[row, 3] = min(length, int(np.ceil(stop + near)))
        for token in range(edges[row, 0], edges[row, 1]):
            pooling[row, token] = (min(stop, token + 1) - max(start, token)) * side / length
        for k in range(length):
            if k < edges[row, 2] or k >= edges[row, 3]:
                counts[row * _QUARTERS // side, k] += ONE


@part
def _move(weights: Array, length: int, fetched: Array, moved: Array) -> None:
    """Weights times what is fetched, rows adding up to 1."""
    for q in range(length):
        line, into, gross = weights[q, :length], moved[q, :length], ZERO
        for k in range(len(line)):
            into[k] = line[k] * fetched[k]
            gross += into[k]
        inverse = ONE / gross if gross > ZERO else ZERO
        for k in range(len(into)):
            into[k] *= inverse


@part
def _scale(weights: Array, length: int, side: int, brightest: float, flat: float, best: Array) -> Any:
    """The weight that is as bright as can be."""
    count = max(1, int(np.rint(np.float32(brightest * side) * np.float32(length))))
    tops = best[count : count + side]
    for share in range(side):
        tops[share] = largest(weights[share * length // side, :length])
    least = LEAST
    if count <= side:  # so many rows have a weight as large as this: others need not be looked at
        rank(tops, count, best)
        least = best[count - 1]
    best[:count] = LEAST
    for share in range(side):
        if tops[share] >= least:
            row = weights[share * length // side, :length]
            for k in range(len(row)):
                put(row[k], count, best)
    return higher(best[count - 1], np.float32(flat / length))


@part
def _pool(
    weights: Array,
    length: int,
    scale: Any,
    near: int,
    pooling: Array,
    edges: Array,
    rows: Array,
    bright: Array,
) -> None:
    """Pool queries into rows of weights and of brightness, whose first and last keys stand beside them once more."""
    full = ONE / np.sqrt(scale)
    for row in range(len(rows)):
        pooled, seen = rows[row, near : near + length], bright[row, near : near + length]
        pooled[:] = 0
        seen[:] = 0
        for q in range(edges[row, 0], edges[row, 1]):
            share, line = pooling[row, q], weights[q, :length]
            for k in range(len(line)):
                pooled[k] += line[k] * share
                seen[k] += np.sqrt(lower(line[k], scale)) * share
        for k in range(len(seen)):
            seen[k] *= full
        rows[row, :near], bright[row, :near] = pooled[0], seen[0]
        rows[row, near + length : length + 2 * near] = pooled[length - 1]
        bright[row, near + length : length + 2 * near] = seen[length - 1]


@part
def _columns(
    rows: Array,
    bright: Array,
    length: int,
    near: int,
    edges: Array,
    counts: Array,
    columns: Array,
    best: Array,
    out: Array,
) -> None:
    """Fill in what columns say: `_bright_columns`, `_columns_followed`, and two of `_attention_held`."""
    side, even = len(rows), np.float32(1 / length)
    columns[:] = 0
    visible, clear, held, seen = columns[0], columns[1], columns[2], columns[3]
    lifts, levels = columns[4:8], columns[8:12]
    for row in range(side):
        quarter = row * _QUARTERS // side
        for start, stop in ((0, edges[row, 2]), (edges[row, 3], length)):
            if stop > start:
                some = slice(start, max(start, stop))
                _follow(
                    rows[row, start : stop + 2 * near], near, even, visible[some], clear[some], held[some]
                )
                _lift(
                    bright[row, start : stop + 2 * near],
                    near,
                    lifts[quarter, start:stop],
                    levels[quarter, start:stop],
                    seen[start:stop],
                )
    level, count = ZERO, ZERO
    for quarter in range(_QUARTERS):
        level += total(levels[quarter, :length])
        count += total(counts[quarter, :length])
    background, spread, share = level / higher(count, ONE), ZERO, ZERO
    in_half, in_all, whole, dimmest = columns[12], columns[13], columns[14], columns[15]
    mean = levels[0]
    for k in range(length):
        by = higher(counts[0, k] + counts[1, k] + counts[2, k] + counts[3, k], ONE)
        a, b = lifts[0, k] / higher(counts[0, k], ONE), lifts[1, k] / higher(counts[1, k], ONE)
        c, d = lifts[2, k] / higher(counts[2, k], ONE), lifts[3, k] / higher(counts[3, k], ONE)
        least, other = lower(a, b), lower(c, d)
        in_half[k] = higher(lower(higher(a, b), higher(c, d)), higher(least, other))
        in_all[k] = lower(least, other)
        whole[k] = (lifts[0, k] + lifts[1, k] + lifts[2, k] + lifts[3, k]) / by
        dimmest[k] = lower(
            lower(levels[0, k] / higher(counts[0, k], ONE), levels[1, k] / higher(counts[1, k], ONE)),
            lower(levels[2, k] / higher(counts[2, k], ONE), levels[3, k] / higher(counts[3, k], ONE)),
        )
        mean[k] = (levels[0, k] + levels[1, k] + levels[2, k] + levels[3, k]) / by
        spread += (mean[k] - background) * (mean[k] - background)
        seen[k] /= by
        visible[k] /= by
        clear[k] /= by
        share += ONE if visible[k] > np.float32(0.5) else ZERO
    rank(in_half[:length], 2, best)
    out[0], out[1] = best[0], best[1]
    rank(in_all[:length], 2, best)
    out[2], out[3] = best[0], best[1]
    rank(whole[:length], 8, best)
    out[4], out[5], out[6], out[7] = best[0], best[1], best[3], best[7]
    rank(mean[:length], 3, best)
    out[8], out[9] = best[0] - background, best[2] - background
    out[10] = largest(dimmest[:length]) - background
    rank(seen[:length], 10, best)
    out[11], out[12], out[13], out[14] = best[0], best[1], best[3], best[9]
    out[15], out[16] = background, np.sqrt(spread / length)
    rank(held[:length], 4, best)
    out[28] = total(best[: min(4, length)]) / side
    out[29] = np.log1p(best[0] / side * length) / 3
    rank(visible[:length], 8, best)
    out[32], out[33], out[34], out[35] = best[0], best[1], best[2], best[7]
    rank(clear[:length], 2, best)
    out[36], out[37], out[38] = best[0], best[1], share / length


@part
def _follow(row: Array, near: int, even: Any, visible: Array, clear: Array, held: Array) -> None:
    """Count where a row's weights are more than even and than those beside them; add them up."""
    seen, bright = even * np.float32(2.5), even * _FIVE
    own, right = row[near:], row[2 * near :]
    for k in range(len(held)):
        weight, beside = own[k], (row[k] + right[k]) * np.float32(0.5)
        visible[k] += ONE if weight > higher(beside * np.float32(1.5), seen) else ZERO
        clear[k] += ONE if weight > higher(beside * np.float32(3), bright) else ZERO
        held[k] += weight


@part
def _lift(row: Array, near: int, lifts: Array, levels: Array, seen: Array) -> None:
    """Add up brightness, by how much it is more than that beside it, and where that shows."""
    own, right = row[near:], row[2 * near :]
    for k in range(len(seen)):
        level = own[k]
        lift = level - higher(row[k], right[k])
        lifts[k] += lift
        levels[k] += level
        shows = (ONE if lift > _LIFT else ZERO) * (ONE if level > _BRIGHT else ZERO)
        seen[k] += shows


@part
def _band(weights: Array, length: int, reach: int, band: Array) -> None:
    """Fill in (offset, query) the weights near the diagonal, 0 outside of the map."""
    for offset in range(-reach, reach + 1):
        line = band[offset + reach]
        line[:length] = 0
        for q in range(max(0, -offset), min(length, length - offset)):
            line[q] = weights[q, q + offset]


@part
def _near(band: Array, length: int, reach: int, near: int) -> Any:
    """The sum of what is near the diagonal."""
    found = ZERO
    for offset in range(reach - near, reach + near + 1):
        found += total(band[offset, :length])
    return found


@part
def _beside(band: Array, offset: int, q: int) -> Any:
    """The mean of what lies beside a diagonal."""
    both = band[offset - 3, q] + band[offset - 2, q] + band[offset + 2, q] + band[offset + 3, q]
    return both * np.float32(0.25)


@part
def _lines(band: Array, length: int, reach: int, followed: int, best: Array, out: Array) -> None:
    """Fill in (3,), `_lines_followed`."""
    count, even = 2 * followed + 1, np.float32(1 / length)
    visible, clear = best[count : 2 * count], best[2 * count : 3 * count]
    for place in range(count):
        offset = reach - followed + place
        seen, bright = ZERO, ZERO
        for q in range(length):
            on, beside = band[offset, q], _beside(band, offset, q)
            seen += ONE if on > higher(_TWO * beside, _TWO * even) else ZERO
            bright += ONE if on > higher(_FIVE * beside, _EIGHT * even) else ZERO
        visible[place], clear[place] = seen / length, bright / length
    rank(visible, 2, best)
    out[0], out[1], out[2] = best[0], best[1], largest(clear)


@part
def _bright_lines(
    band: Array, length: int, reach: int, followed: int, near: int, best: Array, out: Array
) -> None:
    """Fill in (7,), `_bright_lines`."""
    count = 2 * followed + 1
    levels, quarters = best[count : 2 * count], np.zeros(_QUARTERS, np.float32)
    out[:4] = -3e38
    for place in range(count):
        offset = reach - followed + place
        lifts, level, seen = ZERO, ZERO, ZERO
        for q in range(length):
            on = band[offset, q]
            lift = on - _beside(band, offset, q)
            lifts += lift
            level += on
            seen += (ONE if lift > _LIFT else ZERO) * (ONE if on > _BRIGHT else ZERO)
        for quarter in range(_QUARTERS):
            start, stop = quarter * length / _QUARTERS, (quarter + 1) * length / _QUARTERS
            within = ZERO
            for q in range(int(np.floor(start)), int(np.ceil(stop))):
                own = np.float32(min(stop, q + 1) - max(start, q))
                within += (band[offset, q] - _beside(band, offset, q)) * own
            quarters[quarter] = within * _QUARTERS / length
        a, b, c, d = quarters[0], quarters[1], quarters[2], quarters[3]
        least, other = lower(a, b), lower(c, d)
        out[0] = higher(out[0], higher(lower(higher(a, b), higher(c, d)), higher(least, other)))
        out[1] = higher(out[1], lower(least, other))
        out[2], out[3] = higher(out[2], lifts / length), higher(out[3], seen / length)
        levels[place] = level / length
    rank(levels, 2, best)
    out[4], out[5] = best[0], best[1]
    out[6] = _near(band, length, reach, near) / (length * (2 * near + 1))


@part
def _picture(
    rows: Array, near: int, pooling: Array, edges: Array, times: Any, turned: Array, picture: Array
) -> None:
    """Pool the keys of rows, `times` as much; `turned` (key, row) is room in which all rows lie side by side."""
    side, length = len(rows), edges[len(rows) - 1, 1]
    for row in range(side):
        for k in range(length):
            turned[k, row] = rows[row, k + near]
    column = np.zeros(side, np.float32)
    for place in range(side):
        column[:] = 0
        for k in range(edges[place, 0], edges[place, 1]):
            share, line = pooling[place, k] * times, turned[k]
            for row in range(len(line)):
                column[row] += line[row] * share
        for row in range(side):
            picture[row, place] = column[row]
