"""What the parser probe is measured against: fixed offsets, and a network that has learned nothing."""

import copy
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from headscope.models import Model, wrap
from headscope.probes.parser.data import Batch

FARTHEST = 10
OFFSETS = tuple(offset for offset in range(-FARTHEST, FARTHEST + 1) if offset)
"""The head is always so many words before or after the word."""

RIGHT_BRANCHING = 1
"""The head is always the next word; the last word, which has none, is never right."""


def offset_is_right(batch: Batch, offsets: Iterable[int] = OFFSETS) -> Tensor:
    """(case, offset) whether the word at each offset is the case's head; never so where the head is ROOT."""
    text, word = batch.cases()
    distance = (batch.head[text, word] - word)[:, None]
    is_root = (batch.head[text, word] < 0)[:, None]
    return (distance == torch.tensor(list(offsets))) & ~is_root


def best_offset(batches: Iterable[Batch]) -> int:
    """The offset that finds the head of most cases, the nearest one of equals."""
    right = torch.zeros(len(OFFSETS), dtype=torch.long)
    for batch in batches:
        right += offset_is_right(batch).sum(0)
    return max(OFFSETS, key=lambda offset: (int(right[OFFSETS.index(offset)]), -abs(offset), offset))


def untrained(model: Model, *, seed: int) -> Model:
    """A network of the same shape with the random weights its training would start from, and the same tokenizer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: Any = type(model.core)(copy.deepcopy(model.core.config))
    network.to(device=model.device, dtype=model.dtype)
    return wrap(network.eval(), model.tokenizer, name=f"{model.name} with random weights")
