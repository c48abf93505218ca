"""From an attention map of any length to pictures of one size, in which what matters is kept.

The map is taken twice: as logarithms of how much more than even a weight is, and as the eye sees it on a contact sheet,
where the brightest weights of a map set its scale. Each is pooled in three ways: the mean keeps how much there is
somewhere, the largest keeps thin lines, and the mean over queries of the largest over keys tells a
column from dots.
"""

import math

import torch
from torch import Tensor

SIDE = 32
CHANNELS = 6

_LARGEST = 512
_BRIGHTEST = 0.002
"""This share of the weights of a map is as bright as can be; the contact sheets have the same."""
_FLAT = 4.0
"""A weight this many times the even one is as bright as can be in an even map."""


def brightness(maps: Tensor) -> Tensor:
    """(map, query, key) how bright each weight of maps (map, query, key) is on a contact sheet, 0 to 1."""
    length = maps.shape[-1]
    count = max(1, round(_BRIGHTEST * length * length))
    highest = maps.flatten(1).topk(count, -1).values[:, -1].clamp_min(_FLAT / length)  # (map,)
    return (maps / highest[:, None, None]).clamp_max_(1).sqrt_()


def pictures(maps: Tensor, bright: Tensor) -> Tensor:
    """(map, CHANNELS, SIDE, SIDE) of maps (map, query, key) without padding, and of their brightness."""
    length = maps.shape[-1]
    rows = mean_pooling(maps, SIDE)  # (row, query)
    thin, thin_bright = _largest(maps, -1), _largest(bright, -1)  # (map, query, column)
    logarithm = torch.stack(
        [rows @ maps @ rows.mT, _largest(thin, -2), rows @ thin], 1
    )  # (map, 3, row, column)
    seen = torch.stack([rows @ bright @ rows.mT, _largest(thin_bright, -2), rows @ thin_bright], 1)
    return torch.cat([torch.log1p(logarithm * length) / math.log1p(_LARGEST), seen], 1)


def mean_pooling(maps: Tensor, side: int) -> Tensor:
    """(side, length) weights that take means over equal shares of a text; a token on a border counts in parts."""
    length = maps.shape[-1]
    edges = torch.arange(side + 1, dtype=torch.float64) * length / side
    places = torch.arange(length, dtype=torch.float64)
    overlap = torch.minimum(edges[1:, None], places + 1) - torch.maximum(edges[:-1, None], places)
    return (overlap.clamp_min(0) * side / length).to(maps)


def _largest(values: Tensor, dimension: int) -> Tensor:
    """The largest in each of SIDE equal shares of a dimension; a token on a border counts in both."""
    length = values.shape[dimension]
    share = torch.arange(SIDE, device=values.device)
    first, last = share * length // SIDE, -((share + 1) * -length // SIDE) - 1  # (share,)
    largest = values.index_select(dimension, first)
    # A few steps through all shares at once; torch's own adaptive pooling takes three times as long.
    for step in range(1, -(-length // SIDE) + 1):
        largest = torch.maximum(largest, values.index_select(dimension, torch.minimum(first + step, last)))
    return largest
