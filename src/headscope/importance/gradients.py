"""The gradient of a task's loss with respect to every attention weight, each text's own.

The texts of a batch do not mix: what one text's weights do to the sum of all texts' losses is what they do to the
loss of that text. So one backward pass serves the whole batch, and no result depends on how texts are batched.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headscope.capture import AttentionCall, Capture, Forward, following, retained
from headscope.capture.observe import evaluating
from headscope.errors import CaptureError
from headscope.models.stacks import Place
from headscope.run.watch import sides_of
from headscope.tasks import Task, TaskBatch, forward
from headscope.text.batching import TextBatch
from headscope.types import CLS, OTHER, TokenBatch


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
        loss = task.loss(forward(capture.model, batch), batch)  # (text,)
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
