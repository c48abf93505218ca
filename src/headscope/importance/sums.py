"""What is kept of gradients: sums over texts, by layer, head and the role of the key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from headscope.accumulator import Sums
from headscope.importance.gradients import LayerGradients
from headscope.measures.base import TextMean
from headscope.types import COMMA, PERIOD, ROLES, HeadGrid, LabelledArray, TokenBatch

KEY_ROLES = (*ROLES, "punctuation")
"""The roles of keys; punctuation is full stops and commas together."""


@dataclass(frozen=True)
class TextNumbers:
    """What one layer's gradients come to, text by text."""

    gradient: Tensor  # (text, head, role) mean of |dLoss/dA| over pairs of query and key
    applies: Tensor  # (text, head or 1, role) False where a text has no such pair
    attribution: Tensor  # (text, head, role) sum of A * dLoss/dA
    importance: Tensor  # (text, head) |sum of A * dLoss/dA over all keys|

    @property
    def layer_gradient(self) -> Tensor:
        """(text, role) mean over heads."""
        heads = self.applies.expand_as(self.gradient)
        return self.gradient.where(heads, 0).sum(1) / heads.sum(1).clamp_min(1)


def text_numbers(layer: LayerGradients) -> TextNumbers:
    """Sums over the map, in float32 at least; only pairs that count are looked at, whatever padding holds."""
    weights, gradient = (
        each.float() if each.dtype in (torch.float16, torch.bfloat16) else each
        for each in (layer.weights, layer.gradient)
    )
    gradient = gradient.masked_fill(~layer.counted, 0)  # (text, head, query, key)
    table = layer.keys.derive(_role_table).to(gradient.dtype)  # (text, key, role)
    magnitude = gradient.abs().sum(2) @ table  # (text, head, role)
    pairs = layer.counted.sum(2).to(table) @ table  # (text, head or 1, role)
    by_key = (weights.masked_fill(~layer.counted, 0) * gradient).sum(2)  # (text, head, key)
    return TextNumbers(
        gradient=magnitude / pairs.clamp_min(1),
        applies=pairs > 0,
        attribution=by_key @ table,
        importance=by_key.sum(-1).abs(),
    )


_BY_ROLE = ("layer", "head", "role")
_ARRAYS = {
    "gradient": (
        _BY_ROLE,
        "mean size of the loss's gradient with respect to attention weights, by role of the key",
    ),
    "gradient_layer": (("layer", "role"), "gradient, mean over the heads of a layer"),
    "attribution": (
        _BY_ROLE,
        "sum over a text of attention weights times the loss's gradient, by role of the key",
    ),
    "head_importance": (
        ("layer", "head"),
        "size of a text's attribution summed over all keys: how fast the loss changes as the head's output is turned "
        "down",
    ),
}
"""The dimensions of each array, and what it is."""


@dataclass
class ImportanceSums(Sums):
    """One stack's heads, summed over texts; merging is exact and in any order."""

    grid: HeadGrid
    means: Mapping[str, TextMean]

    @classmethod
    def zeros(cls, grid: HeadGrid) -> Self:
        """Nothing seen yet."""
        sizes = {"layer": grid.layers, "head": grid.heads, "role": len(KEY_ROLES)}
        return cls(
            grid, {name: TextMean.zeros(*(sizes[dim] for dim in dims)) for name, (dims, _) in _ARRAYS.items()}
        )

    def update(self, layer: LayerGradients) -> None:
        """Count one layer of a batch of texts."""
        numbers = text_numbers(layer)
        for name, values, applies in (
            ("gradient", numbers.gradient, numbers.applies),
            ("gradient_layer", numbers.layer_gradient, numbers.applies.any(1)),
            ("attribution", numbers.attribution, None),
            ("head_importance", numbers.importance, None),
        ):
            self.means[name].add(values, applies=applies, layer=layer.place.layer)

    def result(self, units: str) -> dict[str, LabelledArray]:
        """The means with their standard errors over texts; `units` are those of the loss."""
        coords: dict[str, Sequence[str] | Sequence[int]] = {
            "layer": range(self.grid.layers),
            "head": range(self.grid.heads),
            "role": KEY_ROLES,
        }
        arrays: dict[str, LabelledArray] = {}
        for name, (dims, description) in _ARRAYS.items():
            arrays |= self.means[name].labelled(
                name, dims=dims, coords=coords, description=description, units=units
            )
        return arrays


def _role_table(tokens: TokenBatch) -> Tensor:
    """(text, token, role) 1 where the token is of the role."""
    roles = [tokens.role == role for role in range(len(ROLES))]
    return torch.stack([*roles, roles[PERIOD] | roles[COMMA]], -1) & tokens.is_token[..., None]
