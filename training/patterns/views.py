"""What the networks are given of a map, and of the same map changed in ways that leave its pattern as it is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from headscope.heads.patterns import described

SHORTEST_CUT = 30
"""Shorter maps lose no tokens."""


@dataclass(frozen=True)
class Views:
    """Pictures and numbers of maps, each seen in one or more ways."""

    pictures: Tensor  # (map, view, channel, row, column), half precision
    numbers: Tensor  # (map, view, number)

    def __len__(self) -> int:
        return len(self.pictures)

    def pick(self, maps: Tensor, views: Tensor) -> tuple[Tensor, Tensor]:
        """(pick, channel, row, column) and (pick, number) of maps (pick,) and their views (pick,)."""
        return self.pictures[maps, views].float(), self.numbers[maps, views]

    @classmethod
    def joined(cls, parts: Sequence["Views"]) -> "Views":
        """All maps of the parts."""
        return cls(torch.cat([part.pictures for part in parts]), torch.cat([part.numbers for part in parts]))


def views(maps: Iterable[Tensor], *, changed: int, rng: np.random.Generator) -> Views:
    """Each map (query, key) as it is, and `changed` times changed."""
    found_pictures, found_numbers = [], []
    for attention in maps:
        seen = [attention, *(vary(attention, rng) for _ in range(changed))]
        lengths = torch.tensor([len(view) for view in seen])
        longest = int(lengths.max())
        padded = torch.stack([pad(view, (0, longest - len(view), 0, longest - len(view))) for view in seen])
        picture, number = described(padded, lengths)
        found_pictures.append(picture.half())
        found_numbers.append(number)
    return Views(torch.stack(found_pictures), torch.stack(found_numbers))


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
