"""Architectures without the attention interface (MPNet, DeBERTa, BLOOM, XLNet …).

They return their attention when asked, all layers at once. One batch's maps are then in memory together, which is
bounded; what this road cannot do (editing) is refused elsewhere, never ignored.
"""

from collections.abc import Mapping

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headscope.capture.observe import attention_function, evaluating
from headscope.errors import CaptureError
from headscope.models.adapters import adapter_for

# In the order of a forward pass, as far as stacks go: the encoder is done before the decoder starts.
_OUTPUTS = ("encoder_attentions", "attentions", "decoder_attentions", "cross_attentions")


def returned_attention(network: PreTrainedModel, inputs: Mapping[str, Tensor | bool]) -> list[Tensor]:
    """Every attention map of one forward pass, (text, head, query, key) each, stack by stack."""
    force = adapter_for(network.config).reads_attention_setting
    with attention_function(network, "eager", force=force), evaluating(network), torch.inference_mode():
        output = network(**inputs, output_attentions=True, return_dict=True)
    maps = [layer for name in _OUTPUTS for layer in (getattr(output, name, None) or ())]
    if any(not isinstance(layer, Tensor) or layer.dim() != 4 for layer in maps):
        raise CaptureError(f"{type(network).__name__} returns attention in a form headscope does not know")
    return maps
