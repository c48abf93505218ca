"""The maps that a model itself returns when asked, which is what people did before headscope."""

from collections.abc import Mapping

import torch
from tests.helpers.reference_edits import BOTH
from tests.helpers.tiny import tiny
from torch import Tensor

DECODERS = ("gpt2", "llama", "gemma2", "gptoss", "falcon")
AT_THE_SOFTMAX = ("mpnet", "deberta", "convbert", "xlnet", "falcon")
"""Tiny models that do not let their attention function be chosen."""


def eager_maps(architecture: str, inputs: Mapping[str, Tensor]) -> dict[str, list[Tensor]]:
    """By stack, the maps (text, head, query, key) of every layer of a tiny model."""
    model = tiny(architecture)
    network = model.network
    before = network.config._attn_implementation
    if architecture in AT_THE_SOFTMAX:
        network.config._attn_implementation = "eager"  # Falcon's masks depend on it
    else:
        network.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            # Without its cache, as we run it: a cache lays keys out differently, which changes the last bit.
            options = {"use_cache": False} if "use_cache" in model.accepts else {}
            output = network(**inputs, **options, output_attentions=True)
    finally:
        if architecture in AT_THE_SOFTMAX:
            network.config._attn_implementation = before
        else:
            network.set_attn_implementation(before)  # in the parts' own configs too
    if architecture in BOTH:
        return {
            "encoder": list(output.encoder_attentions),
            "decoder": list(output.decoder_attentions),
            "cross": list(output.cross_attentions),
        }
    return {"decoder" if architecture in DECODERS else "encoder": list(output.attentions)}


def sides(stack: str, inputs: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """(text, token) which tokens of a stack's queries, and of its keys, are no padding."""
    source = inputs["attention_mask"].bool()
    target = inputs.get("decoder_attention_mask", source).bool()
    return source if stack == "encoder" else target, target if stack == "decoder" else source
