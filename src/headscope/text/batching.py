"""From encoded texts to padded batches of like length, in bounded memory."""

from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

import torch
from torch import Tensor

from headscope.attention import Derive
from headscope.text.encode import EncodedInput, EncodedText
from headscope.types import OTHER, TokenBatch, padded

Encoded = TypeVar("Encoded", bound=Sized)

READ_AHEAD = 16
"""How many batches' worth of texts are looked at together to find some of like length."""


PINNED = frozenset({"cuda"})
"""Devices that copy from pinned memory by themselves."""
_ALIGNED = 64  # bytes that the parts of a piece of memory begin at multiples of


@dataclass(frozen=True)
class TextBatch:
    """A padded batch: what the model is given, and what is known about its tokens."""

    inputs: dict[str, Tensor]
    source: TokenBatch
    target: TokenBatch | None
    piece: "_Piece | None" = None
    """The memory that its tensors are parts of, where that is one piece."""

    def map(self, change: Callable[[Tensor], Tensor]) -> "TextBatch":
        """The batch with `change` of every tensor; what was derived of its tokens is left out."""
        inputs = {name: change(tensor) for name, tensor in self.inputs.items()}
        return TextBatch(inputs, self.source.map(change), self.target and self.target.map(change))

    def copied(self, copy: Callable[[Tensor], Tensor]) -> "TextBatch":
        """The batch elsewhere, with what was derived of its tokens."""
        inputs = {name: copy(tensor) for name, tensor in self.inputs.items()}
        return TextBatch(inputs, self.source.copied(copy), self.target and self.target.copied(copy))

    def knowing(self, functions: Iterable[Derive]) -> "TextBatch":
        """The batch with these derived of its tokens."""
        functions = tuple(functions)
        return replace(
            self,
            source=self.source.knowing(functions),
            target=self.target and self.target.knowing(functions),
        )

    def bound_for(self, device: torch.device) -> "TextBatch":
        """The batch in one piece of memory, from which one copy takes it to the device while that is at work.

        With what was derived of its tokens until now: what an accelerator would derive in dozens of small steps.
        """
        if device.type not in PINNED:
            return self
        piece = _Piece()
        self.copied(piece.plan)
        piece.take_room()
        return replace(self.copied(piece.take), piece=piece)

    def to(self, device: torch.device) -> "TextBatch":
        """The batch on the device; nothing waits for the copies but what reads them."""
        if self.piece is None:
            return self.copied(lambda tensor: tensor.to(device, non_blocking=True))
        return self.copied(self.piece.to(device))

    @property
    def texts(self) -> int:
        """How many texts the batch holds."""
        return self.source.ids.shape[0]

    @property
    def tokens(self) -> int:
        """How many real tokens the batch holds."""
        targets = int(self.target.is_token.sum()) if self.target else 0
        return int(self.source.is_token.sum()) + targets


class _Piece:
    """Tensors side by side in one piece of pinned memory."""

    _memory: Tensor

    def __init__(self) -> None:
        self._places: dict[tuple[object, ...], int] = {}  # where each begins
        self._size = 0

    def plan(self, tensor: Tensor) -> Tensor:
        """Have room for a tensor; one that is there already is kept once."""
        if _told_by(tensor) not in self._places:
            self._places[_told_by(tensor)] = self._size
            self._size += -(-tensor.nbytes // _ALIGNED) * _ALIGNED
        return tensor

    def take_room(self) -> None:
        """Take as much memory as is planned."""
        self._memory = torch.empty(self._size, dtype=torch.uint8).pin_memory()

    def take(self, tensor: Tensor) -> Tensor:
        """A copy of a tensor in this memory."""
        return _part(self._memory, tensor, self._places[_told_by(tensor)]).copy_(tensor)

    def to(self, device: torch.device) -> Callable[[Tensor], Tensor]:
        """What gives the copies on a device of tensors in this memory; others are copied by themselves."""
        here, memory = self._memory, self._memory.to(device, non_blocking=True)

        def there(tensor: Tensor) -> Tensor:
            place = tensor.data_ptr() - here.data_ptr()
            if not 0 <= place < len(here) or not tensor.numel():
                return tensor.to(device, non_blocking=True)
            return _part(memory, tensor, place)

        return there


def _told_by(tensor: Tensor) -> tuple[object, ...]:
    return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()


def _part(memory: Tensor, like: Tensor, place: int) -> Tensor:
    """A tensor of that type and shape that begins at some byte of a piece of memory."""
    return memory[place : place + like.nbytes].view(like.dtype).view(like.shape)


@dataclass(frozen=True)
class Bucketed:
    """Groups texts into batches of like length; `texts_at(length)` says how many of that length go together.

    A text may be anything that has a length. `longest` is the most tokens a text has; it decides how many texts
    are held at a time.
    """

    texts_at: Callable[[int], int]
    longest: int

    @property
    def window(self) -> int:
        """How many texts are looked at together; batches never reach over the end of a window."""
        return READ_AHEAD * max(1, self.texts_at(self.longest))

    def __call__(self, encoded: Iterable[Encoded]) -> Iterator[list[Encoded]]:
        """The batches, window by window."""
        stream = iter(encoded)
        while window := list(islice(stream, self.window)):
            yield from by_length(window, self.texts_at)


def by_length(
    texts: Iterable[Encoded], texts_at: Callable[[int], int], *, key: Callable[[Encoded], Any] = len
) -> Iterator[list[Encoded]]:
    """The same of texts that are all held; the longest first, so that running out of memory shows early."""
    ordered = sorted(texts, key=key, reverse=True)
    start = 0
    while start < len(ordered):
        size = max(1, texts_at(len(ordered[start])))
        yield ordered[start : start + size]
        start += size


def collate(
    batch: list[EncodedInput],
    *,
    pad: int,
    has_segments: bool,
    one_segment: bool,
    device: torch.device | None = None,
) -> TextBatch:
    """Pad a batch on the right, and put it on a device.

    `one_segment` gives both texts segment 0, as the code of Clark et al. does.
    """
    source = _tokens([text.source for text in batch], pad=pad)
    inputs = {"input_ids": source.ids, "attention_mask": source.is_token.long()}
    if has_segments:
        inputs["token_type_ids"] = torch.zeros_like(source.ids) if one_segment else _token_types(source)
    targets = [text.target for text in batch if text.target is not None]
    target = _tokens(targets, pad=pad) if targets else None
    if target is not None:
        inputs["decoder_input_ids"] = target.ids
        inputs["decoder_attention_mask"] = target.is_token.long()
    made = TextBatch(inputs, source, target)
    return made if device is None else made.to(device)


def _tokens(texts: list[EncodedText], *, pad: int) -> TokenBatch:
    return TokenBatch(
        ids=padded([text.ids for text in texts], value=pad),
        is_token=padded([[1] * len(text) for text in texts], value=0).bool(),
        role=padded([text.role for text in texts], value=OTHER),
        segment=padded([text.segment for text in texts], value=-1),
        word=padded([text.word for text in texts], value=-1),
        word_type=padded([text.word_type for text in texts], value=-1),
        is_cut=torch.tensor([text.cut for text in texts]),
    )


def _token_types(tokens: TokenBatch) -> Tensor:
    """(text, token) 0 up to the second text's first token, 1 from there on.

    Computed here because a tokenizer may return none or all zeros, and pairs would silently run as one segment.
    """
    return (tokens.segment == 1).cummax(-1).values.long() * tokens.is_token
