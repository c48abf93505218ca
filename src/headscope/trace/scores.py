"""What a head's weights are made of: the one place that says how they follow from queries and keys."""

from dataclasses import dataclass

import torch
from torch import Tensor

# What rounding may do to a weight that is computed again from queries and keys; many architectures take their
# softmax in float32 whatever else is in float64.
_ROUNDING = {torch.float64: 1e-4, torch.float32: 1e-3}
_ROUNDING_IN_HALF = 3e-2


@dataclass(frozen=True)
class TextScores:
    """Some heads of one layer on one text, in float64 and without padding.

    The score of query i and key j is the sum over neurons m of q[i, m] k[j, m] times a scale, held by a soft cap
    where there is one, plus what the architecture adds for position.
    """

    query: Tensor  # (head, query, neuron) times the scale, after any rotation
    key: Tensor  # (head, key, neuron) after any rotation
    bias: Tensor | None  # (head, query, key) what is added for position, 0 where the query cannot look
    visible: Tensor  # (query, key) True where the query may see the key
    weights: Tensor  # (head, query, key) the model's own, after any edit
    soft_cap: float | None = None
    sink: Tensor | None = None  # (head,) a score that no key has, counted in by the softmax
    scale: float = 1.0
    """What `query` was multiplied with."""
    dtype: torch.dtype = torch.float64
    """What the model's weights were computed in."""

    @property
    def scores(self) -> Tensor:
        """(head, query, key) products and bias together."""
        scores = self.query @ self.key.transpose(-1, -2)
        if self.soft_cap is not None:
            scores = self.soft_cap * torch.tanh(scores / self.soft_cap)
        return scores if self.bias is None else scores + self.bias

    @property
    def apart(self) -> float:
        """The most by which a weight differs from the softmax of the scores; queries that see nothing do not count."""
        again = softmax(self.scores, self.visible, self.sink)
        off = (again - self.weights).abs()[:, self.visible.any(-1)]
        return float(off.amax()) if off.numel() else 0.0

    @property
    def agree(self) -> bool:
        """Whether the scores are all there is to the weights: not where they are edited or of an unknown kind."""
        return self.apart <= self.rounding

    @property
    def rounding(self) -> float:
        """What rounding may do to a weight in the precision of the model."""
        return _ROUNDING.get(self.dtype, _ROUNDING_IN_HALF)


def softmax(scores: Tensor, visible: Tensor, sink: Tensor | None = None) -> Tensor:
    """(head, query, key) the weights that `scores` give over the `visible` (query, key) keys and a `sink` (head,)."""
    scores = scores.masked_fill(~visible, -torch.inf)
    if sink is not None:
        scores = torch.cat([scores, sink[:, None, None].expand(-1, scores.shape[1], 1)], -1)
    return scores.softmax(-1)[..., : visible.shape[1]].nan_to_num(0.0)


def wide(tensor: Tensor) -> Tensor:
    """In float64, where the device has it."""
    return (tensor if tensor.device.type in ("cpu", "cuda") else tensor.cpu()).double()
