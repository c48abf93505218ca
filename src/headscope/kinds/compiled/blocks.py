"""Blocks in the pictures of maps: means over rectangles, from sums over all that lies above and to the left."""

from typing import Any, NamedTuple

import numpy as np

from headscope.kinds.compiled.parts import Array, higher, largest, lower, median, part, product, rank
from headscope.measures.fast.compiled.numbers import LOG_2, ONE, ZERO, log2

_LEAST_MEAN, _LEAST_VARIANCE = np.float32(1e-3), np.float32(1e-3)


class Blocks(NamedTuple):
    """What is looked at in a picture of places (row and column); see `pattern_blocks`."""

    rings: Array  # (4, place) float32, weights of means
    around: Array  # (place,) float32
    away: Array  # (row, column) float32, 0 near the diagonal
    counts: Array  # (row + 1, column + 1) float64, how many places above and to the left are away from it
    squares: Array  # (size, first and second and above and below, cut, 4) first and last row and column
    halves: Array  # (first and second and above and below, cut, 4) of the largest squares
    edges: Array  # (before and after, inner and outer, cut, 4)
    shapes: Array  # (cut, place) float32
    sizes: Array  # (cut,) float32, the squares of shapes


@part
def block_numbers(weights: Array, bright: Array, blocks: Blocks, room: Array, out: Array) -> None:
    """Fill in `out` (26,) of two pictures (row, column); `room` (number,) is float32."""
    cuts, side = len(blocks.sizes), len(bright)
    sums, counts = np.empty((side + 1, side + 1)), blocks.counts
    values, others, ranked = room[:cuts], room[cuts : 2 * cuts], room[2 * cuts : 3 * cuts]
    means = room[3 * cuts : 7 * cuts].reshape(4, cuts)
    _sum_up(bright, blocks.away, sums)
    flat = bright.reshape(-1)
    close, near = product(flat, blocks.rings[0]), product(flat, blocks.rings[1])
    wide, rest = product(flat, blocks.rings[2]), product(flat, blocks.rings[3])
    out[0], out[1], out[2], out[3], out[4] = close - rest, near - rest, wide - rest, close - wide, rest
    kinds = len(blocks.squares)
    for size in range(kinds):
        for place in range(4):
            for cut in range(cuts):
                means[place, cut] = _mean(sums, counts, blocks.squares[size, place, cut])
        for cut in range(cuts):
            first, second, above, below = means[0, cut], means[1, cut], means[2, cut], means[3, cut]
            values[cut] = lower(first, second) - higher(above, below)
            others[cut] = (first + second - above - below) * np.float32(0.5)
        best = largest(others)
        out[5 + size], out[5 + kinds + size] = largest(values), best
        out[5 + 2 * kinds + size] = best - median(others, ranked)
    for cut in range(cuts):
        edge = lower(
            _mean(sums, counts, blocks.edges[0, 0, cut]) - _mean(sums, counts, blocks.edges[0, 1, cut]),
            _mean(sums, counts, blocks.edges[1, 0, cut]) - _mean(sums, counts, blocks.edges[1, 1, cut]),
        )
        values[cut] = edge
    rank(values, 3, ranked)
    out[14], out[15] = ranked[0], ranked[2]
    out[16] = out[14] - median(values, ranked)
    _sum_up(weights, blocks.away, sums)
    out[17] = product(weights.reshape(-1), blocks.around)
    for place in range(4):
        for cut in range(cuts):
            mean = _mean(sums, counts, blocks.halves[place, cut])
            means[place, cut] = log2(higher(mean, _LEAST_MEAN)) * np.float32(LOG_2)
    for cut in range(cuts):
        values[cut] = lower(means[0, cut] - means[2, cut], means[1, cut] - means[3, cut])
    at = np.argmax(values)
    out[18] = _held_in(values[at] / 2)
    out[19] = _held_in((means[0, at] - means[2, at] + means[1, at] - means[3, at]) / 4)
    _interaction(weights, blocks, values, others, ranked, out[20:])


@part
def _held_in(value: Any) -> Any:
    return higher(lower(value, np.float32(3)), np.float32(-2))


@part
def _sum_up(picture: Array, away: Array, sums: Array) -> None:
    """Sums (row + 1, column + 1) of what lies above and to the left, without what is near the diagonal."""
    sums[0] = 0
    for row in range(len(picture)):
        along = 0.0
        sums[row + 1, 0] = 0
        for column in range(len(picture)):
            along += picture[row, column] * away[row, column]
            sums[row + 1, column + 1] = sums[row, column + 1] + along


@part
def _mean(sums: Array, counts: Array, rectangle: Array) -> Any:
    """The mean over a rectangle; 0 where all of it is near the diagonal."""
    first, last, left, right = rectangle[0], rectangle[1], rectangle[2], rectangle[3]
    count = counts[last, right] - counts[first, right] - counts[last, left] + counts[first, left]
    mean = sums[last, right] - sums[first, right] - sums[last, left] + sums[first, left]
    return np.float32(mean / max(count, 1.0))


@part
def _interaction(
    weights: Array, blocks: Blocks, effects: Array, explained: Array, ranked: Array, out: Array
) -> None:
    """Fill in (6,) of the weights' logarithms, in whose room they are."""
    side, cuts = len(weights), len(effects)
    share = np.float32(1 / side)
    columns = np.zeros(side, np.float32)
    for row in range(side):
        mean = ZERO
        for column in range(side):
            weights[row, column] = log2(ONE + weights[row, column]) * np.float32(LOG_2)
            mean += weights[row, column]
        mean *= share
        for column in range(side):
            weights[row, column] -= mean
            columns[column] += weights[row, column]
    variance = ZERO
    for row in range(side):
        for column in range(side):
            weights[row, column] -= columns[column] * share
            variance += weights[row, column] * weights[row, column] * blocks.away[row, column]
    flat = weights.reshape(-1)
    for cut in range(cuts):
        effect = product(flat, blocks.shapes[cut]) / blocks.sizes[cut]
        effects[cut] = effect
        explained[cut] = effect * abs(effect) * blocks.sizes[cut] / higher(variance, _LEAST_VARIANCE)
    best = np.argmax(explained)
    out[0], out[1] = effects[best], explained[best]
    out[2], out[3] = median(effects, ranked), median(explained, ranked)
    out[4], out[5] = np.sqrt(variance / (side * side)), best / side
