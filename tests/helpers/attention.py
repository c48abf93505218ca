"""Made texts with random attention, and batches of them whose padding holds real weights, as models leave it there."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headscope.attention import Carried
from headscope.types import CLS, COMMA, OTHER, PERIOD, ROLES, SEP, HeadGrid, LayerAttention, TokenBatch

DIM = 3
"""How many numbers a value vector of the random heads has."""
WORD_ROLES = (OTHER, OTHER, OTHER, OTHER, PERIOD, COMMA)


def encoder(layers: int, heads: int) -> HeadGrid:
    """A stack whose tokens see each other."""
    return HeadGrid("encoder", layers, heads, causal=False)


def decoder(layers: int, heads: int) -> HeadGrid:
    """A stack whose tokens see those before them, and themselves."""
    return HeadGrid("decoder", layers, heads, causal=True)


@dataclass(frozen=True)
class Text:
    """One text without padding: its tokens, every layer's attention maps, and value vectors where a test needs them."""

    ids: list[int]
    role: list[int]
    segment: list[int]
    word: list[int]
    word_type: list[int]
    maps: Tensor  # (layer, head, query, key)
    vectors: Tensor | None = None  # (layer, head, key, dim) value vectors after the output projection
    residual: Tensor | None = None  # (layer, query, hidden) the residual stream that heads add to
    governor: list[int] | None = None  # of each token, the word of its syntactic head, -1 for none

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def token_class(self) -> list[str]:
        """Of each token: cls, sep, period, comma or other."""
        return [ROLES[role] for role in self.role]


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
    by_tokens = np.random.default_rng(ids)
    vectors = by_tokens.normal(size=(grid.layers, grid.heads, length, DIM))
    residual = by_tokens.normal(size=(grid.layers, length, 2 * DIM))
    return Text(
        ids, role, segment, word, word_type, scores.softmax(-1).float(),
        torch.from_numpy(vectors), torch.from_numpy(residual),
    )  # fmt: skip


def made_text(tokens: list[str]) -> Text:
    """A text of these tokens: words but for [CLS] and [SEP]; after the first [SEP] comes the second segment."""
    classes = {"[CLS]": CLS, "[SEP]": SEP, ".": PERIOD, ",": COMMA}
    role = [classes.get(token, OTHER) for token in tokens]
    is_word = [token not in {"[CLS]", "[SEP]"} for token in tokens]
    ends = tokens.index("[SEP]") if "[SEP]" in tokens else len(tokens)
    vocabulary = list(dict.fromkeys(tokens))
    numbers = iter(range(len(tokens)))
    return Text(
        ids=[vocabulary.index(token) for token in tokens],
        role=role,
        segment=[int(place > ends) if is_word[place] else -1 for place in range(len(tokens))],
        word=[next(numbers) if is_word[place] else -1 for place in range(len(tokens))],
        word_type=[
            vocabulary.index(token) if kind == OTHER else -1 for token, kind in zip(tokens, role, strict=True)
        ],
        maps=torch.zeros(1, 1, len(tokens), len(tokens)),
    )


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
        governor=column("governor", -1) if all(text.governor is not None for text in texts) else None,
    )


def batches(
    grid: HeadGrid,
    texts: list[Text],
    *,
    extra: int = 0,
    dtype: torch.dtype = torch.float32,
    rubbish: float = 0.37,
) -> list[LayerAttention]:
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
        layers.append(LayerAttention.observed(layer, attention, tokens, tokens, carried))
    return layers


def _carried(grid: HeadGrid, layer: int, texts: list[Text], width: int, dtype: torch.dtype) -> Carried | None:
    """Each text's value vectors as they are before the output projection; padding holds nan."""
    if any(text.vectors is None for text in texts):
        return None
    (dim,) = {text.vectors.shape[-1] for text in texts if text.vectors is not None}
    (hidden,) = {text.residual.shape[-1] for text in texts if text.residual is not None} or {1}
    projection = _projection(grid, layer, dim)
    value = torch.full((len(texts), grid.heads, width, dim), torch.nan, dtype=dtype)
    output = torch.full((len(texts), width, grid.heads, dim), torch.nan, dtype=dtype)
    stream = torch.full((len(texts), width, hidden), torch.nan, dtype=dtype)
    for number, text in enumerate(texts):
        assert text.vectors is not None
        values = text.vectors[layer].double() @ projection.inverse()  # (head, token, dim)
        value[number, :, : len(text)] = values
        output[number, : len(text)] = (text.maps[layer].double() @ values).transpose(0, 1)
        if text.residual is not None:
            stream[number, : len(text)] = text.residual[layer]
    is_known = all(text.residual is not None for text in texts)
    return Carried(value, output, projection.to(dtype), stream if is_known else None)


def _projection(grid: HeadGrid, layer: int, dim: int) -> Tensor:
    """(head, dim, dim) a made-up output projection, which makes some vectors twice as long and others half as long."""
    rng = np.random.default_rng(layer)
    first, second = (np.linalg.qr(rng.normal(size=(grid.heads, dim, dim)))[0] for _ in range(2))
    return torch.from_numpy(first * np.linspace(0.5, 2, dim) @ second)


def random_texts(
    grid: HeadGrid, lengths: list[int], *, seed: int = 0, specials: bool = True, pair: bool = True
) -> list[Text]:
    rng = np.random.default_rng(seed)
    return [random_text(grid, length, rng, specials=specials, pair=pair) for length in lengths]
