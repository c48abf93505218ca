"""Which module of a network computes the attention of which layer."""

import torch
from torch import nn

from headscope.capture import AttentionCall, Capture, Forward, following
from headscope.capture.capture import probe_inputs
from headscope.capture.observe import evaluating
from headscope.models.stacks import Place

_LENGTHS = [(9, 6)]


def attention_modules(capture: Capture) -> dict[Place, str]:
    """The name in the core of every layer's attention module; for models that the one hook reaches."""
    core = capture.model.core
    modules: dict[Place, nn.Module] = {}

    def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        modules[place] = call.module
        return call

    inputs = probe_inputs(capture.model, _LENGTHS)
    options = {"use_cache": False} if "use_cache" in capture.model.accepts else {}
    with following(capture, capture.stacks.places, handle), evaluating(core), torch.inference_mode():
        core(**inputs, **options)
    known = {id(module): name for name, module in core.named_modules()}
    return {place: known[id(module)] for place, module in modules.items()}
