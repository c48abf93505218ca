"""Small things every task needs of a network."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headscope.errors import ModelError


@contextmanager
def evaluating(network: PreTrainedModel) -> Iterator[None]:
    """Inside, the network does not drop anything out; afterwards every part is in the mode it was in."""
    modes = {module: module.training for module in network.modules()}
    network.train(False)
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def output_of(output: Any, *names: str) -> Tensor:
    """The first of the named fields that the network's output has, in float32 at least."""
    for name in names:
        found = getattr(output, name, None)
        if isinstance(found, Tensor):
            return found.float() if found.dtype in (torch.float16, torch.bfloat16) else found
    raise ModelError(f"the network's output ({type(output).__name__}) has no {' or '.join(names)}")
