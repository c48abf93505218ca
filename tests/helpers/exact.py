"""Attention in float64, to hold faster ways against; needs torch alone."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Given(Protocol):
    """What a layer's attention function is given."""

    @property
    def query(self) -> Tensor:
        """(text, head, query, neuron)."""

    @property
    def key(self) -> Tensor:
        """(text, group, key, neuron)."""

    @property
    def mask(self) -> Tensor | None:
        """(text or 1, head or 1, query or 1, key) added to the scores."""

    @property
    def position_bias(self) -> Tensor | None:
        """Likewise."""

    @property
    def scaling(self) -> float | None:
        """Of the products; None for one over the root of the neurons."""

    @property
    def soft_cap(self) -> float | None:
        """What scores stay below."""

    @property
    def sinks(self) -> Tensor | None:
        """(head,) a score that no key has."""


@dataclass(frozen=True)
class MadeCall:
    """An attention call that a test has made."""

    query: Tensor
    key: Tensor
    value: Tensor  # (text, group, key, dim)
    root: Tensor  # (head, dim, rank) of the output projection
    stream: Tensor  # (text, query, hidden) what heads add to
    mask: Tensor | None = None
    position_bias: Tensor | None = None
    scaling: float | None = None
    soft_cap: float | None = None
    sinks: Tensor | None = None


def exact_weights(call: Given) -> Tensor:
    """(text, head, query, key) in float64."""
    query, key = call.query.double(), call.key.double()
    key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if call.scaling is None else call.scaling)
    if call.soft_cap:
        scores = call.soft_cap * torch.tanh(scores / call.soft_cap)
    for added in (call.position_bias, call.mask):
        scores = scores if added is None else scores + added[..., : key.shape[2]].double()
    if call.sinks is not None:
        sink = call.sinks.double()[None, :, None, None].expand(*scores.shape[:3], 1)
        return torch.cat([scores, sink], -1).softmax(-1)[..., :-1]
    return scores.softmax(-1)
