"""Small things every task needs of a network."""

from typing import Any

import torch
from torch import Tensor

from headscope.errors import ModelError


def output_of(output: Any, *names: str) -> Tensor:
    """The first of the named fields that the network's output has, in float32 at least."""
    for name in names:
        found = getattr(output, name, None)
        if isinstance(found, Tensor):
            return found.float() if found.dtype in (torch.float16, torch.bfloat16) else found
    raise ModelError(f"the network's output ({type(output).__name__}) has no {' or '.join(names)}")
