"""The sentences on which every head is most like itself.

What a head does on a sentence is a profile: its attention to each role and at each offset. Seen from the mean profile
of all heads of its stack on that sentence it is the head's own, whatever the sentence's length and words. A head is
typical where its own profile points the same way as the mean of its own profiles over all sentences (cosine).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.accumulator import Sums
from headscope.atlas import Typical
from headscope.measures import OffsetAttention, RoleAttention
from headscope.run.one_pass import run_pass, whole
from headscope.run.options import BatchSize
from headscope.run.shown_words import ShownWords, source_words, target_words
from headscope.run.watch import Watch
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.text.items import TextPair
from headscope.types import AttentionBatch, HeadGrid, HeadId, StackName, padded

SHOWN = 3
"""How many sentences are kept for each head."""

Array = np.ndarray[Any, Any]


def typical_sentences(
    watch: Watch,
    encoder: TextEncoder,
    texts: Sequence[TextPair],
    *,
    batch_size: BatchSize = "auto",
    title: str | None = None,
) -> dict[str, list[Typical]]:
    """For every head of every stack the three `texts` where it is most typical, the most typical first.

    Each text goes through the model on its own; a bar of that `title` shows how many have.
    """
    encoded = [(text, encoder.encode(text)) for text in texts]
    readable = [pair for pair in encoded if len(pair[1].source)]  # of some texts a tokenizer makes nothing
    asked = [_Asked.of(number, encoder, *pair) for number, pair in enumerate(readable)]
    if not asked:
        return {}
    state = _Seen({grid.stack: _Stack(grid, asked) for grid in watch.capture.stacks.grids}, [])

    def count(part: _Seen, batch: list[_Asked]) -> None:
        words = {stack: own.members(batch, watch.model.device) for stack, own in part.stacks.items()}
        places = [text.number for text in batch]

        def see(stack: StackName, attention: AttentionBatch) -> None:
            layer = _Layer.of(part.stacks[stack].grid, attention, *words[stack])
            part.layers.append((stack, places, layer))

        watch.run(watch.batch([text.encoded for text in batch]), see)

    batches = watch.batches(batch_size, encoder.max_length)
    run_pass(whole(asked), state, count, batches=batches, title=title, expected=lambda done: len(asked))
    return state.result()


@dataclass(frozen=True)
class _Asked:
    """A text that the heads are watched on."""

    number: int
    encoded: EncodedInput
    source: ShownWords
    target: ShownWords

    @classmethod
    def of(cls, number: int, encoder: TextEncoder, text: TextPair, encoded: EncodedInput) -> "_Asked":
        source = source_words(encoder, encoded.source, text)
        target = source if encoded.target is None else target_words(encoder, encoded.target, text)
        return cls(number, encoded, source, target)

    def __len__(self) -> int:
        return len(self.encoded)


@dataclass(frozen=True)
class _Layer:
    """What one layer's heads did on a batch."""

    layer: int
    profile: Array  # (text, head, feature)
    looks_at: Array  # (text, head, word) the word that a word looks at most
    weights: Array  # (text, head, word) the attention that goes there

    @classmethod
    def of(cls, grid: HeadGrid, attention: AttentionBatch, asking: Tensor, looked_at: Tensor) -> "_Layer":
        seen = attention.attention  # (text, head, query, key)
        between = asking.to(seen).transpose(-1, -2)[:, None] @ seen @ looked_at.to(seen)[:, None]
        weights, places = between.max(-1)  # of (text, head, word, word)
        return cls(
            attention.layer, profile_of(grid, attention), places.cpu().numpy(), weights.float().cpu().numpy()
        )


def profile_of(grid: HeadGrid, attention: AttentionBatch) -> Array:
    """(text, head, feature) each text's attention to every role and, within one text, at every offset.

    An offset that a text is too short for is 0.
    """
    roles, _ = RoleAttention.empty(grid).per_text(attention)
    found = [roles[:, :, 0]]  # from all queries
    if OffsetAttention.fits(grid):
        offsets, applies = OffsetAttention.empty(grid).per_text(attention)
        assert applies is not None
        found.append(torch.where(applies, offsets, 0.0))
    return torch.cat(found, -1).float().cpu().numpy()


@dataclass
class _Seen(Sums):
    """What the heads of all stacks did, layer by layer and batch by batch."""

    stacks: Mapping[StackName, "_Stack"]
    layers: list[tuple[StackName, list[int], _Layer]]  # with the numbers of the texts of the batch

    def result(self) -> dict[str, list[Typical]]:
        """Of every stack, the texts where each head is most typical."""
        for stack, places, layer in self.layers:
            self.stacks[stack].keep(places, layer)
        return {stack: list(own.typical()) for stack, own in self.stacks.items()}


class _Stack:
    """What the heads of one stack did on every text."""

    def __init__(self, grid: HeadGrid, asked: Sequence[_Asked]) -> None:
        self.grid = grid
        self.words = [_sides(grid, one) for one in asked]
        heads = (len(asked), grid.layers, grid.heads)
        longest = max((len(asking.words) for asking, _ in self.words), default=0)
        self.profile: Array | None = None  # (text, layer, head, feature)
        self.looks_at: Array = np.zeros((*heads, longest), dtype=np.uint16)  # (text, layer, head, word)
        self.weights: Array = np.zeros((*heads, longest), dtype=np.float32)

    def members(self, batch: Sequence[_Asked], device: torch.device) -> tuple[Tensor, Tensor]:
        """(text, token, word) what a token counts in the mean from its word, and in the sum to it."""
        asking, looked_at = (
            _members([self.words[one.number][side] for one in batch]).to(device) for side in (0, 1)
        )
        return asking / asking.sum(1, keepdim=True).clamp_min(1), looked_at

    def keep(self, at: list[int], seen: _Layer) -> None:
        """Put one layer of a batch in its place."""
        words = seen.weights.shape[-1]
        if self.profile is None:
            shape = (len(self.words), self.grid.layers, self.grid.heads, seen.profile.shape[-1])
            self.profile = np.zeros(shape, dtype=np.float32)
        self.profile[at, seen.layer] = seen.profile
        self.looks_at[at, seen.layer, :, :words] = seen.looks_at
        self.weights[at, seen.layer, :, :words] = seen.weights

    def typical(self) -> Iterator[Typical]:
        """Head by head, the texts where it is most typical."""
        assert self.profile is not None
        found = likeness(self.profile)  # (text, layer, head)
        order = foremost(found)[:SHOWN]  # (rank, layer, head)
        for layer, head in np.ndindex(self.grid.layers, self.grid.heads):
            for text in order[:, layer, head]:
                asking, looked_at = self.words[text]
                at = (text, layer, head, slice(len(asking.words)))
                yield Typical(
                    head=HeadId(layer, head),
                    words=asking.words,
                    keys=looked_at.words if self.grid.cross else None,
                    looks_at=tuple(self.looks_at[at].tolist()),
                    weights=tuple(self.weights[at].tolist()),
                    likeness=float(found[text, layer, head]),
                )


def likeness(profile: Array) -> Array:
    """(text, layer, head) cosine of each head's own profile with the mean of them, of `profile` (text, layer, head,
    feature); 0 where a head does nothing of its own."""
    common = profile.mean((1, 2), dtype=np.float64)  # (text, feature)
    found = np.zeros(profile.shape[:3])
    for layer in range(profile.shape[1]):  # one at a time: all in float64 would be large
        own = profile[:, layer] - common[:, None]  # (text, head, feature)
        mean = own.mean(0)  # (head, feature)
        sizes = np.linalg.norm(own, axis=-1) * np.linalg.norm(mean, axis=-1)
        np.divide((own * mean).sum(-1), sizes, out=found[:, layer], where=sizes > 0)
    return found


def foremost(found: Array) -> Array:
    """(rank, layer, head) which text comes first, second …, by likeness (text, layer, head).

    To four decimals, so that rounding in the model does not decide; of equals the first.
    """
    return np.argsort(-found.round(4), axis=0, kind="stable")


def _sides(grid: HeadGrid, one: _Asked) -> tuple[ShownWords, ShownWords]:
    """The words that ask and those that are looked at."""
    asking = one.source if grid.stack == "encoder" else one.target
    return asking, one.source if grid.cross else asking


def _members(texts: Sequence[ShownWords]) -> Tensor:
    """(text, token, word) 1 where a token is a piece of a word."""
    words = padded([text.word for text in texts], value=-1)  # (text, token)
    return (words[..., None] == torch.arange(max(len(text.words) for text in texts))).float()
