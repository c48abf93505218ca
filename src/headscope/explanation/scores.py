"""Queries and keys of the real model: what a head's scores are made of.

The score of query i and key j is the sum over neurons m of q[i, m] k[j, m] times a scale, after any rotation (RoPE),
plus what the architecture adds for position (T5). Whether that is all there is to a head's weights is checked at
every call: soft caps and sinks are refused, not ignored.
"""

from collections.abc import Callable, Collection
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from headscope.capture import Capture
from headscope.capture.observe import attention_function, evaluating, is_edited, own_attention
from headscope.errors import CaptureError
from headscope.models.stacks import Place

NAME = "headscope-scores"

# What rounding may do to a weight that is computed again from queries and keys.
_ROUNDING = {torch.float64: 1e-6, torch.float32: 1e-3}
_ROUNDING_IN_HALF = 3e-2


@dataclass(frozen=True)
class TextScores:
    """Some heads of one layer on one text, in float64 and without padding."""

    query: Tensor  # (head, query, neuron) times the scale
    key: Tensor  # (head, key, neuron)
    bias: Tensor | None  # (head, query, key) what is added for position, 0 where the query cannot look
    visible: Tensor  # (query, key) True where the query may see the key
    weights: Tensor  # (head, query, key)

    @property
    def scores(self) -> Tensor:
        """(head, query, key) products and bias together."""
        products = self.query @ self.key.transpose(-1, -2)
        return products if self.bias is None else products + self.bias


@dataclass(frozen=True)
class LayerScores:
    """What one layer's heads work with on a batch of texts."""

    weights: Tensor  # (text, head, query, key)
    query: Tensor  # (text, head, query, neuron)
    key: Tensor  # (text, group, key, neuron) the heads are split evenly among the groups
    scaling: float
    bias: Tensor | None  # (text or 1, head or 1, query or 1, key)
    visible: Tensor  # (text or 1, 1, query, key)

    def of(self, text: int, heads: Collection[int], queries: Tensor, keys: Tensor) -> TextScores:
        """`heads` on one text, whose real tokens `queries` (query,) and `keys` (key,) tell."""
        chosen = torch.tensor(sorted(heads), device=self.query.device)
        groups = chosen // (self.query.shape[1] // self.key.shape[1])
        visible = self.visible[min(text, len(self.visible) - 1), 0][queries][:, keys]
        bias = None
        if self.bias is not None:
            own = self.bias[min(text, len(self.bias) - 1)].expand(self.weights.shape[1:])[chosen]
            bias = wide(own[:, queries][:, :, keys]).masked_fill(~visible.to(wide(own).device), 0)
        query = wide(self.query[text, chosen][:, queries]) * self.scaling
        return TextScores(
            query,
            wide(self.key[text, groups][:, keys]),
            bias,
            visible.to(query.device),
            wide(self.weights[text, chosen][:, queries][:, :, keys]),
        )


def wide(tensor: Tensor) -> Tensor:
    """In float64, where the device has it."""
    return (tensor if tensor.device.type in ("cpu", "cuda") else tensor.cpu()).double()


See = Callable[[Place, LayerScores], None]
_seeing: ContextVar[Callable[[LayerScores], None] | None] = ContextVar(
    "headscope_seeing_scores", default=None
)


def run_scores(capture: Capture, inputs: dict[str, Tensor], places: Collection[Place], see: See) -> None:
    """One forward pass; `see(place, scores)` is called for every layer in `places`, in order."""
    check_reachable(capture)
    order, core, count = capture.stacks.places, capture.model.core, 0

    def seen(layer: LayerScores) -> None:
        nonlocal count
        if count < len(order) and order[count] in places:
            _check(capture, order[count], layer)
            see(order[count], layer)
        count += 1

    options = {"use_cache": False} if "use_cache" in capture.model.accepts else {}
    token = _seeing.set(seen)
    try:
        with attention_function(core, NAME), evaluating(core), torch.inference_mode():
            core(**inputs, **options)
    finally:
        _seeing.reset(token)
    if count != len(order):
        raise CaptureError(
            f"{capture.model.name}: {len(order)} attention calls were expected in a forward pass and {count} were seen"
        )


def check_reachable(capture: Capture) -> None:
    """Raise CaptureError where queries and keys cannot be had."""
    model = capture.model
    if not capture.hooked:
        raise CaptureError(
            f"{model.name} ({model.architecture}) computes attention in a way that shows its weights but not its "
            "queries and keys, so what its scores are made of cannot be told"
        )
    if is_edited(model.core):
        raise CaptureError(
            "an edit of the model is in force; explain looks at the untouched model, leave the edit"
        )


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    *positional: Any,
    **options: Any,
) -> tuple[Tensor, Tensor]:
    mask = attention_mask
    if mask is not None and mask.dtype == torch.bool:
        hidden = torch.finfo(query.dtype).min
        mask = torch.zeros(mask.shape, dtype=query.dtype, device=mask.device).masked_fill(~mask, hidden)
    output, weights = own_attention(type(module))(module, query, key, value, mask, *positional, **options)
    see = _seeing.get()
    if see is not None:
        see(_layer(weights, query, key, mask, options))
    return output, weights


def _layer(
    weights: Tensor, query: Tensor, key: Tensor, mask: Tensor | None, options: dict[str, Any]
) -> LayerScores:
    queries, keys = weights.shape[2:]
    scaling = options.get("scaling")
    bias: Tensor | None = options.get("position_bias")  # T5 and its kin
    visible = torch.ones(1, 1, queries, keys, dtype=torch.bool, device=weights.device)
    if mask is not None:
        mask = mask[..., :keys]
        shown = mask > torch.finfo(mask.dtype).min / 2  # as AttentionCall.visible tells
        if (shown != shown[:, :1]).any():
            raise CaptureError("the heads of a layer see different keys; headscope cannot explain that")
        visible = shown[:, :1].expand(-1, -1, queries, -1)
        added = mask.masked_fill(~shown, 0)
        if added.any():
            bias = added if bias is None else bias + added
    return LayerScores(
        weights, query, key, query.shape[-1] ** -0.5 if scaling is None else float(scaling), bias, visible
    )


def _check(capture: Capture, place: Place, layer: LayerScores) -> None:
    """Raise CaptureError unless the weights of the first text are the softmax of products and bias."""
    texts, heads, queries, keys = layer.weights.shape
    fits = layer.query.shape[:3] == (texts, heads, queries) and layer.key.shape[2] == keys
    if fits and heads % layer.key.shape[1] == 0:
        every = torch.ones(queries, dtype=torch.bool), torch.ones(keys, dtype=torch.bool)
        first = layer.of(0, range(heads), *(side.to(layer.weights.device) for side in every))
        again = softmax(first.scores, first.visible)
        looks = first.visible.any(-1)  # a row of padding may see nothing
        rounding = _ROUNDING.get(layer.weights.dtype, _ROUNDING_IN_HALF)
        if torch.allclose(again[:, looks], first.weights[:, looks], rtol=0, atol=rounding):
            return
    raise CaptureError(
        f"{capture.model.name} ({capture.model.architecture}): the weights of layer {place.layer} of the {place.stack} "
        "are not the softmax of its scaled products of queries and keys (a soft cap or a sink?); headscope cannot "
        "explain them"
    )


def softmax(scores: Tensor, visible: Tensor) -> Tensor:
    """(head, query, key) the weights that `scores` give over the `visible` (query, key) keys."""
    return scores.masked_fill(~visible, -torch.inf).softmax(-1).nan_to_num(0.0)


AttentionInterface.register(NAME, _attend)
AttentionMaskInterface.register(NAME, eager_mask)
