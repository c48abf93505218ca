"""Successor heads (Gould et al. 2023): a head that looks at Monday and raises Tuesday, by its weights.

What a head would write when it looks at an item of an ordered list is its embedding through the value and output
matrices and the unembedding. The head steps when of all items of the list it raises the next one most. Words without
an order are the control.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from headscope.capture import Capture
from headscope.models.stacks import Place
from headscope.run.controlled import ControlledMeans
from headscope.types import HeadGrid
from headscope.writing.readout import Readout
from headscope.writing.weights import HeadMatrices

SUCCESSOR = "successor"
FEWEST_ITEMS = 4
"""A list of fewer items that are one token each says nothing."""
FEWEST_STEPS = 10

ORDERED: Mapping[str, str] = {
    "weekdays": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Monday",
    "months": "January February March April May June July August September October November December January",
    "number words": "one two three four five six seven eight nine ten eleven twelve",
    "numbers": "1 2 3 4 5 6 7 8 9 10 11 12",
    "letters": "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z",
}
"""Items in their order; weekdays and months come round again."""
UNORDERED = (
    "house river stone bread horse garden paper table music winter bottle window doctor forest silver engine coffee "
    "shirt valley kitchen rabbit candle market copper pencil orange a b c d e f g h i j k l m n o p q r s t u v w x y z"
)
"""Words that no order suggests; of a tokenizer that knows none of them, small letters in an order they do not have."""


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


def successors(
    capture: Capture, matrices: Mapping[Place, HeadMatrices], readout: Readout, grid: HeadGrid
) -> ControlledMeans | None:
    """How often every head raises the next item most, a case an item; None where that cannot be asked."""
    table = capture.model.network.get_input_embeddings()
    lists = list(steps(capture.model.tokenizer))
    plain = [
        token
        for word in UNORDERED.split()
        if (token := _one_token(capture.model.tokenizer, word)) is not None
    ]
    if (
        len(matrices) < grid.layers
        or not isinstance(table, nn.Embedding)
        or table.weight.shape != readout.unembedding.shape
        or sum(len(known) for _, known in lists) < FEWEST_STEPS
        or len(plain) < FEWEST_ITEMS
    ):
        return None
    embedding = table.weight.detach().float()
    if readout.is_centred:  # so is what the heads read
        embedding = embedding - embedding.mean(-1, keepdim=True)
    sums = ControlledMeans.zeros(grid, [SUCCESSOR])
    for place, layer in matrices.items():
        for tokens, known in lists:
            most = raised_most(layer, embedding, readout, tokens)  # (head, item)
            value = torch.stack([most[:, source] == target for source, target in known])  # (step, head)
            words = [plain[number % len(plain)] for number in range(len(tokens))]
            control = _at_random(raised_most(layer, embedding, readout, words), len(known))
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
