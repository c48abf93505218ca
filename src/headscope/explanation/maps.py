"""How alike two attention maps of a text are. Maps are (head, query, key), without padding."""

from collections.abc import Sequence

import torch
from torch import Tensor

from headscope.capture.scores import TextScores, softmax


def divergence(first: Tensor, second: Tensor) -> Tensor:
    """(head,) Jensen-Shannon divergence in nats, mean over queries."""
    joint: Tensor = torch.special.entr((first + second) / 2).sum(-1)
    own: Tensor = (torch.special.entr(first).sum(-1) + torch.special.entr(second).sum(-1)) / 2
    return (joint - own).clamp_min(0).mean(-1)


def cosine(first: Tensor, second: Tensor) -> Tensor:
    """(head,) cosine similarity of the whole maps."""
    sizes = first.square().sum((-2, -1)) * second.square().sum((-2, -1))
    return (first * second).sum((-2, -1)) / sizes.sqrt().clamp_min(torch.finfo(first.dtype).tiny)


def overlap(first: Tensor, second: Tensor) -> Tensor:
    """(head,) the attention that both maps give to the same keys, mean over queries."""
    return torch.minimum(first, second).sum(-1).mean(-1)


def even(visible: Tensor) -> Tensor:
    """(1, query, key) a head that looks evenly at all it can see."""
    return (visible / visible.sum(-1, keepdim=True).clamp_min(1)).double()[None]


def kept(text: TextScores, neurons: Tensor, counts: Sequence[int]) -> list[Tensor]:
    """(head, query, key) for each count: the map when only the first so many `neurons` (head, neuron) count.

    All else, a bias for position too, is its mean over the keys of each query, which a softmax does not see.
    """
    heads = torch.arange(len(neurons), device=neurons.device)[:, None]
    query = text.query.transpose(1, 2)[heads, neurons]  # (head, chosen neuron, query)
    key = text.key.transpose(1, 2)[heads, neurons]  # (head, chosen neuron, key)
    return [softmax(query[:, :n].transpose(1, 2) @ key[:, :n], text.visible) for n in counts]
