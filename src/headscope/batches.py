"""Tokens and attention of a batch of texts, as measures are given them; imports torch only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


@dataclass(frozen=True)
class TokenBatch:
    """What is known about the tokens of a batch of texts before the model has run."""

    ids: Tensor  # (text, token) vocabulary ids
    is_token: Tensor  # (text, token) False for padding
    role: Tensor  # (text, token) index into ROLES
    segment: Tensor  # (text, token) 0 first text, 1 second text, -1 special tokens and padding
    word: Tensor  # (text, token) number of the word in its text, -1 special tokens and padding
    word_type: Tensor  # (text, token) equal for equal words of a text, -1 punctuation, specials, padding
    is_cut: Tensor | None = None  # (text,) True for texts that lost their end; None when not known
    _derived: dict[Callable[..., Any], Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def lengths(self) -> Tensor:
        """(text,) how many real tokens each text has."""
        return self.is_token.sum(-1)

    def map(self, function: Callable[[Tensor], Tensor]) -> "TokenBatch":
        """The batch with `function` of every tensor."""
        whole = {
            field.name: getattr(self, field.name) for field in fields(self)[:-1]
        }  # but for what is derived
        changed: dict[str, Any] = {
            name: None if tensor is None else function(tensor) for name, tensor in whole.items()
        }
        return TokenBatch(**changed)

    def derive(self, function: Callable[["TokenBatch"], T]) -> T:
        """`function(self)`, computed once for all layers."""
        if function not in self._derived:
            self._derived[function] = function(self)
        result: T = self._derived[function]
        return result


@dataclass(frozen=True)
class AttentionBatch:
    """What one layer's heads did on a batch of texts; lives only while that layer is being observed."""

    layer: int
    attention: Tensor  # (text, head, query, key) 0 wherever the query or the key is padding
    queries: TokenBatch
    keys: TokenBatch
    _reduced: dict[Callable[..., Any], Tensor] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def observed(cls, layer: int, weights: Tensor, queries: TokenBatch, keys: TokenBatch) -> Self:
        """Weights as a model gave them: at least float32, and cleared of what its padding queries hold."""
        if weights.dtype in (torch.float16, torch.bfloat16):
            weights = weights.float()
        if not queries.derive(_is_full):
            weights = weights.masked_fill(~queries.is_token[:, None, :, None], 0)
        return cls(layer, weights, queries, keys)

    def reduce(self, reduction: Callable[["AttentionBatch"], Tensor]) -> Tensor:
        """`reduction(self)`, computed once however many measures ask for it."""
        if reduction not in self._reduced:
            self._reduced[reduction] = reduction(self)
        return self._reduced[reduction]


def _is_full(tokens: TokenBatch) -> bool:
    """True when the batch holds no padding."""
    return bool(tokens.is_token.all())


def padded(rows: Sequence[Sequence[int]], *, value: int) -> Tensor:
    """(row, column) the rows as one integer tensor, filled up with `value` on the right."""
    width = max(len(row) for row in rows)
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows], dtype=torch.long)
