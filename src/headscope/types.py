"""The few things every room passes around; imports torch and numpy only."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from headscope.errors import OptionError

T = TypeVar("T")

StackName = Literal["encoder", "decoder", "cross"]

ROLES = ("cls", "sep", "period", "comma", "other")
"""What a token is to the measures; models without [CLS] and [SEP] have a first token and an end of text."""

CLS, SEP, PERIOD, COMMA, OTHER = range(len(ROLES))


@dataclass(frozen=True, order=True)
class HeadId:
    """One head, written layer.head, both counted from 0."""

    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.layer}.{self.head}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a head back from its layer.head form."""
        match = re.fullmatch(r"\s*(\d+)\.(\d+)\s*", text)
        if match is None:
            raise OptionError(f"{text!r} is not a head; write layer.head, counted from 0, such as 3.2")
        return cls(int(match[1]), int(match[2]))


@dataclass(frozen=True)
class HeadGrid:
    """The heads of one stack of layers: all of an encoder, of a decoder, or of its cross attention."""

    stack: StackName
    layers: int
    heads: int
    causal: bool
    """True when a query sees itself and what came before it, and nothing after."""

    @property
    def cross(self) -> bool:
        """True when queries and keys come from different texts."""
        return self.stack == "cross"

    @property
    def labels(self) -> tuple[str, ...]:
        """Every head as layer.head, layer by layer."""
        return tuple(str(HeadId(layer, head)) for layer in range(self.layers) for head in range(self.heads))


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


@dataclass(frozen=True)
class LabelledArray:
    """A result on its way into the atlas: numbers, what each axis is, and what the numbers mean."""

    values: np.ndarray[Any, Any]
    dims: tuple[str, ...]
    coords: Mapping[str, Sequence[str] | Sequence[int]]
    description: str
    units: str = "1"


def _is_full(tokens: TokenBatch) -> bool:
    """True when the batch holds no padding."""
    return bool(tokens.is_token.all())


def padded(rows: Sequence[Sequence[int]], *, value: int) -> Tensor:
    """(row, column) the rows as one integer tensor, filled up with `value` on the right."""
    width = max(len(row) for row in rows)
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows], dtype=torch.long)
