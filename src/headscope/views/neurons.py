"""Queries and keys of the real model, and what else makes up a head's scores.

A small function stands before the one hook: it notes what the attention function is given and hands it on, so that
edits stay in force and the weights are those that were seen.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headscope.capture import surveyed
from headscope.capture.observe import NAME as HOOK
from headscope.capture.observe import attention_function, watching
from headscope.errors import CaptureError
from headscope.models import Model
from headscope.models.stacks import Place
from headscope.types import HeadId
from headscope.views.seen import Between, is_rotated, place_of, prepare
from headscope.views.shapes import Neurons

Array = np.ndarray[Any, Any]

NeuronReader = Callable[[Collection[tuple[str, int, int]] | None], Iterable[Neurons]]
"""Gives the neurons of these heads (stack, layer, head), or of all."""

NAME = "headscope-neurons"
_DIGITS = 4
"""Significant digits of a query's or key's number: rounding then moves no weight by more than about 0.001."""

# How far the softmax of the scores may be from the weights that were seen.
_ROUNDING = {torch.float64: 1e-4, torch.float32: 1e-4}
_ROUNDING_IN_HALF = 2e-2


@dataclass(frozen=True)
class _Call:
    """What an attention function was given, and the weights that came of it."""

    module: nn.Module
    query: Tensor  # (text, head, query, dim)
    key: Tensor  # (text, group, key, dim)
    mask: Tensor | None  # (text or 1, head or 1, query or 1, key) added to the scores, or True for visible
    options: dict[str, Any]


@dataclass(frozen=True)
class HeadScores:
    """What one head's scores on one text are made of, in float64."""

    query: Array  # (query, dim)
    key: Array  # (key, dim)
    scale: float
    soft_cap: float | None
    bias: Array | None  # (query, key) 0 where the key is hidden
    visible: Array  # (query, key)
    sink: float | None
    weights: Array  # (query, key) as they were seen

    def softmax(self) -> Array:
        """(query, key) the weights that follow from the scores."""
        scores = self.scale * (self.query @ self.key.T)
        if self.soft_cap is not None:
            scores = self.soft_cap * np.tanh(scores / self.soft_cap)
        if self.bias is not None:
            scores = scores + self.bias
        scores = np.where(self.visible, scores, -np.inf)
        highest = scores.max(-1, keepdims=True, initial=-np.inf if self.sink is None else self.sink)
        powers = np.exp(scores - np.where(np.isfinite(highest), highest, 0))
        beside = 0.0 if self.sink is None else np.exp(self.sink - highest)
        total = powers.sum(-1, keepdims=True) + beside
        return powers / np.where(total > 0, total, 1)

    @property
    def apart(self) -> float:
        """The most by which a weight that was seen differs from the softmax of the scores."""
        return float(np.abs(self.softmax() - self.weights).max(initial=0))


def has_neurons(model: Model) -> bool:
    """Whether queries and keys can be had: not where attention can only be looked at afterwards."""
    return surveyed(model).hooked


def read_neurons(
    model: Model,
    text_a: str,
    text_b: str | None = None,
    *,
    heads: Collection[tuple[str, int, int]] | None = None,
    max_length: int | None = None,
    between: Between | None = None,
) -> Iterator[Neurons]:
    """The neurons of `heads` (stack, layer, head), or of all, on a text as `observe` takes it; layer by layer."""
    texts = (text_a, text_b)
    for place, head, scores in _scores(model, texts, heads, max_length=max_length, between=between):
        yield _neurons(model, place, head, scores)


def neuron_reader(
    model: Model, text_a: str, text_b: str | None = None, *, max_length: int | None = None
) -> NeuronReader | None:
    """What reads the neurons of any heads on this text; None where the model does not let them be read."""
    if not has_neurons(model):
        return None
    return lambda heads: read_neurons(model, text_a, text_b, heads=heads, max_length=max_length)


def head_scores(
    model: Model, text_a: str, text_b: str | None = None, *, stack: str, layer: int, head: int
) -> HeadScores:
    """What one head's scores on a text are made of, with all digits."""
    [(_, _, scores)] = _scores(model, (text_a, text_b), [(stack, layer, head)])
    return scores


def _scores(
    model: Model,
    texts: tuple[str, str | None],
    heads: Collection[tuple[str, int, int]] | None,
    *,
    max_length: int | None = None,
    between: Between | None = None,
) -> list[tuple[Place, int, HeadScores]]:
    capture = surveyed(model)
    if not capture.hooked:
        raise CaptureError(
            f"{model.name} ({model.architecture}) computes attention in a way that shows its weights but not its "
            "queries and keys, so there is no neuron view of it"
        )
    grids = capture.stacks.grids
    if heads is None:
        heads = [
            (g.stack, layer, head) for g in grids for layer in range(g.layers) for head in range(g.heads)
        ]
    wanted: dict[Place, list[int]] = {}
    for stack, layer, head in heads:
        wanted.setdefault(place_of(model, stack, layer, head), []).append(head)
    prepared = prepare(model, *texts, max_length=max_length)
    order, seen = capture.stacks.places, 0
    found: list[tuple[Place, int, HeadScores]] = []

    def see(call: _Call, weights: Tensor) -> None:
        nonlocal seen
        if between is not None:
            between()
        if seen < len(order):
            for head in sorted(set(wanted.get(order[seen], ()))):
                found.append((order[seen], head, _head(call, weights, head)))
        seen += 1

    options = {"use_cache": False} if "use_cache" in model.accepts else {}
    with _reading(model, see), torch.inference_mode():
        model.core(**prepared.batch.inputs, **options)
    if seen != len(order):
        raise CaptureError(
            f"{model.name}: {len(order)} attention calls were expected in a forward pass and {seen} were seen"
        )
    return found


_noting: ContextVar[Callable[[_Call], None] | None] = ContextVar("headscope_noting_neurons", default=None)


@contextmanager
def _reading(model: Model, see: Callable[[_Call, Tensor], None]) -> Iterator[None]:
    """Inside, `see` is given every attention call of this thread with the weights that came of it."""
    given: list[_Call] = []

    def watcher(weights: Tensor) -> None:
        see(given.pop(), weights)

    token = _noting.set(given.append)
    try:
        with watching(model.core, watcher), attention_function(model.core, NAME):
            yield
    finally:
        _noting.reset(token)


def _note_and_attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    *positional: Any,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    note = _noting.get()
    if note is not None:
        note(_Call(module, query, key, attention_mask, options))
    attend: Callable[..., tuple[Tensor, Tensor | None]] = ALL_ATTENTION_FUNCTIONS[HOOK]
    return attend(module, query, key, value, attention_mask, *positional, **options)


def _head(call: _Call, weights: Tensor, head: int) -> HeadScores:
    heads, queries, keys = weights.shape[1:]
    group = head // (heads // call.key.shape[1])
    visible = np.ones((queries, keys), dtype=bool)
    bias = _of_head(call.options.get("position_bias"), head, queries, keys)  # T5 and its kin
    if call.mask is not None:
        # A mask that is made for sdpa may say True for visible keys; what hides a key in others, and what is added
        # to the scores for other reasons, AttentionCall.visible tells apart in the same way.
        is_additive = call.mask.dtype != torch.bool
        added = _of_head(call.mask, head, queries, keys)
        visible = added > (torch.finfo(call.mask.dtype).min / 2 if is_additive else 0)
        if is_additive:
            bias = bias + np.where(visible, added, 0.0)
    bias = np.where(visible, bias, 0.0)
    sinks = getattr(call.module, "sinks", None)
    scores = HeadScores(
        query=_array(call.query[0, head]),
        key=_array(call.key[0, group]),
        scale=_scale(call),
        soft_cap=call.options.get("softcap"),
        bias=bias if bias.any() else None,
        visible=visible,
        sink=float(sinks.reshape(-1)[head]) if isinstance(sinks, Tensor) else None,
        weights=_array(weights[0, head]),
    )
    # Some architectures let their sink shrink what a head gives instead of its weights.
    without = replace(scores, sink=None)
    return without if scores.sink is not None and without.apart < scores.apart else scores


def _scale(call: _Call) -> float:
    scale = call.options.get("scaling")
    return float(call.query.shape[-1] ** -0.5 if scale is None else scale)


def _of_head(added: Tensor | None, head: int, queries: int, keys: int) -> Array:
    """(query, key) the part of something added to all heads' scores that is this head's; 0 where nothing is."""
    if added is None:
        return np.zeros((queries, keys))
    own = added[0, head if added.shape[1] > 1 else 0, :, :keys]
    return np.broadcast_to(_array(own), (queries, keys))


def _array(tensor: Tensor) -> Array:
    return tensor.detach().to("cpu", torch.float64).numpy()


def _neurons(model: Model, place: Place, head: int, scores: HeadScores) -> Neurons:
    said = []
    agrees = scores.apart <= _ROUNDING.get(model.dtype, _ROUNDING_IN_HALF)
    rotated = is_rotated(model) and place.stack != "cross"
    if rotated:
        said.append("Queries and keys are those after rotation by position (RoPE).")
    if scores.bias is not None:
        said.append("A number that depends on position only is added to each score.")
    if scores.soft_cap is not None:
        said.append(f"Scores are held between -{scores.soft_cap:g} and {scores.soft_cap:g} by a soft cap.")
    if scores.sink is not None:
        said.append(f"A sink that is no token takes part in the softmax, with the score {scores.sink:.3g}.")
    visible = _ranges(scores.visible)
    if visible is None:
        said.append(
            "The keys that a query may see are not in one piece, so scores of hidden keys are shown too."
        )
    if not agrees:
        said.append(
            f"The softmax of the scores is not the weights of {HeadId(place.layer, head)} (off by up to "
            f"{scores.apart:.2g}): it is edited, or this architecture does more than is known here."
        )
    return Neurons(
        stack=place.stack,
        layer=place.layer,
        head=head,
        scale=scores.scale,
        queries=_rounded(scores.query),
        keys=_rounded(scores.key),
        bias=None if scores.bias is None else _rounded(scores.bias),
        soft_cap=scores.soft_cap,
        sink=scores.sink,
        visible=None if scores.visible.all() else visible,
        agrees=agrees,
        rotated=rotated,
        note=" ".join(said),
    )


def _ranges(visible: Array) -> list[tuple[int, int]] | None:
    """For each query, the first visible key and the one after the last; None when there are gaps."""
    first = visible.argmax(-1)
    count = visible.sum(-1)
    keys = np.arange(visible.shape[1])
    whole = (keys >= first[:, None]) & (keys < (first + count)[:, None])
    if (whole != visible).any():
        return None
    return [(int(start), int(start + length)) for start, length in zip(first, count, strict=True)]


def _rounded(values: Array) -> list[list[float]]:
    """To _DIGITS significant digits, so that they take less room as text."""
    sizes = np.floor(np.log10(np.abs(values), where=values != 0, out=np.zeros_like(values)))
    unit = 10.0 ** (_DIGITS - 1 - sizes)
    shorter: list[list[float]] = (np.round(values * unit) / unit).tolist()
    return shorter


AttentionInterface.register(NAME, _note_and_attend)
AttentionMaskInterface.register(NAME, eager_mask)
