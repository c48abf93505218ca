"""Random attention batches, with padding that holds real weights, as models leave it there."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headscope.batches import Carried
from headscope.measures import Measure
from headscope.types import CLS, COMMA, OTHER, PERIOD, SEP, AttentionBatch, HeadGrid, TokenBatch

DIM = 3
"""How many numbers a value of the random heads has."""
WORD_ROLES = (OTHER, OTHER, OTHER, OTHER, PERIOD, COMMA)


@dataclass(frozen=True)
class Text:
    """One text without padding: its tokens, and every layer's maps (layer, head, query, key)."""

    ids: list[int]
    role: list[int]
    segment: list[int]
    word: list[int]
    word_type: list[int]
    maps: Tensor

    def __len__(self) -> int:
        return len(self.ids)


def random_text(
    grid: HeadGrid, length: int, rng: np.random.Generator, *, specials: bool = True, pair: bool = True
) -> Text:
    """Tokens with repeated words, words of several pieces, roles and two segments; sharp random attention."""
    middle = length // 2 if pair and length > 6 else length
    ids, role, segment, word, word_type = [], [], [], [], []
    number = -1
    for place in range(length):
        special = specials and (place in (0, length - 1) or place == middle)
        if special:
            ids.append(0 if place == 0 else 1)
            role.append(CLS if place == 0 else SEP)
            segment.append(-1)
            word.append(-1)
            word_type.append(-1)
            continue
        kind = WORD_ROLES[rng.integers(len(WORD_ROLES))]
        starts_word = (
            number < 0 or kind != OTHER or rng.random() < 0.7 or segment[-1] < 0 or role[-1] != OTHER
        )
        number += starts_word
        ids.append(int(rng.integers(2, 8)))
        role.append(kind if place or specials else CLS)
        segment.append(int(place > middle))
        word.append(number)
        word_type.append((int(rng.integers(4)) if kind == OTHER else -1) if starts_word else word_type[-1])
    scores = torch.from_numpy(rng.normal(size=(grid.layers, grid.heads, length, length)) * 3)
    if grid.causal:
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -torch.inf)
    return Text(ids, role, segment, word, word_type, scores.softmax(-1).float())


def token_batch(texts: list[Text], *, extra: int = 0) -> TokenBatch:
    """The tokens of several texts, padded to the longest and `extra` more."""
    width = max(map(len, texts)) + extra

    def column(name: str, fill: int) -> Tensor:
        rows = [getattr(text, name) + [fill] * (width - len(text)) for text in texts]
        return torch.tensor(rows)

    return TokenBatch(
        ids=column("ids", 5),
        is_token=torch.tensor([[place < len(text) for place in range(width)] for text in texts]),
        role=column("role", OTHER),
        segment=column("segment", -1),
        word=column("word", -1),
        word_type=column("word_type", -1),
    )


def batches(
    grid: HeadGrid,
    texts: list[Text],
    *,
    extra: int = 0,
    dtype: torch.dtype = torch.float32,
    rubbish: float = 0.37,
) -> list[AttentionBatch]:
    """One batch a layer. Padding keys get 0; padding queries get `rubbish`."""
    tokens = token_batch(texts, extra=extra)
    width = tokens.ids.shape[1]
    layers = []
    for layer in range(grid.layers):
        attention = torch.full((len(texts), grid.heads, width, width), rubbish, dtype=dtype)
        for number, text in enumerate(texts):
            attention[number, :, : len(text), : len(text)] = text.maps[layer].to(dtype)
            attention[number, :, : len(text), len(text) :] = 0
        carried = _carried(grid, layer, texts, width, dtype)
        layers.append(AttentionBatch.observed(layer, attention, tokens, tokens, carried))
    return layers


def _carried(grid: HeadGrid, layer: int, texts: list[Text], width: int, dtype: torch.dtype) -> Carried:
    """What each text's heads fetch and give, told by its own tokens; padding fetches and gives nan."""
    value = torch.full((len(texts), grid.heads, width, DIM), torch.nan, dtype=dtype)
    output = torch.full((len(texts), width, grid.heads, DIM), torch.nan, dtype=dtype)
    stream = torch.full((len(texts), width, 2 * DIM), torch.nan, dtype=dtype)
    for number, text in enumerate(texts):
        rng = np.random.default_rng([layer, *text.ids])
        own = torch.from_numpy(rng.normal(size=(grid.heads, len(text), DIM))).to(dtype)
        value[number, :, : len(text)] = own
        output[number, : len(text)] = (text.maps[layer].to(dtype) @ own).transpose(0, 1)
        stream[number, : len(text)] = torch.from_numpy(rng.normal(size=(len(text), 2 * DIM))).to(dtype)
    return Carried(value, output, root_of(grid, layer).to(dtype), stream)


def root_of(grid: HeadGrid, layer: int) -> Tensor:
    """(head, dim, dim) the same for all texts."""
    return torch.from_numpy(np.random.default_rng(layer).normal(size=(grid.heads, DIM, DIM)))


def measured(
    kind: type[Measure], grid: HeadGrid, groups: list[list[Text]], *, faithful: bool = False, extra: int = 0
) -> Measure:
    """The measure over all groups of texts, each group a batch."""
    state = kind.empty(grid, faithful=faithful)
    for group in groups:
        for batch in batches(grid, group, extra=extra):
            state.update(batch)
    return state


def random_texts(
    grid: HeadGrid, lengths: list[int], *, seed: int = 0, specials: bool = True, pair: bool = True
) -> list[Text]:
    rng = np.random.default_rng(seed)
    return [random_text(grid, length, rng, specials=specials, pair=pair) for length in lengths]
