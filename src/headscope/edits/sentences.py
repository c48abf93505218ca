"""Which sentence each token of a forward pass belongs to."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from headscope.capture import AttentionCall, Forward
from headscope.errors import OptionError
from headscope.models import Model
from headscope.models.stacks import Place

Side = Literal["source", "target"]
SentenceIds = Tensor | Callable[[Mapping[str, Any]], Tensor]
"""(text, token) the number of each token's sentence, or a function of the forward pass's inputs that gives it."""

Sentences = SentenceIds | Mapping[Side, SentenceIds]


def same_sentence(
    model: Model, place: Place, call: AttentionCall, forward: Forward, given: Sentences | None
) -> Tensor:
    """(text, query, key) True where both tokens are of one sentence."""
    queries, keys = call.weights.shape[2:]
    ends: tuple[Side, Side] = ("source", "source")
    if model.is_encoder_decoder and place.stack != "encoder":
        ends = ("target", "target" if place.stack == "decoder" else "source")
    key_ids = _ids(model, ends[1], call, forward, given, tokens=keys)
    if ends[0] == ends[1]:
        query_ids = key_ids[:, keys - queries :]  # with a cache only the newest tokens ask
    else:
        query_ids = _ids(model, ends[0], call, forward, given, tokens=queries)
    return query_ids[:, :, None] == key_ids[:, None, :]


def _ids(
    model: Model, side: Side, call: AttentionCall, forward: Forward, given: Sentences | None, *, tokens: int
) -> Tensor:
    """(text, token)."""
    ids = _given(model, side, forward, given)
    expected = (call.weights.shape[0], tokens)
    if not isinstance(ids, Tensor) or tuple(ids.shape) != expected:
        shape = tuple(ids.shape) if isinstance(ids, Tensor) else type(ids).__name__
        raise OptionError(
            f"sentences of shape {shape} do not fit a batch of {expected[0]} texts of {tokens} tokens; give one number "
            "a token, padding included"
        )
    if torch.is_floating_point(ids):
        raise OptionError("sentences are numbers of sentences: give whole numbers")
    return ids.to(call.weights.device)


def _given(model: Model, side: Side, forward: Forward, given: Sentences | None) -> object:
    if isinstance(given, Mapping):
        if side not in given:
            raise OptionError(f"sentences has no {side!r}; give sentences={{'source': ..., 'target': ...}}")
        chosen: SentenceIds | None = given[side]
    else:
        chosen = given
    if chosen is not None and model.is_encoder_decoder and not isinstance(given, Mapping):
        raise OptionError(
            f"{model.name} reads one text and writes another; say sentences={{'source': ..., 'target': ...}}"
        )
    if callable(chosen):
        return chosen(forward.inputs)
    if chosen is not None:
        return chosen
    segments = forward.inputs.get("token_type_ids") if model.has_segments else None
    if segments is None:
        why = "was run without token_type_ids" if model.has_segments else "has no segments"
        raise OptionError(
            f"{model.name} {why}, so headscope cannot tell its sentences; give sentences=, a number for each token "
            "(text, token), or a function of the inputs that returns it"
        )
    return segments
