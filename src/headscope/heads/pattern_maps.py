"""From attention maps of any length to pictures of one size, in which what matters is kept.

The queries of a map are pooled into SIDE equal shares first, and all else is taken from these few rows and from a
narrow band along the diagonal. A map is taken twice: as weights, and as the eye sees it on a contact sheet, where
the brightest weights of a map set its scale. Of the keys in a share the mean keeps how much there is; the largest
keeps a thin column, and since the mean over queries comes first, scattered dots do not look like one.

Maps of several lengths are worked on together: `lengths` says how many tokens each has, what lies beyond is padding.
Where all are of one length, it is one number, and so are all places that follow from it.
"""

import math
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

SIDE = 32
CHANNELS = 4
REACH = 6
"""How far the band goes to either side of the diagonal, in tokens."""

_LARGEST = 512
_BRIGHTEST = 0.002
"""This share of the weights of a map is as bright as can be; the contact sheets have the same."""
_FLAT = 4.0
"""A weight this many times the even one is as bright as can be in an even map."""


@dataclass(frozen=True)
class ReducedMaps:
    """Maps whose queries are pooled, and their diagonals, both as weights and as brightness from 0 to 1."""

    lengths: Tensor  # (map or 1,)
    scale: Tensor  # (map,) the weight that is as bright as can be
    rows: Tensor  # (map, SIDE, key) mean over the queries of each share
    bright_rows: Tensor  # (map, SIDE, key)
    band: Tensor  # (map, query, 2 * REACH + 1) by key minus query, 0 outside of the map
    bright_band: Tensor  # (map, query, 2 * REACH + 1)
    pooling: Tensor  # (map or 1, SIDE, token) weights of tokens in the mean of each share

    @property
    def is_token(self) -> Tensor:
        """(map or 1, token) False for padding."""
        return _is_token(self.lengths, self.rows.shape[-1])


def reduced(maps: Tensor, lengths: Tensor) -> ReducedMaps:
    """Maps (map, query, key), each with `lengths` (map or 1,) tokens."""
    scale = _scale(maps, lengths)
    root = torch.minimum(maps, scale[:, None, None]).sqrt_()
    full = scale.rsqrt()[:, None, None]
    pooling = _mean_pooling(lengths, maps.shape[-1]).to(maps)
    place, inside = _band_places(lengths, maps.shape[-1])
    place = place.expand(len(maps), -1, -1)
    return ReducedMaps(
        lengths,
        scale,
        pooling @ maps,
        (pooling @ root).mul_(full),
        maps.gather(-1, place).mul_(inside),
        root.gather(-1, place).mul_(inside * full),
        pooling,
    )


def pictures(maps: ReducedMaps) -> Tensor:
    """(map, CHANNELS, SIDE, SIDE): mean weight, largest column, and the same of brightness; weights as logarithms."""
    keys = maps.pooling.mT
    weights = torch.stack([maps.rows @ keys, _largest(maps.rows, maps.lengths)], 1)
    bright = torch.stack([maps.bright_rows @ keys, _largest(maps.bright_rows, maps.lengths)], 1)
    weights = torch.log1p(weights * maps.lengths[:, None, None, None]) / math.log1p(_LARGEST)
    return torch.cat([weights, bright], 1)


def _is_token(lengths: Tensor, longest: int) -> Tensor:
    """(map or 1, token) False for padding."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]


def _scale(maps: Tensor, lengths: Tensor) -> Tensor:
    """(map,) the weight that only a share of _BRIGHTEST exceeds, estimated from SIDE queries evenly apart."""
    queries = _share_edges(lengths)[:, :-1]  # (map or 1, SIDE)
    ranks = (_BRIGHTEST * SIDE * lengths).round().long().clamp_min(1)  # (map or 1,)
    if len(lengths) == 1:
        some = maps.index_select(1, queries[0])  # (map, SIDE, key)
    else:
        which = torch.arange(len(maps), device=maps.device)[:, None]
        some = maps[which, queries] * _is_token(lengths, maps.shape[-1])[:, None]
    highest = some.flatten(1).topk(int(ranks.max()), -1).values
    at_rank = highest.gather(-1, (ranks[:, None] - 1).expand(len(maps), 1))[:, 0]
    return torch.maximum(at_rank, _FLAT / lengths)


def _band_places(lengths: Tensor, longest: int) -> tuple[Tensor, Tensor]:
    """(map or 1, query, offset) the keys of the band, and 1 where both are tokens, 0 elsewhere."""
    tokens = torch.arange(longest, device=lengths.device)
    keys = tokens[:, None] + torch.arange(-REACH, REACH + 1, device=lengths.device)  # (query, offset)
    ends = lengths[:, None, None]
    inside = (keys >= 0) & (keys < ends) & (tokens[:, None] < ends)
    return keys.clamp(0, longest - 1)[None], inside.float()


def _mean_pooling(lengths: Tensor, longest: int) -> Tensor:
    """(map or 1, SIDE, token) weights that take means over equal shares; a token on a border counts in parts."""
    edges = torch.arange(SIDE + 1, device=lengths.device) * lengths[:, None] / SIDE  # (map or 1, SIDE + 1)
    places = torch.arange(longest, device=lengths.device)
    overlap = torch.minimum(edges[:, 1:, None], places + 1) - torch.maximum(edges[:, :-1, None], places)
    return overlap.clamp_min_(0) * SIDE / lengths[:, None, None]


def _share_edges(lengths: Tensor) -> Tensor:
    """(map or 1, SIDE + 1) the token in which each share begins; the last is the length."""
    return torch.arange(SIDE + 1, device=lengths.device) * lengths[:, None] // SIDE


def _largest(rows: Tensor, lengths: Tensor) -> Tensor:
    """(map, row, SIDE) the largest in each share of the keys; a token on a border counts in both."""
    first = _share_edges(lengths)[:, :-1]  # (map or 1, SIDE)
    last = -((torch.arange(1, SIDE + 1, device=rows.device) * -lengths[:, None]) // SIDE) - 1
    shape = (len(rows), rows.shape[1], SIDE)
    largest = rows.gather(-1, first[:, None].expand(shape))
    # A few steps through all shares at once; torch's own adaptive pooling takes several times as long.
    for step in range(1, int((last - first).max()) + 1):
        place = torch.minimum(first + step, last)
        largest = torch.maximum(largest, rows.gather(-1, place[:, None].expand(shape)))
    return largest


@cache
def share_distance() -> Tensor:
    """(SIDE, SIDE) how many shares lie between two."""
    places = torch.arange(SIDE)
    return (places[:, None] - places).abs()
