"""Pairs of tiny models of one shape: one, and the same with weights that moved."""

from copy import deepcopy
from functools import cache

import torch
from tests.helpers.tiny import tiny
from torch import Tensor

from headscope.models import Model


@cache
def moved(architecture: str, *, seed: int = 1, amount: float = 0.5) -> Model:
    """The tiny model after a made-up fine-tuning: every matrix moved by `amount` of its size in a random direction."""
    model = tiny(architecture)
    network = deepcopy(model.network)
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                noise = torch.randn(parameter.shape, generator=random)
                parameter.add_(amount * noise * parameter.norm() / noise.norm())
    return Model(f"moved-{architecture}", network.eval(), model.tokenizer)


def changed(architecture: str, name: str, factor: float, columns: slice = slice(None)) -> Model:
    """The tiny model with one matrix of its core multiplied; `columns` of it only."""
    model = tiny(architecture)
    network = deepcopy(model.network)
    with torch.no_grad():
        network.base_model.get_parameter(name)[:, columns] *= factor
    return Model(f"changed-{architecture}", network.eval(), model.tokenizer)


def own_maps(model: Model, inputs: dict[str, Tensor]) -> dict[str, list[Tensor]]:
    """The maps (text, head, query, key) that the model itself returns, eager, by stack."""
    network = deepcopy(model.network)
    network.set_attn_implementation("eager")
    with torch.inference_mode():
        output = network(**inputs, use_cache=False, output_attentions=True)
    if model.is_encoder_decoder:
        return {
            "encoder": list(output.encoder_attentions),
            "decoder": list(output.decoder_attentions),
            "cross": list(output.cross_attentions),
        }
    return {"decoder" if model.config.model_type == "gpt2" else "encoder": list(output.attentions)}
