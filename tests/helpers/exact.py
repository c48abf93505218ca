"""Attention in float64, to hold faster ways against; needs torch alone."""

import torch
from torch import Tensor

from headscope.capture.call import AttentionInputs


def exact_weights(inputs: AttentionInputs) -> Tensor:
    """(text, head, query, key) in float64."""
    query, key = inputs.query.double(), inputs.key.double()
    key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    scores = query @ key.mT * inputs.scale
    if inputs.soft_cap:
        scores = inputs.soft_cap * torch.tanh(scores / inputs.soft_cap)
    for added in (inputs.bias_of_all, inputs.mask_of_all):
        scores = scores if added is None else scores + added.double()
    if inputs.sinks is not None:
        sink = inputs.sinks.double()[None, :, None, None].expand(*scores.shape[:3], 1)
        return torch.cat([scores, sink], -1).softmax(-1)[..., :-1]
    return scores.softmax(-1)
