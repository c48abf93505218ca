"""What a picture of one size may lose of an attention map: a few numbers, taken at full resolution.

A line one token wide is one at any length. The numbers say along what share of the queries a column or a diagonal
can be followed, by how much it stands out from what lies beside it, how much attention it holds, and how well blocks
can be told from the rest. Each is about 0 to 1.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from headscope.heads.pattern_maps import SIDE, mean_pooling

OFFSETS = range(-3, 4)
"""Key minus query of the diagonals that are followed."""

NUMBERS = 58

_NEAR = 2
_FINE = 64
_PARTS = 4


def numbers(maps: Tensor, bright: Tensor) -> Tensor:
    """(map, NUMBERS) of maps (map, query, key) without padding, and of their brightness on a contact sheet."""
    parts = [
        _columns_followed(maps),
        _lines_followed(maps),
        _attention_held(maps),
        _two_blocks(maps),
        _entropy(maps),
        _bright_columns(bright),
        _bright_lines(bright),
        _bright_blocks(bright),
    ]
    return torch.cat(parts, -1)


def _distance(maps: Tensor) -> Tensor:
    """(query, key) how many tokens lie between."""
    places = torch.arange(maps.shape[-1], device=maps.device)
    return (places[:, None] - places).abs()


def _widened(maps: Tensor) -> Tensor:
    """(map, query, key + margin) with the first and the last key repeated on either side."""
    first, last = (edge.expand(-1, -1, _NEAR) for edge in (maps[..., :1], maps[..., -1:]))
    return torch.cat([first, maps, last], -1)


def _ranked(values: Tensor, ranks: Sequence[int]) -> Tensor:
    """(map, rank) the values (map, any) of these ranks, the largest being 0; the last where there are fewer."""
    last = values.shape[-1] - 1
    largest = values.topk(min(max(ranks), last) + 1, -1).values
    return largest[:, [min(rank, last) for rank in ranks]]


def _columns_followed(maps: Tensor) -> Tensor:
    """(map, 7) along what share of the queries the best columns can be followed.

    A weight belongs to a visible column when it is clearly more than those two keys to either side and more
    than even. What lies near the diagonal does not count.
    """
    length = maps.shape[-1]
    near = _distance(maps) <= _NEAR  # (query, key)
    wide = _widened(maps)
    beside = (wide[..., : -2 * _NEAR] + wide[..., 2 * _NEAR :]).div_(2)  # (map, query, key)
    beside.masked_fill_(near, torch.inf)
    seen_by = (~near).sum(0).clamp_min(1)  # (key,)

    def followed(more_than_beside: float, more_than_even: float) -> Tensor:
        bright = maps > (beside * more_than_beside).clamp_min_(more_than_even / length)
        return bright.to(maps).sum(1) / seen_by  # (map, key)

    visible, bright = followed(1.5, 2.5), followed(3, 5)
    share = (visible > 0.5).to(maps).mean(-1, keepdim=True)
    return torch.cat([_ranked(visible, (0, 1, 2, 7)), _ranked(bright, (0, 1)), share], -1)


def _band(maps: Tensor) -> tuple[Tensor, Tensor]:
    """(map, query, offset) the weights on the diagonals of OFFSETS, and the mean of those beside them."""
    length = maps.shape[-1]
    reach = OFFSETS[-1] + 3
    wide = functional.pad(maps, (reach, reach))  # (map, query, key + margin)
    step = wide.stride()
    # Rows one longer than they are make diagonals into columns; offset 0 is in the middle.
    band = wide.as_strided((len(maps), length, 2 * reach + 1), (step[0], step[1] + step[2], step[2]))
    count = len(OFFSETS)
    beside = torch.stack([band[..., 3 + side : 3 + side + count] for side in (-3, -2, 2, 3)]).mean(0)
    return band[..., 3 : 3 + count], beside


def _lines_followed(maps: Tensor) -> Tensor:
    """(map, 3) along what share of the queries the best diagonals can be followed."""
    length = maps.shape[-1]
    on, beside = _band(maps)
    visible = ((on > 2 * beside) & (on > 2 / length)).to(maps).mean(1)  # (map, offset)
    bright = ((on > 5 * beside) & (on > 8 / length)).to(maps).mean(1)
    return torch.cat([_ranked(visible, (0, 1)), _ranked(bright, (0,))], -1)


def _attention_held(maps: Tensor) -> Tensor:
    """(map, 4) mean attention near the diagonal, around it, to the four largest columns; the largest of them."""
    length = maps.shape[-1]
    distance = _distance(maps)
    near = (maps * (distance <= _NEAR)).sum((1, 2)) / length  # (map,)
    around = (maps * (distance <= max(3, length / 8))).sum((1, 2)) / length
    columns = (maps * (distance > _NEAR)).mean(1)  # (map, key)
    four = columns.topk(min(4, length), -1).values.sum(-1)
    largest = torch.log1p(columns.amax(-1) * length) / 3
    return torch.stack([near, around, four, largest], -1)


def _two_blocks(maps: Tensor) -> Tensor:
    """(map, 2) how much brighter two blocks are than what lies outside them, at the cut that shows them best.

    In logarithms, over 2; taken from the pooled map, without what lies around the diagonal.
    """
    corners = _Corners(maps, SIDE, margin=SIDE // 16)
    cuts = torch.arange(SIDE // 6, SIDE - SIDE // 6 + 1, device=maps.device)
    before, after = (torch.zeros_like(cuts), cuts), (cuts, torch.full_like(cuts, SIDE))
    first = (corners.mean(before, before) / corners.mean(before, after)).log()  # (map, cut)
    second = (corners.mean(after, after) / corners.mean(after, before)).log()
    weaker, best = torch.minimum(first, second).max(-1)
    both = ((first + second) / 2).gather(-1, best[:, None])[:, 0]
    return (torch.stack([weaker, both], -1) / 2).clamp(-2, 3)


def _entropy(maps: Tensor) -> Tensor:
    """(map, 1) mean entropy of the queries, as a share of that of even attention."""
    entropy = -maps.clamp_min(1e-9).log_().mul_(maps).sum(-1).mean(-1, keepdim=True)
    return entropy / math.log(max(maps.shape[-1], 2))


def _bright_columns(bright: Tensor) -> Tensor:
    """(map, 17) by how much the best columns stand out: in half of the text, in all of it, on the whole."""
    far = (_distance(bright) > _NEAR).to(bright)  # (query, key)
    wide = _widened(bright)
    beside = torch.maximum(wide[..., : -2 * _NEAR], wide[..., 2 * _NEAR :])  # (map, query, key)
    lift, level = beside.neg_().add_(bright).mul_(far), bright * far
    quarters = _quarters(bright)  # (quarter, query)
    counted = (quarters @ far).clamp_min(1)  # (quarter, key)
    seen_by = far.sum(0).clamp_min(1)  # (key,)
    lift_sums, level_sums = quarters @ lift, quarters @ level  # (map, quarter, key)
    lifts = (lift_sums / counted).sort(1, descending=True).values
    dimmest = (level_sums / counted).amin(1)  # (map, key)
    whole, levels = lift_sums.sum(1) / seen_by, level_sums.sum(1) / seen_by
    even = level_sums.sum((1, 2))[:, None] / far.sum().clamp_min(1)  # (map, 1)
    # Near the diagonal the lift is 0, so what passes this lies away from it.
    followed = (lift > 0.12).logical_and_(bright > 0.3).to(bright).sum(1) / seen_by  # (map, key)
    parts = [
        _ranked(lifts[:, 1], (0, 1)),
        _ranked(lifts[:, 3], (0, 1)),
        _ranked(whole, (0, 1, 3, 7)),
        _ranked(levels, (0, 2)) - even,
        _ranked(dimmest, (0,)) - even,
        _ranked(followed, (0, 1, 3, 9)),
        even,
        levels.std(-1, correction=0, keepdim=True),
    ]
    return torch.cat(parts, -1)


def _bright_lines(bright: Tensor) -> Tensor:
    """(map, 12) by how much the best diagonals stand out, and how the light falls off on both sides of the main one."""
    length = bright.shape[-1]
    on, beside = _band(bright)
    lift = on - beside  # (map, query, offset)
    quarters = _quarters(bright)
    lifts = (quarters @ lift / quarters.sum(1)[:, None].clamp_min(1)).sort(1, descending=True).values
    followed = ((lift > 0.12) & (on > 0.3)).to(bright).mean(1)  # (map, offset)
    distance = _distance(bright)

    def mean(nearest: float, farthest: float) -> Tensor:
        ring = ((distance > nearest) & (distance <= farthest)).to(bright)
        return (bright * ring).sum((1, 2), keepdim=True)[:, 0] / ring.sum().clamp_min(1)  # (map, 1)

    near, close = mean(-1, _NEAR), mean(_NEAR, max(3, length / 16))
    around, wide = mean(_NEAR, max(3, length / 8)), mean(length / 8, length / 4)
    rest = mean(length / 4, length)
    best = [_ranked(values, (0,)) for values in (lifts[:, 1], lifts[:, 3], lift.mean(1))]
    levels = _ranked(on.mean(1), (0, 1))
    falls = [near - rest, close - rest, around - rest, wide - rest, near - close, rest]
    return torch.cat([*best, levels, _ranked(followed, (0,)), *falls], -1)


def _bright_blocks(bright: Tensor) -> Tensor:
    """(map, 12) at the best cuts: squares of three sizes against what lies outside them; and how sharp their edges are.

    A band along the diagonal looks like squares at any cut; blocks look so at theirs alone, so the best cut is
    also compared with the middling one.
    """
    corners = _Corners(bright, _FINE, margin=max(2.0, 2 * _FINE / bright.shape[-1]))
    cuts = torch.arange(_FINE // 8, _FINE - _FINE // 8 + 1, device=bright.device)
    found = []
    for size in (_FINE // 2, _FINE // 4, _FINE // 8):
        before, after = ((cuts - size).clamp_min(0), cuts), (cuts, (cuts + size).clamp_max(_FINE))
        first, second = corners.mean(before, before), corners.mean(after, after)  # (map, cut)
        above, below = corners.mean(before, after), corners.mean(after, before)
        weaker = torch.minimum(first, second) - torch.maximum(above, below)
        found += [_ranked(weaker, (0,)), *_best_and_middling((first + second - above - below) / 2)]
    size, edge = _FINE // 3, 2
    before, after = ((cuts - size).clamp_min(0), cuts), (cuts, (cuts + size).clamp_max(_FINE))
    left, right = (cuts - edge, cuts), (cuts, cuts + edge)
    upper = corners.mean(before, left) - corners.mean(before, right)
    lower = corners.mean(after, right) - corners.mean(after, left)
    sharp = torch.minimum(upper, lower)
    best, lead = _best_and_middling(sharp)
    return torch.cat([*found, best, _ranked(sharp, (2,)), lead], -1)


def _best_and_middling(values: Tensor) -> tuple[Tensor, Tensor]:
    """(map, 1) the largest over cuts (map, cut), and by how much it leads the median."""
    best = values.amax(-1, keepdim=True)
    return best, best - values.median(-1, keepdim=True).values


def _quarters(maps: Tensor) -> Tensor:
    """(quarter, query) 1 where a query is in that quarter of the text."""
    length = maps.shape[-1]
    part = torch.arange(length, device=maps.device) * _PARTS // length
    return (part == torch.arange(_PARTS, device=maps.device)[:, None]).to(maps)


class _Corners:
    """Means over any rectangles of pooled maps, without what lies within `margin` of the diagonal."""

    def __init__(self, maps: Tensor, side: int, *, margin: float) -> None:
        rows = mean_pooling(maps, side)
        pooled = rows @ maps @ rows.mT  # (map, row, column)
        away = (_distance(pooled) > margin).to(pooled)  # (row, column)
        self.sums = self._above_left(pooled * away)  # (map, row + 1, column + 1)
        self.sizes = self._above_left(away[None])

    def mean(self, queries: tuple[Tensor, Tensor], keys: tuple[Tensor, Tensor]) -> Tensor:
        """(map, cut) of the rectangles from row to row and column to column, each (cut,)."""
        return (self._sum(self.sums, queries, keys) + 1e-6) / (self._sum(self.sizes, queries, keys) + 1e-3)

    @staticmethod
    def _above_left(values: Tensor) -> Tensor:
        return functional.pad(values.cumsum(1).cumsum(2), (1, 0, 1, 0))

    @staticmethod
    def _sum(sums: Tensor, queries: tuple[Tensor, Tensor], keys: tuple[Tensor, Tensor]) -> Tensor:
        (top, bottom), (left, right) = queries, keys
        return sums[:, bottom, right] - sums[:, top, right] - sums[:, bottom, left] + sums[:, top, left]
