"""Small things every task needs of a network."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headscope.errors import ModelError
from headscope.models import Model

_LENGTH = 6


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


def is_causal(model: Model) -> bool:
    """Whether changing the last token leaves what the network says of the others as it was."""
    special = set(model.tokenizer.all_special_ids)
    plain = [token for token in range(min(len(model.tokenizer), 1000)) if token not in special]
    ids = torch.tensor([(plain * _LENGTH)[:_LENGTH]] * 2, device=model.device)  # (2, token)
    ids[1, -1] = plain[-1] if plain[-1] != int(ids[0, -1]) else plain[0]
    with evaluating(model.network), torch.inference_mode():
        output = model.network(input_ids=ids, attention_mask=torch.ones_like(ids))
    before = output_of(output, "logits")[:, :-1]  # (2, token, vocabulary)
    return bool(torch.allclose(before[0], before[1], rtol=1e-3, atol=1e-3))
