"""Attention on a CPU as most architectures compute it, with fewer passes over the maps than their own function makes.

Softmax of scaled products plus mask, a few maps at a time while they are in cache, in one buffer. For who sums over
many texts and asks for it: weights are those of the module's own function to rounding, not to the last digit.

That function is used all the same unless both were seen to agree: proved for each module the first time that it is
called in a way, on what it was called with and on queries so much longer that a soft cap or a sink would show.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

Attention = Callable[..., tuple[Tensor, Tensor]]

BLOCK = 1 << 17
"""How many weights are worked on at once: half of what a core's own cache holds."""

# What is passed to all attention functions and changes nothing in what they do here: no dropout, masks that say it all.
_IDLE = frozenset(
    {"scaling", "dropout", "is_causal", "sliding_window", "position_ids", "cache_position", "use_cache"}
)
_PROOFS = ((1.0, 1e-5), (30.0, 1e-3))
"""How much longer queries are made, and what rounding may then do."""

_proved: WeakKeyDictionary[nn.Module, dict[tuple[bool, float | None], bool]] = WeakKeyDictionary()


_PROVED_QUERIES = 32
"""Of two texts."""

_wanted: ContextVar[bool] = ContextVar("headscope_lean_attention", default=False)


@contextmanager
def leaner_attention() -> Iterator[None]:
    """Inside, in this thread, attention that is watched is computed here where that is proved."""
    token = _wanted.set(True)
    try:
        yield
    finally:
        _wanted.reset(token)


def attend(  # noqa: PLR0917  (as attention functions are called)
    own: Attention,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *positional: Any,
    **options: Any,
) -> tuple[Tensor, Tensor]:
    """What the module's `own` function gives: output (text, query, head, dim), weights (text, head, query, key)."""
    if positional or not _wanted.get() or not _is_plain(module, query, options):
        return own(module, query, key, value, mask, *positional, **options)
    scaling: float | None = options.get("scaling")
    ways = _proved.setdefault(module, {})
    way = (mask is None, scaling)
    if way not in ways:
        few = query[[0, -1], :, :_PROVED_QUERIES], key[[0, -1]], value[[0, -1]], _few(mask)
        ways[way] = all(
            _same(
                own(module, few[0] * factor, *few[1:], **options),
                _attend(few[0] * factor, *few[1:], scaling),
                rounding,
            )
            for factor, rounding in _PROOFS
        )
    if not ways[way]:
        return own(module, query, key, value, mask, **options)
    return _attend(query, key, value, mask, scaling)


def _is_plain(module: nn.Module, query: Tensor, options: Mapping[str, Any]) -> bool:
    """Whether a call may be one of those that are computed here."""
    return (
        query.device.type == "cpu"
        and query.dtype == torch.float32
        and not (torch.is_grad_enabled() or module.training)
        and all(value is None or value is False or name in _IDLE for name, value in options.items())
    )


def _few(mask: Tensor | None) -> Tensor | None:
    """The mask of what is proved on."""
    return None if mask is None else (mask if len(mask) == 1 else mask[[0, -1]])[:, :, :_PROVED_QUERIES]


def _same(first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor], rounding: float) -> bool:
    return all(
        left is not None
        and left.shape == right.shape
        and torch.allclose(left, right, rtol=rounding, atol=rounding, equal_nan=True)
        for left, right in zip(first, second, strict=True)
    )


def _attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float | None
) -> tuple[Tensor, Tensor]:
    """Softmax of scaled products plus mask, and what it makes of the values; see `AttentionCall` for shapes."""
    texts, heads, queries, width = query.shape
    groups, keys = key.shape[1:3]
    rows = heads // groups * queries  # queries that share their keys
    scale = width**-0.5 if scaling is None else scaling
    weights = query.new_empty(texts, groups, rows, keys)
    output = query.new_empty(texts, queries, heads, value.shape[-1])
    step = max(1, BLOCK // weights[0].numel())
    for start in range(0, texts, step):
        part = slice(start, start + step)
        scores = weights[part].flatten(0, 1)  # (text and group, row, key), in place
        asked = query[part].reshape(-1, rows, width)
        seen, fetched = key[part].flatten(0, 1), value[part].flatten(0, 1)
        # Scaled afterwards, as the modules' own functions do: the same to the last digit on the CPUs that we saw.
        torch.bmm(asked, seen.mT, out=scores).mul_(scale)
        if mask is not None:
            own = mask if len(mask) == 1 else mask[part]
            weights[part].view(-1, heads, queries, keys).add_(own[..., :keys])
        torch.softmax(scores, -1, out=scores)
        given = torch.bmm(scores, fetched)  # (text and group, row, dim)
        output[part] = given.view(-1, heads, queries, value.shape[-1]).transpose(1, 2)
    return output, weights.view(texts, heads, queries, keys)
