"""What is kept of gradients: sums over texts, by layer, head and the role of the key."""

from collections.abc import Sequence
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


@dataclass
class ImportanceSums(Sums):
    """One stack's heads, summed over texts; merging is exact and in any order."""

    grid: HeadGrid
    gradient: TextMean  # (layer, head, role)
    gradient_layer: TextMean  # (layer, role)
    attribution: TextMean  # (layer, head, role)
    importance: TextMean  # (layer, head)

    @classmethod
    def zeros(cls, grid: HeadGrid) -> Self:
        """Nothing seen yet."""
        layers, heads, roles = grid.layers, grid.heads, len(KEY_ROLES)
        return cls(
            grid,
            TextMean.zeros(layers, heads, roles),
            TextMean.zeros(layers, roles),
            TextMean.zeros(layers, heads, roles),
            TextMean.zeros(layers, heads),
        )

    def update(self, layer: LayerGradients) -> None:
        """Count one layer of a batch of texts."""
        number, found = layer.place.layer, text_numbers(layer)
        self.gradient.add(found.gradient, applies=found.applies, layer=number)
        self.gradient_layer.add(found.layer_gradient, applies=found.applies.any(1), layer=number)
        self.attribution.add(found.attribution, layer=number)
        self.importance.add(found.importance, layer=number)

    def result(self, units: str) -> dict[str, LabelledArray]:
        """The means with their standard errors over texts; `units` are those of the loss."""
        coords: dict[str, Sequence[str] | Sequence[int]] = {
            "layer": range(self.grid.layers),
            "head": range(self.grid.heads),
            "role": KEY_ROLES,
        }
        return {
            **self.gradient.labelled(
                "gradient",
                dims=("layer", "head", "role"),
                coords=coords,
                description="mean size of the loss's gradient with respect to attention weights, by role of the key",
                units=units,
            ),
            **self.gradient_layer.labelled(
                "gradient_layer",
                dims=("layer", "role"),
                coords=coords,
                description="gradient, mean over the heads of a layer",
                units=units,
            ),
            **self.attribution.labelled(
                "attribution",
                dims=("layer", "head", "role"),
                coords=coords,
                description="sum over a text of attention weights times the loss's gradient, by role of the key",
                units=units,
            ),
            **self.importance.labelled(
                "head_importance",
                dims=("layer", "head"),
                coords=coords,
                description="size of a text's attribution summed over all keys: how fast the loss changes as the "
                "head's output is turned down",
                units=units,
            ),
        }


def _role_table(tokens: TokenBatch) -> Tensor:
    """(text, token, role) 1 where the token is of the role."""
    roles = [tokens.role == role for role in range(len(ROLES))]
    return torch.stack([*roles, roles[PERIOD] | roles[COMMA]], -1) & tokens.is_token[..., None]
