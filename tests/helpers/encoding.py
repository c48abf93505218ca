"""How tests turn texts into tokens and batches: what changes in the classes that do it is changed here.

What comes out is lists: the tokens as the tokenizer spells them, and what is known of each.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import pytest
import torch
from torch import Tensor

from headscope.attention import Derive
from headscope.models import Model
from headscope.pages.tokens import tokens_of
from headscope.text import batching
from headscope.text.batching import Bucketed, TextBatch, collate
from headscope.text.encode import EncodedText, TextEncoder
from headscope.text.encode_questions import QuestionEncoder
from headscope.text.items import Item, Sentence, TextPair
from headscope.text.segments import segments, tokenized
from headscope.text.words import WordText
from headscope.trace import surveyed
from headscope.trace.watch import Watch, start_note
from headscope.types import ROLES, Layout, TokenBatch

__all__ = [
    "Encoder",
    "Input",
    "Questions",
    "Tokens",
    "Transfers",
    "Window",
    "batch_lengths",
    "columns_of",
    "playing_an_accelerator",
    "start_note",
    "taken_to",
]

Pair = tuple[str, str | None]


@dataclass(frozen=True)
class Tokens:
    """One side of an input, token by token."""

    ids: list[int]
    text: list[str] = field(compare=False)
    token_class: list[str]  # cls, sep, period, comma, other
    segment: list[int]  # 0 first text, 1 second text, -1 special tokens
    word: list[int]  # number of the word, -1 for none
    word_type: list[int]  # the same for the same word, -1 for none
    is_cut: bool

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Input:
    """What the model is shown of a text or pair."""

    source: Tokens
    target: Tokens | None = None

    @property
    def is_cut(self) -> bool:
        return self.source.is_cut or (self.target is not None and self.target.is_cut)


class Encoder:
    """Texts as they are shown to a model of some layout, of at most so many tokens."""

    def __init__(
        self,
        tokenizer: Any,
        layout: Layout = "pair",
        max_length: int = 32,
        *,
        decoder_start: int | None = None,
        start: bool | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.encoder = TextEncoder(tokenizer, layout, max_length, decoder_start=decoder_start, start=start)

    @classmethod
    def of_model(cls, model: Model, max_length: int = 32) -> Self:
        """Texts as a run shows them to this model."""
        made = cls.__new__(cls)
        made.tokenizer, made.encoder = model.tokenizer, Watch(surveyed(model)).encoder(max_length)
        return made

    @property
    def start_token(self) -> str | None:
        """What running text begins with."""
        return self.encoder.start_token

    def encode(self, first: str, second: str | None = None) -> Input:
        """The tokens of a text or pair."""
        return self.encode_all([(first, second)])[0]

    def encode_all(self, pairs: Sequence[Pair]) -> list[Input]:
        """The tokens of several texts or pairs, asked for together."""
        encoded = self.encoder.encode_all([TextPair(*pair) for pair in pairs])
        return [self._input(each.source, each.target) for each in encoded]

    def encode_words(self, words: Sequence[str], space_after: Sequence[bool] | None = None) -> Input:
        """The tokens of a text whose words are given."""
        content = WordText.of(words) if space_after is None else WordText.of(words, space_after=space_after)
        encoded = self.encoder.encode_words(content)
        return self._input(encoded.source, encoded.target)

    def segments(self, items: Iterable[tuple[str, int] | Pair]) -> list[Pair]:
        """Sentences (text, document) packed into inputs; pairs (text, text) are left as they are."""
        return list(self.stream_segments(items))

    def stream_segments(self, items: Iterable[tuple[str, int] | Pair]) -> Iterator[Pair]:
        """The same, one by one while the sentences are read."""
        for pair in self._segments(items):
            yield pair.first, pair.second

    def encode_segments(self, items: Iterable[tuple[str, int] | Pair]) -> list[Input]:
        """The same, as the model is shown them."""
        encoded = self.encoder.encode_all(list(self._segments(items)))
        return [self._input(each.source, each.target) for each in encoded]

    def batch(
        self, pairs: Sequence[Pair], *, pad: int = 0, has_segments: bool = False, published: bool = False
    ) -> TextBatch:
        """The texts or pairs as one padded batch; `published`: as the code of Clark et al. does."""
        encoded = self.encoder.encode_all([TextPair(*pair) for pair in pairs])
        return collate(encoded, pad=pad, has_segments=has_segments, one_segment=published)

    def shown(self, text: str) -> tuple[list[str], list[bool]]:
        """The words of a text as pages show them, and which tokens are special."""
        tokens = tokens_of(self.encoder, self.encoder.encode(TextPair(text)).source, [text])
        return list(tokens.words), list(tokens.special)

    def _segments(self, items: Iterable[tuple[str, int] | Pair]) -> Iterator[TextPair]:
        return segments(tokenized(map(_item, items), self.encoder), self.encoder)

    def _input(self, source: EncodedText, target: EncodedText | None) -> Input:
        described = _tokens(source, self.tokenizer)
        return Input(described, None if target is None else _tokens(target, self.tokenizer))


@dataclass(frozen=True)
class Window:
    """A question with a part of its passage."""

    tokens: Tokens
    characters: list[tuple[int, int]]
    """Where in the passage each token stands; (0, 0) for tokens that are not the passage's."""
    _window: Any

    def __len__(self) -> int:
        return len(self.tokens)

    def tokens_of(self, span: tuple[int, int]) -> tuple[int, int] | None:
        """First and last token of some characters of the passage; None where a part of them is missing."""
        found: tuple[int, int] | None = self._window.tokens(span)
        return found


class Questions:
    """Questions about passages as windows of at most so many tokens."""

    def __init__(self, tokenizer: Any, *, max_length: int = 40, **options: Any) -> None:
        self.tokenizer = tokenizer
        self.encoder = QuestionEncoder(tokenizer, "pair", max_length, **options)

    def windows(self, question: str, passage: str) -> list[Window]:
        """The windows of the passage from left to right."""
        found = self.encoder.windows(question, passage)
        return [
            Window(_tokens(window.encoded, self.tokenizer), list(window.characters), window)
            for window in found
        ]


class _OfLength:
    """Something that has a length."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length


def batch_lengths(
    lengths: Iterable[int], texts_at: dict[int, int] | int, longest: int
) -> Iterator[list[int]]:
    """How long the texts of each batch are; `texts_at` says how many texts of a length go together."""

    def most(length: int) -> int:
        return texts_at if isinstance(texts_at, int) else texts_at[length]

    for batch in Bucketed(most, longest)(_OfLength(length) for length in lengths):
        yield [len(text) for text in batch]


def columns_of(tokens: TokenBatch) -> dict[str, Tensor]:
    """What is known of a batch's tokens, by name."""
    names = ("ids", "is_token", "role", "segment", "word", "word_type", "is_cut")
    return {name: getattr(tokens, name) for name in names}


@dataclass
class Transfers:
    """What was done to take tensors to a device."""

    pinned: int = 0
    """How many pieces of memory were pinned."""
    waited: list[bool] = field(default_factory=list)
    """Of each copy, whether something waits for it."""


@contextmanager
def playing_an_accelerator(device: str) -> Iterator[Transfers]:
    """Inside, a device of this machine plays one that copies from pinned memory by itself."""
    transfers, to = Transfers(), Tensor.to

    def pin(tensor: Tensor) -> Tensor:
        transfers.pinned += 1
        return tensor.clone()

    def copied(tensor: Tensor, target: Any, *, non_blocking: bool = False) -> Tensor:
        transfers.waited.append(not non_blocking)
        return to(tensor, target, copy=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "PINNED", {device})
        patch.setattr(Tensor, "pin_memory", pin)
        patch.setattr(Tensor, "to", copied)
        yield transfers


def taken_to(device: str, batch: TextBatch, derives: Sequence[Derive] = ()) -> TextBatch:
    """A batch on a device, of whose tokens these were derived before."""
    place = torch.device(device)
    return batch.knowing(derives).bound_for(place).to(place)


def _tokens(encoded: EncodedText, tokenizer: Any) -> Tokens:
    return Tokens(
        ids=list(encoded.ids),
        text=tokenizer.convert_ids_to_tokens(encoded.ids),
        token_class=[ROLES[role] for role in encoded.role],
        segment=list(encoded.segment),
        word=list(encoded.word),
        word_type=list(encoded.word_type),
        is_cut=encoded.cut,
    )


def _item(given: tuple[str, int] | Pair) -> Item:
    text, other = given
    return Sentence(text, other) if isinstance(other, int) else TextPair(text, other)
