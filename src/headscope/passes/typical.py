"""The sentences on which every head is most like itself.

What a head does on a sentence is a profile: its attention to each role and at each offset. Seen from the mean profile
of all heads of its stack on that sentence it is the head's own, whatever the sentence's length and words. A head is
typical where its own profile points the same way as the mean of its own profiles over all sentences (cosine).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from headscope.accumulator import Sums
from headscope.atlas import Typical
from headscope.measures import OffsetAttention
from headscope.measures.offset_attention import neighbours
from headscope.passes.options import BatchSize
from headscope.passes.run_pass import run_pass
from headscope.reductions import QueryGroup, class_mass, near_diagonals
from headscope.text.encode import EncodedInput, EncodedText, TextEncoder
from headscope.text.items import TextPair
from headscope.trace.watch import Watch
from headscope.types import ROLES, HeadGrid, HeadId, LayerAttention, StackName, padded

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
    grids = {grid.stack: grid for grid in watch.capture.stacks.grids}

    def count(part: _Seen, batch: list[_Asked]) -> None:
        places = [text.number for text in batch]
        members = {stack: _members([text.sides(grid) for text in batch]) for stack, grid in grids.items()}

        def see(stack: StackName, attention: LayerAttention) -> None:
            asking, looked_at = (side.to(attention.attention) for side in members[stack])
            ways = [attention.attention, *([attention.moved.attention] if attention.carried else [])]
            between = torch.stack(
                [asking.transpose(-1, -2)[:, None] @ way @ looked_at[:, None] for way in ways]
            )
            weights, words = between.max(-1)  # of (way, text, head, word, word)
            seen = (profile_of(grids[stack], attention), words.cpu().numpy(), weights.float().cpu().numpy())
            part.layers.append(_Layer(stack, attention.layer, places, *seen))

        watch.run(watch.batch([text.encoded for text in batch]), see)

    batches = watch.batches(batch_size, encoder.max_length)
    seen = run_pass(asked, _Seen(), count, batches=batches, title=title, expected=lambda done: len(asked))
    return {
        grid.stack: list(_typical(grid, asked, [layer for layer in seen.layers if layer.stack == grid.stack]))
        for grid in grids.values()
    }


@dataclass(frozen=True)
class ShownWords:
    """The words of a text as people read them, special tokens as words of their own."""

    words: tuple[str, ...]
    word: tuple[int, ...]
    """Which of them each token is a piece of."""


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

    def sides(self, grid: HeadGrid) -> tuple[ShownWords, ShownWords]:
        """The words that ask and those that are looked at."""
        asking = self.source if grid.stack == "encoder" else self.target
        return asking, self.source if grid.cross else asking


class _Layer(NamedTuple):
    """What one layer's heads did on a batch."""

    stack: StackName
    layer: int
    texts: list[int]
    profile: Array  # (text, head, feature)
    looks_at: (
        Array  # (way, text, head, word) the word that a word looks at most, and where known takes most from
    )
    weights: Array  # (way, text, head, word) the attention that goes there, and what is moved from there


@dataclass
class _Seen(Sums):
    """What the heads of all stacks did, layer by layer and batch by batch."""

    layers: list[_Layer] = field(default_factory=list)


def _typical(grid: HeadGrid, asked: Sequence[_Asked], layers: Sequence[_Layer]) -> Iterator[Typical]:
    """Head by head of a stack, the texts where it is most typical."""
    sides = [text.sides(grid) for text in asked]
    heads = (len(asked), grid.layers, grid.heads)
    longest = max(len(asking.words) for asking, _ in sides)
    profile = np.zeros(
        (*heads, layers[0].profile.shape[-1]), dtype=np.float32
    )  # (text, layer, head, feature)
    ways = len(layers[0].weights)
    looks_at = np.zeros((ways, *heads, longest), dtype=np.uint16)  # (way, text, layer, head, word)
    weights = np.zeros((ways, *heads, longest), dtype=np.float32)
    for seen in layers:
        profile[seen.texts, seen.layer] = seen.profile
        looks_at[:, seen.texts, seen.layer, :, : seen.looks_at.shape[-1]] = seen.looks_at
        weights[:, seen.texts, seen.layer, :, : seen.weights.shape[-1]] = seen.weights
    alike = likeness(profile)  # (text, layer, head)
    order = foremost(alike)[:SHOWN]  # (rank, layer, head)
    for layer, head in np.ndindex(grid.layers, grid.heads):
        for text in order[:, layer, head]:
            asking, looked_at = sides[text]
            at = (slice(None), text, layer, head, slice(len(asking.words)))
            places = [tuple(each) for each in looks_at[at].tolist()]
            shares = [tuple(each) for each in weights[at].tolist()]
            yield Typical(
                head=HeadId(layer, head),
                words=asking.words,
                keys=looked_at.words if grid.cross else None,
                looks_at=places[0],
                weights=shares[0],
                likeness=float(alike[text, layer, head]),
                takes_from=places[1] if ways > 1 else None,
                moved=shares[1] if ways > 1 else None,
            )


def profile_of(grid: HeadGrid, attention: LayerAttention) -> Array:
    """(text, head, feature) each text's attention to every role and, within one text, at every offset.

    An offset that a text is too short for is 0.
    """
    features = [attention.reduce(class_mass)[:, :, QueryGroup.ALL, : len(ROLES)]]
    if OffsetAttention.fits(grid):
        counts, applies = attention.queries.derive(neighbours)
        offsets = attention.reduce(near_diagonals) / counts[:, None]
        features.append(torch.where(applies[:, None], offsets, 0.0))
    return torch.cat(features, -1).float().cpu().numpy()


def likeness(profile: Array) -> Array:
    """(text, layer, head) cosine of each head's own profile with the mean of them, of `profile` (text, layer, head,
    feature); 0 where a head does nothing of its own."""
    common = profile.mean((1, 2), dtype=np.float64)  # (text, feature)
    cosines = np.zeros(profile.shape[:3])
    for layer in range(profile.shape[1]):  # one at a time: all in float64 would be large
        own = profile[:, layer] - common[:, None]  # (text, head, feature)
        mean = own.mean(0)  # (head, feature)
        sizes = np.linalg.norm(own, axis=-1) * np.linalg.norm(mean, axis=-1)
        np.divide((own * mean).sum(-1), sizes, out=cosines[:, layer], where=sizes > 0)
    return cosines


def foremost(alike: Array) -> Array:
    """(rank, layer, head) which text comes first, second …, by likeness (text, layer, head).

    To four decimals, so that rounding in the model does not decide; of equals the first.
    """
    return np.argsort(-alike.round(4), axis=0, kind="stable")


def _members(texts: Sequence[tuple[ShownWords, ShownWords]]) -> tuple[Tensor, Tensor]:
    """(text, token, word) what a token counts in the mean from its word, and in the sum to it."""
    asking, looked_at = (_pieces([sides[side] for sides in texts]) for side in (0, 1))
    return asking / asking.sum(1, keepdim=True).clamp_min(1), looked_at


def _pieces(texts: Sequence[ShownWords]) -> Tensor:
    """(text, token, word) 1 where a token is a piece of a word."""
    words = padded([text.word for text in texts], value=-1)  # (text, token)
    return (words[..., None] == torch.arange(max(len(text.words) for text in texts))).float()


def source_words(encoder: TextEncoder, encoded: EncodedText, text: TextPair) -> ShownWords:
    """What a model is given to read, in words."""
    if text.second is None or encoder.layout == "source-target":
        return _shown(encoder, encoded, [text.first])
    texts = [f"{text.first} {text.second}"] if encoder.layout == "joined" else [text.first, text.second]
    return _shown(encoder, encoded, texts)


def target_words(encoder: TextEncoder, encoded: EncodedText, text: TextPair) -> ShownWords:
    """What a model that reads one text and writes another is given as what it writes, in words."""
    return _shown(encoder, encoded, [text.first if text.second is None else text.second])


def _shown(encoder: TextEncoder, encoded: EncodedText, texts: Sequence[str]) -> ShownWords:
    """`texts` are what was encoded: the first and the second, or both joined to one."""
    names: list[str] = list(encoder.tokenizer.convert_ids_to_tokens(encoded.ids))
    spans = [iter(encoder.pieces(text, marked=False)) for text in texts]
    words: list[str] = []
    word: list[int] = []
    start, number, owner = 0, -1, -1  # of the word that is being put together
    for place, (name, segment) in enumerate(zip(names, encoded.segment, strict=True)):
        text = min(segment, len(texts) - 1)
        span = next(spans[text], None) if segment >= 0 else None
        goes_on = number >= 0 and (text, encoded.word[place]) == (owner, number)
        if not goes_on:
            words.append(name)
            number, owner = (encoded.word[place], text) if span is not None else (-1, -1)
            start = span[0] if span is not None else 0
        if span is not None:
            surface = texts[text][start : span[1]]
            words[-1] = surface.strip() or surface or name
        word.append(len(words) - 1)
    return ShownWords(tuple(words), tuple(word))
