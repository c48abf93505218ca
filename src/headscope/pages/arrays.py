"""Attention that comes as plain arrays, from any framework, checked before it is shown."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from headscope.errors import HeadscopeWarning, OptionError
from headscope.pages.seen import Observed, map_key
from headscope.pages.shapes.views import StackShape
from headscope.pages.tokens import plain_tokens
from headscope.types import Array

# How far weights in half precision may add up to something else than 1.
_ROUNDING = 1e-2


def from_attentions(
    attentions: Any,
    tokens: Sequence[str],
    *,
    key_tokens: Sequence[str] | None = None,
    segments: Sequence[int] | None = None,
    name: str = "attention",
) -> Observed:
    """Attention weights with their tokens, as if a model had been seen.

    `attentions` is an array (layer, head, query, key) or a sequence of arrays (head, query, key), one a layer, each
    perhaps with a first axis for one text: numpy, torch, jax, nested lists. `key_tokens` are those looked at, where
    they are others than those that look (cross attention). `segments` says for each token 0 (first text), 1 (second)
    or -1 (special).
    """
    layers = _layers(attentions)
    _check_tokens(layers, tokens, key_tokens, segments)
    for number, weights in enumerate(layers):
        _check_weights(number, weights)
    is_cross = key_tokens is not None
    causal = not is_cross and all(not np.triu(weights, 1).any() for weights in layers)
    asking = plain_tokens([str(token) for token in tokens], segments)
    keys = plain_tokens([str(token) for token in key_tokens]) if key_tokens is not None else None
    stack = StackShape(
        name="cross" if is_cross else "decoder" if causal and len(tokens) > 1 else "encoder",
        layers=len(layers),
        heads=len(layers[0]),
        queries="target" if is_cross else "source",
        keys="source",
        causal=causal,
    )
    return Observed(
        model=name,
        architecture="",
        text_a=" ".join((keys or asking).words),
        text_b=" ".join(asking.words) if keys else None,
        source=keys or asking,
        target=asking if keys else None,
        stacks=[stack],
        maps={map_key(stack.name, layer): weights for layer, weights in enumerate(layers)},
        rotated=False,
        note="",
        weigh_note="These are attention weights alone; what heads move from where they look takes a model and a text",
    )


def _layers(attentions: Any) -> list[Array]:
    """(head, query, key) for each layer."""
    try:
        layers = [_array(layer) for layer in attentions]
    except (TypeError, ValueError) as error:
        raise OptionError(
            "attentions must be an array (layer, head, query, key) or a sequence of arrays (head, query, key), one a "
            f"layer; {type(attentions).__name__} cannot be read as numbers: {error}"
        ) from error
    if not layers:
        raise OptionError("attentions is empty; give one array (head, query, key) for each layer")
    texts = [layer.shape[0] if layer.ndim == 4 else 1 for layer in layers]
    for number, (layer, count) in enumerate(zip(layers, texts, strict=True)):
        if count != 1:
            raise OptionError(
                f"layer {number} of attentions is of {count} texts (shape {layer.shape}); give one text, "
                "such as [layer[0] for layer in attentions]"
            )
        if layer.ndim not in (3, 4):
            raise OptionError(
                f"layer {number} of attentions has shape {layer.shape}; expected (head, query, key), so that all is "
                "(layer, head, query, key)"
            )
    layers = [layer[0] if layer.ndim == 4 else layer for layer in layers]
    first = layers[0].shape
    for number, layer in enumerate(layers):
        if layer.shape != first:
            raise OptionError(
                f"layer {number} of attentions has shape {layer.shape} and layer 0 has {first}; all layers "
                "must have as many heads and tokens"
            )
    if not layers[0].size:
        raise OptionError(f"attentions has shape {first}, which holds no weights")
    return layers


def _array(layer: Any) -> Array:
    """A layer as float32; torch tensors may lie anywhere, in any precision, with gradients."""
    if hasattr(layer, "detach"):
        layer = layer.detach().cpu().float().numpy()
    return np.array(layer, dtype=np.float32)


def _check_tokens(
    layers: Sequence[Array],
    tokens: Sequence[str],
    key_tokens: Sequence[str] | None,
    segments: Sequence[int] | None,
) -> None:
    _, queries, keys = layers[0].shape
    if isinstance(tokens, str) or isinstance(key_tokens, str):
        raise OptionError("tokens must be a list of tokens, not one text")
    if len(tokens) != queries:
        raise OptionError(f"there are {len(tokens)} tokens, and attentions has {queries} queries")
    if key_tokens is None and queries != keys:
        raise OptionError(f"attentions has {queries} queries and {keys} keys; give key_tokens= for the keys")
    if key_tokens is not None and len(key_tokens) != keys:
        raise OptionError(f"there are {len(key_tokens)} key_tokens, and attentions has {keys} keys")
    if segments is not None and (len(segments) != len(tokens) or not set(segments) <= {-1, 0, 1}):
        raise OptionError(f"segments must be one of -1, 0, 1 for each of the {len(tokens)} tokens")


def _check_weights(layer: int, weights: Array) -> None:
    where = f"layer {layer} of attentions"
    if not np.isfinite(weights).all():
        head, query, key = np.argwhere(~np.isfinite(weights))[0].tolist()
        raise OptionError(
            f"{where} has {weights[head, query, key]} at head {head}, query {query}, key {key}; weights are numbers "
            "from 0 to 1"
        )
    low, high = float(weights.min()), float(weights.max())
    if low < 0 or high > 1 + _ROUNDING:
        raise OptionError(
            f"{where} has numbers from {low:.4g} to {high:.4g}; weights are from 0 to 1 (are these scores, before "
            "the softmax?)"
        )
    sums = weights.sum(-1)
    apart = np.abs(sums - 1)
    if apart.max() > _ROUNDING:
        head, query = np.unravel_index(int(apart.argmax()), apart.shape)
        warnings.warn(
            f"{where}: the weights of head {head}, query {query} add up to {sums[head, query]:.3f}, not 1; they are "
            "shown as they are",
            HeadscopeWarning,
            stacklevel=4,
        )
