"""From attention maps of any length to a few rows, a narrow band and small pictures of one size.

The queries of a map are pooled into SIDE equal shares first, and all else is taken from these few rows and from a
narrow band along the diagonal, at full resolution of the keys: a column or a line one token wide stays as wide. A
map is taken twice: as weights, and as the eye sees it on a contact sheet, where the brightest weights of a map set its
scale.

Maps of several lengths are worked on together: `lengths` says how many tokens each has, what lies beyond is padding.
Where all are of one length, it is one number, and so are all places that follow from it.
"""

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

SIDE = 32
REACH = 6
"""How far the band goes to either side of the diagonal, in tokens."""

BRIGHTEST = 0.002
"""This share of the weights of a map is as bright as can be; the contact sheets have the same."""
FLAT = 4.0
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


def pictures(maps: ReducedMaps) -> tuple[Tensor, Tensor]:
    """(map, SIDE, SIDE) twice: mean weights, 1 where attention is even; and mean brightness."""
    keys = maps.pooling.mT
    return (maps.rows @ keys).mul_(maps.lengths[:, None, None]), maps.bright_rows @ keys


def _is_token(lengths: Tensor, longest: int) -> Tensor:
    """(map or 1, token) False for padding."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]


def _scale(maps: Tensor, lengths: Tensor) -> Tensor:
    """(map,) the weight that only a share of BRIGHTEST exceeds, estimated from SIDE queries evenly apart."""
    queries = _share_edges(lengths)[:, :-1]  # (map or 1, SIDE)
    ranks = (BRIGHTEST * SIDE * lengths).round().long().clamp_min(1)  # (map or 1,)
    if len(lengths) == 1:
        some = maps.index_select(1, queries[0])  # (map, SIDE, key)
    else:
        which = torch.arange(len(maps), device=maps.device)[:, None]
        some = maps[which, queries] * _is_token(lengths, maps.shape[-1])[:, None]
    highest = some.flatten(1).topk(int(ranks.max()), -1).values
    at_rank = highest.gather(-1, (ranks[:, None] - 1).expand(len(maps), 1))[:, 0]
    return torch.maximum(at_rank, FLAT / lengths)


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


@cache
def share_distance() -> Tensor:
    """(SIDE, SIDE) how many shares lie between two."""
    places = torch.arange(SIDE)
    return (places[:, None] - places).abs()
