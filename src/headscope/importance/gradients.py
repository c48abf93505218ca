"""The gradient of a task's loss with respect to every attention weight, each text's own, and what is kept of it.

The texts of a batch do not mix: what one text's weights do to the sum of all texts' losses is what they do to the
loss of that text. So one backward pass serves the whole batch, and no result depends on how texts are batched. Kept
are sums over texts, by layer, head and the role of the key.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headscope.accumulator import Sums
from headscope.errors import CaptureError
from headscope.measures.base import TextMean
from headscope.tasks import Task, TaskBatch
from headscope.tasks.asked import forward_asked
from headscope.text.batching import TextBatch
from headscope.trace import AttentionCall, Capture, Forward, following, retained
from headscope.trace.architecture import Place
from headscope.trace.observe import evaluating
from headscope.trace.watch import sides_of
from headscope.types import CLS, COMMA, OTHER, PERIOD, ROLES, Coords, HeadGrid, LabelledArray, TokenBatch


@dataclass(frozen=True)
class LayerGradients:
    """One layer's heads on a batch of texts: where they look, and what the loss says of it."""

    place: Place
    weights: Tensor  # (text, head, query, key)
    gradient: Tensor  # (text, head, query, key) of the text's loss with respect to each weight
    counted: Tensor  # (text, head or 1, query, key) True where a token sees a token
    keys: TokenBatch


def layer_gradients(
    task: Task, capture: Capture, batch: TaskBatch
) -> tuple[Tensor, Iterator[LayerGradients]]:
    """(text,) the loss of every text of a batch, and the gradients of all layers.

    One forward and one backward pass of the real network in eval mode, with its parameters left alone.
    """
    network, text = capture.model.network, batch.text
    visible: dict[Place, Tensor] = {}
    decoder_ids: Tensor | None = None  # (text, token)

    def look(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        nonlocal decoder_ids
        visible[place] = call.visible
        if place.stack == "decoder":
            decoder_ids = forward.inputs.get("input_ids")
        return call

    with (
        torch.inference_mode(False),
        torch.enable_grad(),
        evaluating(network),
        _frozen(network),
        retained(capture) as kept,
        following(capture, capture.stacks.places, look),
    ):
        loss = task.loss(forward_asked(capture.model, batch), batch)  # (text,)
        torch.autograd.backward(loss.sum())
    if text.target is None and capture.model.is_encoder_decoder:
        text = replace(text, target=_read_again(text.source, decoder_ids, capture))
    return loss.detach(), (_layer(place, kept.pop(place), visible[place], text) for place in list(kept))


@contextmanager
def _frozen(network: PreTrainedModel) -> Iterator[None]:
    """Inside, no gradients of parameters are computed, which saves time and leaves the user's alone."""
    learning = [parameter for parameter in network.parameters() if parameter.requires_grad]
    for parameter in learning:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in learning:
            parameter.requires_grad_(True)


def _layer(place: Place, weights: Tensor, visible: Tensor, text: TextBatch) -> LayerGradients:
    gradient = weights.grad
    if gradient is None:  # such as the decoder's last layers when a task reads the encoder alone
        gradient = torch.zeros_like(weights)
    queries, keys = sides_of(text, place.stack)
    real = queries.is_token[:, None, :, None] & keys.is_token[:, None, None, :]  # (text, 1, query, key)
    return LayerGradients(place, weights.detach(), gradient, visible & real, keys)


def _read_again(source: TokenBatch, ids: Tensor | None, capture: Capture) -> TokenBatch:
    """What an encoder-decoder that classifies gives its decoder: the source once more, after a start token."""
    real = source.is_token[:, 1:]
    shifted = source.ids[:, :-1][real]
    if ids is None or ids.shape != source.ids.shape or not torch.equal(ids[:, 1:][real], shifted):
        raise CaptureError(
            f"{capture.model.name} ({capture.model.architecture}) gives its decoder something else than the text, so "
            "the roles of its tokens are not known"
        )
    # As in texts that are encoded for a decoder: once a start token stands before it, [CLS] is ordinary.
    role = source.role.masked_fill(source.role == CLS, OTHER).roll(1, dims=1)
    role[:, 0] = CLS
    return replace(source, ids=ids, role=role, _derived={})


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
        coords: Coords = {**self.grid.coords, "role": KEY_ROLES}
        arrays: dict[str, LabelledArray] = {}
        for name, (dims, description) in _ARRAYS.items():
            own = {dim: coords[dim] for dim in dims}
            arrays |= self.means[name].labelled(name, own, description, units)
        return arrays


def _role_table(tokens: TokenBatch) -> Tensor:
    """(text, token, role) 1 where the token is of the role."""
    roles = [tokens.role == role for role in range(len(ROLES))]
    return torch.stack([*roles, roles[PERIOD] | roles[COMMA]], -1) & tokens.is_token[..., None]
