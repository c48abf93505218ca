"""The network's output where something is to be predicted.

Logits over a vocabulary cost as much as several layers, and of masked texts six places in seven need none. So the
output layer gets the hidden states of the places that are asked for, where the network is seen to give the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headscope.models import Model
from headscope.tasks.batches import IGNORED, TaskBatch, forward, output_of
from headscope.trace.hooks import hooked
from headscope.trace.observe import evaluating

WORTH_IT = 0.5
"""Of more places than this share it is not worth the trouble."""

_proved: WeakKeyDictionary[PreTrainedModel, bool] = WeakKeyDictionary()


def forward_asked(model: Model, batch: TaskBatch) -> Any:
    """The network's output; where `prove` has seen to it, with (asked, vocabulary) logits in the order of places."""
    asked = _asked(batch) if _proved.get(model.network, False) else None
    if asked is None:
        return forward(model, batch)
    with _only_at(model, asked):
        return forward(model, batch)


def logits_at(output: Any, batch: TaskBatch) -> Tensor:
    """(asked, vocabulary) the logits of the places with a label, from an output of all places or of these."""
    logits = output_of(output, "logits", "prediction_logits")
    return logits if logits.dim() == 2 else logits[batch.labels != IGNORED]


def prove(model: Model, batch: TaskBatch) -> None:
    """See whether the network gives the same where its output layer gets the asked places only; once a network."""
    asked = _asked(batch)
    if model.network in _proved or asked is None:
        return
    _proved[model.network] = False
    with evaluating(model.network), torch.inference_mode():
        whole = logits_at(forward(model, batch), batch)
        try:
            with _only_at(model, asked):
                part = output_of(forward(model, batch), "logits", "prediction_logits")
        except (RuntimeError, IndexError, ValueError, TypeError):
            return
    rounding = 1e-4 if model.dtype in (torch.float32, torch.float64) else 2e-2
    _proved[model.network] = part.shape == whole.shape and torch.allclose(
        part, whole, rtol=rounding, atol=rounding
    )


def _asked(batch: TaskBatch) -> Tensor | None:
    """(row, token) where the batch has a label; None where labels are not of tokens, or of most."""
    if batch.labels.is_floating_point() or batch.labels.shape != batch.text.source.ids.shape:
        return None
    asked = batch.labels != IGNORED
    return asked if 0 < float(asked.float().mean()) <= WORTH_IT else None


@contextmanager
def _only_at(model: Model, asked: Tensor) -> Iterator[None]:
    """Inside, the network's output layer gets the hidden states of the places asked for, (asked, hidden)."""
    layer = model.network.get_output_embeddings()  # type: ignore[no-untyped-call]

    def taken(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        return (inputs[0][asked], *inputs[1:]) if inputs and inputs[0].shape[:-1] == asked.shape else None

    with hooked([layer.register_forward_pre_hook(taken)] if isinstance(layer, nn.Module) else []):
        yield
