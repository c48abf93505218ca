"""From an attention map of any length to a picture of one size and a few numbers, in which what matters is kept.

The picture (SIDE x SIDE) is the map itself, pooled in three ways: the mean keeps how much attention goes somewhere, the largest
weight keeps thin lines, and the mean over queries of the largest over keys tells a column from dots.

The numbers are taken at full resolution, so that a line one token wide is one at any length: along what share of the
queries a column or a diagonal can be followed, how much attention they hold, and how well two blocks can be told
from the rest.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

SIDE = 32
CHANNELS = 3
OFFSETS = range(-3, 4)
"""Key minus query of the diagonals that are followed."""

NUMBERS = (
    "best column",
    "second column",
    "third column",
    "eighth column",
    "best bright column",
    "second bright column",
    "share of columns",
    "best line",
    "second line",
    "best bright line",
    "attention near the diagonal",
    "attention around the diagonal",
    "attention to four columns",
    "largest column",
    "weaker block",
    "both blocks",
    "entropy",
)

_LARGEST = 512
_NEAR = 2


def pictures(maps: Tensor) -> Tensor:
    """(map, 3, SIDE, SIDE) of maps (map, query, key) without padding: logarithms of how much more than even."""
    length = maps.shape[-1]
    rows = _pooling(maps)  # (row, query)
    square = torch.stack(
        [
            rows @ maps @ rows.mT,
            functional.adaptive_max_pool2d(maps, (SIDE, SIDE)),
            rows @ functional.adaptive_max_pool2d(maps, (length, SIDE)),
        ],
        1,
    )  # (map, 3, row, column)
    return torch.log1p(square * length) / math.log1p(_LARGEST)


def numbers(maps: Tensor) -> Tensor:
    """(map, number) what NUMBERS names, of maps (map, query, key) without padding; all about 0 to 1."""
    parts = [_column_numbers(maps), _line_numbers(maps), _mass_numbers(maps), _block_numbers(maps), _entropy(maps)]
    return torch.cat(parts, -1)


def _pooling(maps: Tensor) -> Tensor:
    """(SIDE, length) weights that take means over equal shares of a text; a token on a border counts in parts."""
    length = maps.shape[-1]
    edges = torch.arange(SIDE + 1, dtype=torch.float64) * length / SIDE
    places = torch.arange(length, dtype=torch.float64)
    overlap = torch.minimum(edges[1:, None], places + 1) - torch.maximum(edges[:-1, None], places)
    return (overlap.clamp_min(0) * SIDE / length).to(maps)


def _distance(maps: Tensor) -> Tensor:
    """(query, key) how many tokens lie between."""
    places = torch.arange(maps.shape[-1], device=maps.device)
    return (places[:, None] - places).abs()


def _column_numbers(maps: Tensor) -> Tensor:
    """(map, 7) along what share of the queries the best columns can be followed.

    A weight belongs to a visible column when it is clearly more than those two keys to either side and more
    than even. What lies near the diagonal does not count.
    """
    length = maps.shape[-1]
    far = _distance(maps) > _NEAR  # (query, key)
    wide = functional.pad(maps, (_NEAR, _NEAR), mode="replicate")
    beside = (wide[..., : -2 * _NEAR] + wide[..., 2 * _NEAR :]) / 2  # (map, query, key)
    seen_by = far.sum(0).clamp_min(1)  # (key,)

    def followed(more_than_beside: float, more_than_even: float) -> Tensor:
        bright = (maps > more_than_beside * beside) & (maps > more_than_even / length) & far
        return (bright.sum(1) / seen_by).sort(-1, descending=True).values  # (map, key)

    visible, bright = followed(1.5, 2.5), followed(3, 5)
    places = [0, *(min(place, length - 1) for place in (1, 2, 7))]
    share = (visible > 0.5).to(maps.dtype).mean(-1, keepdim=True)
    return torch.cat([visible[:, places], bright[:, places[:2]], share], -1).to(maps.dtype)


def _line_numbers(maps: Tensor) -> Tensor:
    """(map, 3) along what share of the queries the best diagonals can be followed."""
    length = maps.shape[-1]
    reach = OFFSETS[-1] + 3
    wide = functional.pad(maps, (reach, reach))  # (map, query, key + margin)
    step = wide.stride()
    # Rows one longer than they are make diagonals into columns; offset 0 is in the middle.
    band = wide.as_strided((len(maps), length, 2 * reach + 1), (step[0], step[1] + step[2], step[2]))
    count = len(OFFSETS)
    on = band[..., 3 : 3 + count]  # (map, query, offset)
    beside = sum(band[..., 3 + side : 3 + side + count] for side in (-3, -2, 2, 3)) / 4
    visible = ((on > 2 * beside) & (on > 2 / length)).to(maps.dtype).mean(1)  # (map, offset)
    bright = ((on > 5 * beside) & (on > 8 / length)).to(maps.dtype).mean(1)
    return torch.cat([visible.topk(2, -1).values, bright.amax(-1, keepdim=True)], -1)


def _mass_numbers(maps: Tensor) -> Tensor:
    """(map, 4) mean attention near the diagonal, around it, to the four largest columns; the largest of them."""
    length = maps.shape[-1]
    distance = _distance(maps)
    near = (maps * (distance <= _NEAR)).sum((1, 2)) / length  # (map,)
    around = (maps * (distance <= max(3, length / 8))).sum((1, 2)) / length
    columns = (maps * (distance > _NEAR)).mean(1)  # (map, key)
    four = columns.topk(min(4, length), -1).values.sum(-1)
    largest = torch.log1p(columns.amax(-1) * length) / 3
    return torch.stack([near, around, four, largest], -1)


def _block_numbers(maps: Tensor) -> Tensor:
    """(map, 2) how much brighter two blocks are than what lies outside them, at the cut that shows them best.

    In logarithms, over 2; taken from the pooled map, without what lies around the diagonal.
    """
    rows = _pooling(maps)
    pooled = rows @ maps @ rows.mT  # (map, row, column)
    away = (_distance(pooled) > SIDE // 16).to(pooled)  # (row, column)
    sums = _corner_sums(pooled * away)  # (map, SIDE + 1, SIDE + 1)
    sizes = _corner_sums(away[None])
    cuts = torch.arange(SIDE // 6, SIDE - SIDE // 6 + 1, device=maps.device)

    def mean(queries: str, keys: str) -> Tensor:
        return (_part(sums, cuts, queries, keys) + 1e-6) / (_part(sizes, cuts, queries, keys) + 1e-3)

    first = (mean("before", "before") / mean("before", "after")).log()  # (map, cut)
    second = (mean("after", "after") / mean("after", "before")).log()
    weaker, best = torch.minimum(first, second).max(-1)
    both = ((first + second) / 2).gather(-1, best[:, None])[:, 0]
    return (torch.stack([weaker, both], -1) / 2).clamp(-2, 3)


def _corner_sums(values: Tensor) -> Tensor:
    """(map, row + 1, column + 1) sums over all that is above and to the left."""
    return functional.pad(values.cumsum(1).cumsum(2), (1, 0, 1, 0))


def _part(sums: Tensor, cuts: Tensor, queries: str, keys: str) -> Tensor:
    """(map, cut) the sum over one of the four parts that a cut makes of a map."""
    corner, left, top, whole = sums[:, cuts, cuts], sums[:, -1, cuts], sums[:, cuts, -1], sums[:, -1:, -1]
    if queries == "before":
        return corner if keys == "before" else top - corner
    return left - corner if keys == "before" else whole - left - top + corner


def _entropy(maps: Tensor) -> Tensor:
    """(map, 1) mean entropy of the queries, as a share of that of even attention."""
    entropy = -(maps * maps.clamp_min(1e-9).log()).sum(-1).mean(-1, keepdim=True)
    return entropy / math.log(max(maps.shape[-1], 2))
