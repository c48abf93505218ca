"""An attention map as a few numbers that say the same at any length.

A line one token wide is one at any length. The numbers say along what share of the queries a column or a diagonal
can be followed, by how much it stands out from what lies beside it, how much attention it holds, and how well blocks
can be told from the rest. Each is about 0 to 1.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from headscope.kinds.pattern_blocks import block_numbers
from headscope.kinds.pattern_maps import REACH, SIDE, ReducedMaps, pictures

NUMBERS = 65

_NEAR = 2
_QUARTERS = 4
_FOLLOWED = 3
"""How far from the main diagonal lines are followed, in tokens."""


def numbers(maps: ReducedMaps) -> Tensor:
    """(map, NUMBERS)."""
    far = _far(maps)
    parts = [
        _bright_columns(maps, far),
        _bright_lines(maps),
        _lines_followed(maps),
        _attention_held(maps, far),
        _evenness(maps),
        _columns_followed(maps, far),
        block_numbers(*pictures(maps)),
    ]
    return torch.cat(parts, -1)


def _far(maps: ReducedMaps) -> Tensor:
    """(map or 1, SIDE, key) True for tokens that are near to no query of the row: beyond any diagonal."""
    # (map or 1, SIDE + 1)
    edges = torch.arange(SIDE + 1, device=maps.rows.device) * maps.lengths[:, None] / SIDE
    keys = torch.arange(maps.rows.shape[-1], device=maps.rows.device)
    before, after = keys < edges[:, :-1, None] - _NEAR, keys >= edges[:, 1:, None] + _NEAR
    return (before | after) & maps.is_token[:, None]


def _beside(rows: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """(map, row, key) twice: what lies a little to the left and to the right; at an edge, the last key itself."""
    if len(lengths) > 1:
        last = rows.gather(-1, (lengths - 1)[:, None, None].expand(*rows.shape[:2], 1))  # (map, row, 1)
        padding = torch.arange(rows.shape[-1], device=rows.device) >= lengths[:, None, None]
        rows = torch.where(padding, last, rows)
    wide = pad(rows, (_NEAR, _NEAR), mode="replicate")
    return wide[..., : -2 * _NEAR], wide[..., 2 * _NEAR :]


def _ranked(values: Tensor, ranks: Sequence[int]) -> Tensor:
    """(map, rank) the values (map, any) of these ranks, the largest being 0; the last where there are fewer."""
    if len(ranks) == 1 and ranks[0] == 0:
        return values.amax(-1, keepdim=True)
    last = values.shape[-1] - 1
    largest = values.topk(min(max(ranks), last) + 1, -1).values
    return largest[:, [min(rank, last) for rank in ranks]]


def _columns_followed(maps: ReducedMaps, far: Tensor) -> Tensor:
    """(map, 7) along what share of the rows the best columns can be followed.

    A weight belongs to a visible column when it is clearly more than those two keys to either side and more
    than even. What lies near the diagonal does not count.
    """
    left, right = _beside(maps.rows, maps.lengths)
    beside = (left + right).div_(2)
    even = 1 / maps.lengths[:, None, None]
    hidden = torch.zeros_like(far, dtype=beside.dtype).masked_fill_(~far, torch.inf)  # (map or 1, SIDE, key)
    seen_by = far.sum(1).clamp_min(1)  # (map or 1, key)

    def followed(more_than_beside: float, more_than_even: float) -> Tensor:
        limit = torch.maximum(beside * more_than_beside, hidden + even * more_than_even)
        return (maps.rows > limit).to(beside).sum(1) / seen_by  # (map, key)

    visible, bright = followed(1.5, 2.5), followed(3, 5)
    share = (visible > 0.5).to(visible).sum(-1, keepdim=True) / maps.lengths[:, None]
    visible, bright = _of_tokens(visible, maps), _of_tokens(bright, maps)
    return torch.cat([_ranked(visible, (0, 1, 2, 7)), _ranked(bright, (0, 1)), share], -1)


def _of_tokens(values: Tensor, maps: ReducedMaps) -> Tensor:
    """Values (map, key) in which padding has the smallest that a token has, so that it outranks none."""
    if len(maps.lengths) == 1:
        return values
    smallest = values.masked_fill(~maps.is_token, torch.inf).amin(-1, keepdim=True)
    return torch.where(maps.is_token, values, smallest)


def _lines(band: Tensor) -> tuple[Tensor, Tensor]:
    """(map, query, offset) the weights on the diagonals that are followed, and the mean of those beside them."""
    count, first = 2 * _FOLLOWED + 1, REACH - _FOLLOWED
    outer, left, on, right, far = (
        band[..., first + side : first + side + count] for side in (-3, -2, 0, 2, 3)
    )
    return on, (outer + left + right + far) / 4


def _lines_followed(maps: ReducedMaps) -> Tensor:
    """(map, 3) along what share of the queries the best diagonals can be followed."""
    on, beside = _lines(maps.band)
    even, lengths = 1 / maps.lengths[:, None, None], maps.lengths[:, None]
    # Padding is 0 and not more than even.
    visible = (on > torch.maximum(2 * beside, 2 * even)).to(on).sum(1) / lengths  # (map, offset)
    bright = (on > torch.maximum(5 * beside, 8 * even)).to(on).sum(1) / lengths
    return torch.cat([_ranked(visible, (0, 1)), _ranked(bright, (0,))], -1)


def _attention_held(maps: ReducedMaps, far: Tensor) -> Tensor:
    """(map, 3) mean attention near the diagonal, to the four largest columns; the largest of them."""
    near = maps.band[..., REACH - _NEAR : REACH + _NEAR + 1].sum((1, 2)) / maps.lengths  # (map,)
    columns = (maps.rows * far).mean(1)  # (map, key)
    largest = columns.topk(min(4, columns.shape[-1]), -1).values
    return torch.stack([near, largest.sum(-1), torch.log1p(largest[:, 0] * maps.lengths) / 3], -1)


def _evenness(maps: ReducedMaps) -> Tensor:
    """(map, 2) Rényi's entropy of order 1/2, as a share of that of even attention; and the scale of brightness."""
    roots = (maps.bright_rows * maps.is_token[:, None]).sum(-1) * maps.scale.sqrt()[:, None]  # (map, row)
    entropy = 2 * roots.clamp_min(1e-6).log().mean(-1) / maps.lengths.clamp_min(2).log()
    return torch.stack([entropy, torch.log1p(maps.scale * maps.lengths) / 6], -1)


def _second_and_last(quarters: Tensor) -> tuple[Tensor, Tensor]:
    """The second largest and the smallest of four (map, quarter, any), without sorting."""
    first, second, third, fourth = quarters.unbind(1)
    higher = torch.minimum(torch.maximum(first, second), torch.maximum(third, fourth))
    lower, upper = torch.minimum(first, second), torch.minimum(third, fourth)
    return torch.maximum(higher, torch.maximum(lower, upper)), torch.minimum(lower, upper)


def _bright_columns(maps: ReducedMaps, far: Tensor) -> Tensor:
    """(map, 17) by how much the best columns stand out: in half of the text, in all of it, on the whole."""
    rows = maps.bright_rows
    counted = far.to(rows)
    left, right = _beside(rows, maps.lengths)
    lift = (rows - torch.maximum(left, right)).mul_(counted)

    def sums(values: Tensor) -> Tensor:
        return values.view(len(values), _QUARTERS, -1, values.shape[-1]).sum(2)  # (map, quarter, key)

    lift_sums, level_sums, counts = sums(lift), sums(rows * counted), sums(counted)
    seen_by, counts = counts.sum(1).clamp_min(1), counts.clamp_min(1)  # (map, key)
    in_half, in_all = _second_and_last(lift_sums / counts)
    dimmest = (level_sums / counts).amin(1)  # (map, key)
    whole, levels = lift_sums.sum(1) / seen_by, level_sums.sum(1) / seen_by
    even = level_sums.sum((1, 2))[:, None] / counted.sum((1, 2))[:, None].clamp_min(1)  # (map, 1)
    # Near the diagonal the lift is 0, so what passes this lies away from it.
    followed = (lift > 0.12).logical_and_(rows > 0.3).to(rows).sum(1) / seen_by  # (map, key)
    spread = ((levels - even).square() * maps.is_token).sum(-1, keepdim=True) / maps.lengths[:, None]
    parts = [
        _ranked(_of_tokens(in_half, maps), (0, 1)),
        _ranked(_of_tokens(in_all, maps), (0, 1)),
        _ranked(_of_tokens(whole, maps), (0, 1, 3, 7)),
        _ranked(_of_tokens(levels, maps), (0, 2)) - even,
        _ranked(_of_tokens(dimmest, maps), (0,)) - even,
        _ranked(_of_tokens(followed, maps), (0, 1, 3, 9)),
        even,
        spread.sqrt(),
    ]
    return torch.cat(parts, -1)


def _bright_lines(maps: ReducedMaps) -> Tensor:
    """(map, 7) by how much the best diagonals stand out in half of the text, in all of it, on the whole."""
    on, beside = _lines(maps.bright_band)
    lift = on - beside  # (map, query, offset)
    pooling = maps.pooling
    # (map or 1, quarter, query)
    quarters = pooling.view(len(pooling), _QUARTERS, -1, pooling.shape[-1]).mean(2)
    in_half, in_all = _second_and_last(quarters @ lift)  # (map, offset)
    lengths = maps.lengths[:, None]
    followed = (lift > 0.12).logical_and_(on > 0.3).to(on).sum(1) / lengths
    best = [_ranked(values, (0,)) for values in (in_half, in_all, lift.sum(1) / lengths, followed)]
    near = maps.bright_band[..., REACH - _NEAR : REACH + _NEAR + 1].sum((1, 2)) / (5 * maps.lengths)
    return torch.cat([*best, _ranked(on.sum(1) / lengths, (0, 1)), near[:, None]], -1)
