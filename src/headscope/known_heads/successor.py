"""Successor heads (Gould et al. 2023): a head that looks at Monday and raises Tuesday, by its weights.

What a head would write when it looks at an item of an ordered list is its embedding through the value and output
matrices and the unembedding. The head steps when of all items of the list it raises the next one most. Words without
an order are the control.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from headscope.data import beside
from headscope.run.controlled import ControlledMeans
from headscope.types import HeadGrid
from headscope.writing.readout import Readout, StraightPaths
from headscope.writing.weights import HeadMatrices, head_matrices

SUCCESSOR = "successor"
FEWEST_ITEMS = 4
"""A list of fewer items that are one token each says nothing."""
FEWEST_STEPS = 10

_WORDS = beside(__file__)
ORDERED: Mapping[str, str] = _WORDS["ordered"]
UNORDERED: str = _WORDS["unordered"]


def steps(tokenizer: object) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
    """For every ordered list that a tokenizer knows: its tokens, and the steps (from, to) by their places in it."""
    for words in ORDERED.values():
        items = words.split()
        tokens = {word: token for word in items if (token := _one_token(tokenizer, word)) is not None}
        places = {word: place for place, word in enumerate(tokens)}
        if len(places) >= FEWEST_ITEMS:
            known = [
                (places[word], places[after])
                for word, after in pairwise(items)
                if word in places and after in places
            ]
            yield list(tokens.values()), known


def _one_token(tokenizer: object, word: str) -> int | None:
    """The token that a word inside a text is; None where it is several."""
    for text in (f" {word}", word):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]  # type: ignore[operator]  # transformers has no type for it
        if len(ids) == 1 and tokenizer.decode(ids).strip() == word:  # type: ignore[attr-defined]  # the same
            return int(ids[0])
    return None


@torch.inference_mode()
def successors(paths: StraightPaths, grid: HeadGrid) -> ControlledMeans | None:
    """How often every head raises the next item most, a case an item; None where that cannot be asked."""
    tokenizer, readout, embedding = paths.capture.model.tokenizer, paths.readout, paths.embedding
    matrices, lists = head_matrices(paths), list(steps(tokenizer))
    words = (_one_token(tokenizer, word) for word in UNORDERED.split())
    plain = [token for token in words if token is not None]
    known_steps = sum(len(known) for _, known in lists)
    if len(matrices) < grid.layers or embedding is None:
        return None
    if known_steps < FEWEST_STEPS or len(plain) < FEWEST_ITEMS:
        return None
    if readout.is_centred:  # so is what the heads read
        embedding = embedding - embedding.mean(-1, keepdim=True)
    sums = ControlledMeans.zeros(grid, [SUCCESSOR])
    for place, layer in matrices.items():
        for tokens, known in lists:
            most = raised_most(layer, embedding, readout, tokens)  # (head, item)
            value = torch.stack([most[:, source] == target for source, target in known])  # (step, head)
            others = [plain[number % len(plain)] for number in range(len(tokens))]
            control = _at_random(raised_most(layer, embedding, readout, others), len(known))
            sums.add(SUCCESSOR, place.layer, value.float(), control)
    return sums


def raised_most(matrices: HeadMatrices, embedding: Tensor, readout: Readout, tokens: Sequence[int]) -> Tensor:
    """(head, item) the place of the item that a head raises most when it looks at an item, itself included."""
    read = embedding[list(tokens)] @ matrices.value  # (head, item, dim)
    effect: Tensor = read @ (matrices.output @ readout.directions[list(tokens)].T)  # (head, item, item)
    return effect.argmax(-1)


def _at_random(most: Tensor, cases: int) -> Tensor:
    """(case, head) how often the next word of a list in any order would be raised most, on average over all orders."""
    items = most.shape[1]
    moves = (most != torch.arange(items, device=most.device)).float() / (items - 1)  # (head, item)
    return moves.T.repeat(cases // items + 1, 1)[:cases]
