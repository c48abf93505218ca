"""A network of a model's shape that has learned nothing: what its heads reach is no knowledge of the model."""

import copy
from typing import Any

import torch

from headscope.models.load import wrap
from headscope.models.model import Model


def untrained(model: Model, *, seed: int) -> Model:
    """A network of the same shape with the random weights its training would start from, and the same tokenizer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: Any = type(model.core)(copy.deepcopy(model.core.config))
    network.to(device=model.device, dtype=model.dtype)
    return wrap(network.eval(), model.tokenizer, name=f"{model.name} with random weights")
