"""Attention weights with their gradients."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor

from headscope.capture.call import AttentionCall
from headscope.capture.capture import Capture
from headscope.capture.follow import Forward, following
from headscope.errors import CaptureError
from headscope.models.stacks import Place


@contextmanager
def retained(capture: Capture, places: Collection[Place] | None = None) -> Iterator[dict[Place, Tensor]]:
    """Inside, the weights (text, head, query, key) of the last forward pass by place; `.grad` after a backward.

    `places` are all of the network's when None. The outputs of the heads are computed anew from the weights, so
    that the gradient is with respect to exactly these, after any edit; a head whose output an edit has made
    independent of its weights has gradient 0. The network's mode is left alone: put it in eval mode, or weights
    are after dropout. Parameters may be frozen, which saves time.
    """
    kept: dict[Place, Tensor] = {}

    def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        if not torch.is_grad_enabled():
            raise CaptureError("gradients are switched off; leave torch.no_grad and torch.inference_mode")
        count = call.weights.shape[1]
        every = torch.arange(count, device=call.weights.device)
        call.check(every)
        weights = call.weights if call.weights.requires_grad else call.weights.detach().requires_grad_()
        weights.retain_grad()
        kept[place] = weights
        heads = every[[head not in call.constant for head in range(count)]]
        output = call.output.index_copy(2, heads, call.output_of(heads, weights[:, heads]))
        return replace(call, weights=weights, output=output)

    with following(capture, capture.stacks.places if places is None else places, handle):
        yield kept
