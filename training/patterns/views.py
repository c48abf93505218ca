"""What the networks are given of a map, and of the same map changed in ways that leave its pattern as it is."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from headscope.kinds.patterns import described

SHORTEST_CUT = 30
"""Shorter maps lose no tokens."""


def views(maps: Iterable[Tensor], *, changed: int, rng: np.random.Generator) -> Tensor:
    """(map, view, number) of each map (query, key) as it is, and `changed` times changed."""
    found = []
    for attention in maps:
        seen = [attention, *(vary(attention, rng) for _ in range(changed))]
        lengths = torch.tensor([len(view) for view in seen])
        longest = int(lengths.max())
        padded = [pad(view, (0, longest - len(view), 0, longest - len(view))) for view in seen]
        found.append(described(torch.stack(padded), lengths))
    return torch.stack(found)


def vary(attention: Tensor, rng: np.random.Generator) -> Tensor:
    """The map (query, key) turned round, without some of its tokens, a little sharper or flatter."""
    length = len(attention)
    if rng.random() < 0.5:
        attention = attention.flip(0, 1)
    keep = np.ones(length, dtype=bool)
    if length >= SHORTEST_CUT and rng.random() < 0.6:
        keep = rng.random(length) > rng.uniform(0, 0.12)
    if length >= SHORTEST_CUT and rng.random() < 0.3:
        cut = int(length * rng.uniform(0, 0.15))
        keep[slice(0, cut) if rng.random() < 0.5 else slice(length - cut, length)] = False
    kept = torch.from_numpy(np.flatnonzero(keep))
    attention = attention[kept][:, kept].clamp_min(1e-12) ** float(np.exp(rng.uniform(-0.25, 0.25)))
    return attention / attention.sum(-1, keepdim=True)
