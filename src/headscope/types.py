"""The few things every room passes around; imports torch and numpy only."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from headscope.errors import OptionError

T = TypeVar("T")

StackName = Literal["encoder", "decoder", "cross"]

Layout = Literal["pair", "joined", "source-target"]
"""How a model takes two texts: as a marked pair, as one running text, or as what it reads and what it writes."""

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


_STACK = re.compile(r"(encoder|decoder|cross)(?: ?: ?| )", re.IGNORECASE)
_BY_NUMBER = re.compile(r"(\d+) ?\. ?(\d+|\*)|layers? (\d+)(?: ?- ?(\d+))?|all", re.IGNORECASE)
HOW_TO_NAME_HEADS = (
    "write a head as 3.2 (layer.head, counted from 0), a layer as 3.* or layer 3, or all; where there are several "
    "stacks, with the stack before it, such as encoder:3.2"
)


def split_stack(text: str) -> tuple[StackName | None, str]:
    """`encoder:3.2` (or `encoder 3.2`) as the stack and what is named in it; None where no stack is named."""
    plain = " ".join(text.split())
    match = _STACK.match(plain)
    return (cast(StackName, match[1].lower()), plain[match.end() :]) if match else (None, plain)


@dataclass(frozen=True)
class HeadChoice:
    """Heads named by their numbers: `3.2`, `3.*` or `layer 3`, `layers 3-5`, `all`; with a stack `encoder:3.2`."""

    stack: StackName | None = None
    layers: range | None = None  # None: all
    head: int | None = None  # None: all

    @classmethod
    def of(cls, head: HeadId) -> Self:
        """One head."""
        return cls(None, range(head.layer, head.layer + 1), head.head)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """What the text names; None where it does not name heads by numbers."""
        stack, what = split_stack(text)
        match = _BY_NUMBER.fullmatch(what)
        if match is None:
            return None
        layer, head, first, last = match.groups()
        if layer is None and first is None:
            return cls(stack)
        if last is not None and int(first) > int(last):
            raise OptionError(f"layers {first}-{last} runs backwards; write layers {last}-{first}")
        begin = int(layer or first)
        return cls(stack, range(begin, int(last or begin) + 1), None if head in (None, "*") else int(head))

    @classmethod
    def parse(cls, text: str) -> Self:
        """What the text names, or an error that says how heads are written."""
        choice = cls.read(text)
        if choice is None:
            raise OptionError(f"{text!r} is not a head; {HOW_TO_NAME_HEADS}")
        return choice

    def __str__(self) -> str:
        if self.layers is None:
            return "all" if self.head is None else f"*.{self.head}"
        if len(self.layers) > 1:
            return f"layers {self.layers[0]}-{self.layers[-1]}"
        return f"{self.layers[0]}.{'*' if self.head is None else self.head}"

    def __contains__(self, head: HeadId) -> bool:
        return (self.layers is None or head.layer in self.layers) and self.head in (None, head.head)

    def one(self) -> HeadId:
        """The one head that is meant."""
        if self.layers is None or len(self.layers) > 1 or self.head is None:
            raise OptionError(f"{self} is not one head; write layer.head, counted from 0, such as 3.2")
        return HeadId(self.layers[0], self.head)

    def within(self, layers: int, heads: int, *, place: str = "") -> list[HeadId]:
        """The heads in a grid of so many layers and heads a layer; an error where it has them not."""
        chosen = range(layers) if self.layers is None else self.layers
        last = HeadId(chosen[-1], self.head or 0)
        if chosen[0] < 0 or last.layer >= layers or not 0 <= last.head < heads:
            raise OptionError(
                f"there is no head {last}{place}: layers go from 0 to {layers - 1}, heads from 0 to {heads - 1}"
            )
        return [HeadId(layer, head) for layer in chosen for head in range(heads) if self.head in (None, head)]


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

    def map(self, function: Callable[[Tensor], Tensor]) -> "TokenBatch":
        """The batch with `function` of every tensor."""
        whole = {
            field.name: getattr(self, field.name) for field in fields(self)[:-1]
        }  # but for what is derived
        changed: dict[str, Any] = {
            name: None if one is None else function(one) for name, one in whole.items()
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
