"""Numbers that tell blocks, bands and blurs apart, from the pooled pictures of attention maps.

All are means over rectangles of a picture, or contrasts of such means: sums with fixed weights, so that one matrix
product takes them all.
"""

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from headscope.kinds.pattern_maps import SIDE, share_distance

_MARGIN = 1
"""What lies this near to the diagonal, in shares of the text, belongs to the diagonal and to no block."""
_CUTS = range(4, SIDE - 3)
"""Where a square may end and the next begin."""
_SIZES = (SIDE // 2, SIDE // 4, SIDE // 8)
_EDGE = 2

Side = tuple[int, int]
"""Where a side of a rectangle begins, and where it ends."""


def block_numbers(weights: Tensor, bright: Tensor) -> Tensor:
    """(map, 26) of pictures (map, row, column) of weights, 1 where attention is even, and of brightness."""
    places = bright.flatten(1)  # (map, place)
    of_bright = [_rings(places), _squares(places), _sharpest(places)]
    return torch.cat([*of_bright, _held(weights.flatten(1)), _interaction(torch.log1p(weights))], -1)


def _rings(bright: Tensor) -> Tensor:
    """(map, 5) how much brighter than the rest it is close to the diagonal, around it, and farther; the rest."""
    close, around, wide, rest = (bright @ _ring_weights().to(bright)).chunk(4, -1)
    return torch.cat([close - rest, around - rest, wide - rest, close - wide, rest], -1)


def _squares(bright: Tensor) -> Tensor:
    """(map, 9) at the best cuts: two squares of three sizes against what lies above and below them.

    A band along the diagonal looks like squares at any cut; blocks look so at theirs alone, so the best cut is
    also compared with the middling one.
    """
    means = (bright @ _cut_weights(_SIZES).to(bright)).reshape(len(bright), len(_SIZES), 4, len(_CUTS))
    first, second, above, below = means.unbind(2)  # (map, size, cut)
    weaker = (torch.minimum(first, second) - torch.maximum(above, below)).amax(-1)  # (map, size)
    best, lead = _best_and_lead((first + second - above - below) / 2)
    return torch.cat([weaker, best, lead], -1)


def _sharpest(bright: Tensor) -> Tensor:
    """(map, 3) how sharp the edges of squares are: the weaker of the upper and the lower one at the best cuts."""
    upper, lower = (bright @ _edge_weights().to(bright)).chunk(2, -1)  # (map, cut)
    sharp = torch.minimum(upper, lower)
    best, lead = _best_and_lead(sharp)
    return torch.stack([best, sharp.topk(3, -1).values[:, 2], lead], -1)


def _held(weights: Tensor) -> Tensor:
    """(map, 3) attention around the diagonal; two blocks against what lies outside, as logarithms at the best cut."""
    around = weights @ _around().to(weights)  # (map, 1)
    means = (weights @ _cut_weights((SIDE,)).to(weights)).clamp_min(1e-3).log()
    first, second, above, below = means.chunk(4, -1)  # (map, cut)
    weaker, best = torch.minimum(first - above, second - below).max(-1, keepdim=True)
    both = (first - above + second - below).gather(-1, best) / 2
    return torch.cat([around, (weaker / 2).clamp(-2, 3), (both / 2).clamp(-2, 3)], -1)


def _interaction(logarithms: Tensor) -> Tensor:
    """(map, 6) two squares in the logarithms (map, row, column) of weights, whatever rows and columns have alone.

    Faint squares behind strong stripes show only once what every row and every column has is taken off. Given are the
    effect at the best cut, the share of the variance it explains, both for the middling cut, the standard deviation,
    and which cut is best.
    """
    rest = _centred(logarithms)
    away = (share_distance() > _MARGIN).to(rest)
    variance = (rest.square() * away).sum((1, 2))[:, None]  # (map, 1)
    shapes = _cut_shapes().to(rest)  # (cut, place)
    sizes = shapes.square().sum(-1)
    effect = rest.flatten(1) @ shapes.mT / sizes  # (map, cut)
    explained = effect * effect.abs() * sizes / variance.clamp_min(1e-3)
    best = explained.argmax(-1, keepdim=True)
    at_best = [values.gather(-1, best) for values in (effect, explained)]
    middling = [values.median(-1, keepdim=True).values for values in (effect, explained)]
    return torch.cat([*at_best, *middling, (variance / SIDE**2).sqrt(), best / SIDE], -1)


def _best_and_lead(values: Tensor) -> tuple[Tensor, Tensor]:
    """The largest over cuts (..., cut), and by how much it leads the median."""
    best = values.amax(-1)
    return best, best - values.median(-1).values


def _centred(values: Tensor) -> Tensor:
    """Values (..., row, column) without the means of rows and of columns."""
    values = values - values.mean(-1, keepdim=True)
    return values - values.mean(-2, keepdim=True)


def _mean_of(chosen: Tensor) -> Tensor:
    """(place,) weights that take the mean over the chosen places (row, column)."""
    return (chosen / chosen.sum().clamp_min(1)).flatten()


def _weights_of(rectangle: Sequence[int]) -> Tensor:
    """(place,) weights of the mean over a rectangle, without what is near the diagonal."""
    top, bottom, left, right = rectangle
    chosen = torch.zeros(SIDE, SIDE)
    chosen[top:bottom, left:right] = 1
    return _mean_of(chosen * (share_distance() > _MARGIN))


def _rectangles(rows: Sequence[Side], columns: Sequence[Side]) -> Tensor:
    """(cut, 4) the first row and that after the last, and the same of columns."""
    return torch.tensor([[*rows, *columns] for rows, columns in zip(rows, columns, strict=True)]).clamp(
        0, SIDE
    )


def _cut_rectangles(size: int) -> Tensor:
    """(4, cut, 4) the squares before and after a cut, and the rectangles above and below."""
    before, after = [(cut - size, cut) for cut in _CUTS], [(cut, cut + size) for cut in _CUTS]
    pairs = ((before, before), (after, after), (before, after), (after, before))
    return torch.stack([_rectangles(rows, columns) for rows, columns in pairs])


def _edge_rectangles() -> Tensor:
    """(2, 2, cut, 4) what lies on the inner and on the outer side of the edges of squares before and after a cut."""
    inside, outside = [(cut - _EDGE, cut) for cut in _CUTS], [(cut, cut + _EDGE) for cut in _CUTS]
    before = [(cut - SIDE // 3, cut) for cut in _CUTS]
    after = [(cut, cut + SIDE // 3) for cut in _CUTS]
    sides = ((before, inside, outside), (after, outside, inside))
    return torch.stack(
        [torch.stack([_rectangles(rows, one) for one in (inner, outer)]) for rows, inner, outer in sides]
    )


@cache
def _ring_weights() -> Tensor:
    """(place, 4) close to the diagonal, around it, farther, and the rest."""
    distance = share_distance()
    bounds = ((_MARGIN, SIDE // 16), (_MARGIN, SIDE // 8), (SIDE // 8, SIDE // 4), (SIDE // 4, SIDE))
    return torch.stack(
        [_mean_of(((distance > low) & (distance <= high)).float()) for low, high in bounds], -1
    )


@cache
def _around() -> Tensor:
    """(place, 1) weights of the share of attention around the diagonal."""
    return (share_distance() <= SIDE // 8).float().flatten()[:, None] / SIDE**2


@cache
def _cut_weights(sizes: tuple[int, ...]) -> Tensor:
    """(place, size x 4 x cut) the squares before and after a cut, and the rectangles above and below."""
    rectangles = torch.cat([_cut_rectangles(size).flatten(0, 1) for size in sizes])
    return torch.stack([_weights_of(rectangle) for rectangle in rectangles.tolist()], -1)


@cache
def _edge_weights() -> Tensor:
    """(place, 2 x cut) by how much the inner side of a square's edge is brighter than the outer one."""
    inner, outer = (
        torch.stack([_weights_of(rectangle) for rectangle in side.flatten(0, 1).tolist()], -1)
        for side in _edge_rectangles().unbind(1)
    )
    return inner - outer


@cache
def _cut_shapes() -> Tensor:
    """(cut, place) 1 within two squares, -1 outside, 0 near the diagonal, without the means of rows and columns."""
    away = (share_distance() > _MARGIN).float()
    sides = [(torch.arange(SIDE) >= cut).float() * 2 - 1 for cut in _CUTS]
    return torch.stack([(_centred(side[:, None] * side * away) * away).flatten() for side in sides])
