"""Sums for parts of the texts, so that any half of them can be looked at without a second pass."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from headscope.accumulator import Sums, nothing, settled
from headscope.types import TokenBatch

FOLDS = 20
"""How many parts; there are 184,756 ways to take half of them."""

_MIXER = 6364136223846793005  # Knuth's multiplier: neighbouring numbers end up far apart
_OTHER_MIXER = 1442695040888963407
_MASK = (1 << 62) - 1


def mixed_ids(tokens: TokenBatch) -> Tensor:
    """(text,) a number told by a text's tokens alone: the same in any batch, order or process."""
    if tokens.on_host is not tokens:  # one copy instead of ten steps
        return tokens.on_host.derive(mixed_ids).to(tokens.ids.device, non_blocking=True)
    places = torch.arange(1, tokens.ids.shape[1] + 1, device=tokens.ids.device)
    mixed = (tokens.ids + 1) * _MIXER + places * _OTHER_MIXER  # wraps around, the same on every machine
    mixed = (mixed ^ (mixed >> 29 & _MASK)) * _MIXER  # not linear: words that change places count
    return ((mixed * tokens.is_token).sum(-1) & _MASK) >> 20


def fold_of(tokens: TokenBatch) -> Tensor:
    """(text,) the part a text belongs to; a text that occurs twice is never on both sides of a split."""
    return tokens.derive(mixed_ids) % FOLDS


@dataclass
class FoldSums(Sums):
    """Sums over the texts of each part, and how many there are."""

    total: Tensor  # (fold, layer, ...)
    texts: Tensor  # (fold,)

    @classmethod
    def zeros(cls, *shape: int) -> Self:
        """Nothing seen yet."""
        return cls(nothing(FOLDS, *shape), nothing(FOLDS))

    def add(self, values: Tensor, tokens: TokenBatch) -> None:
        """Count `values` (text, layer, ...)."""
        fold = tokens.derive(fold_of)
        place = values.device if values.is_cuda else torch.device("cpu")  # others lack float64
        self.total, self.texts = settled(self.total, place), settled(self.texts, place)
        fold = fold.to(place)
        self.total.index_add_(0, fold, values.detach().to(self.total))
        self.texts.index_add_(0, fold, torch.ones_like(fold, dtype=torch.float64))

    def mean(self) -> np.ndarray[Any, Any]:
        """(fold, layer, ...) the mean over the texts of each part; nan for a part without texts."""
        texts = self.texts.view(-1, *[1] * (self.total.dim() - 1))
        # Half the digits: they serve to form other samples, whose scatter is far larger.
        return (self.total / texts).float().cpu().numpy()
