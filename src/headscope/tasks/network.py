"""Small things every task needs of a network."""

from typing import Any

import torch
from torch import Tensor

from headscope.capture import nan_advice, surveyed
from headscope.errors import ModelError
from headscope.models import Model
from headscope.text.batching import TextBatch

PREDICTIONS = ("logits", "prediction_logits", "start_logits", "end_logits")
"""What the networks' outputs call the numbers that tasks read."""


def output_of(output: Any, *names: str) -> Tensor:
    """The first of the named fields that the network's output has, in float32 at least."""
    for name in names:
        found = getattr(output, name, None)
        if isinstance(found, Tensor):
            return found.float() if found.dtype in (torch.float16, torch.bfloat16) else found
    raise ModelError(f"the network's output ({type(output).__name__}) has no {' or '.join(names)}")


def check_output(model: Model, output: Any, text: TextBatch) -> None:
    """Raise if the network predicts nan for a real token or text: CaptureError where its attention is nan already."""
    for name in PREDICTIONS:
        found = getattr(output, name, None)
        by_token = name in ("start_logits", "end_logits")
        if not isinstance(found, Tensor) or not _holds_nan(found.detach(), text, by_token=by_token):
            continue
        if not model.is_encoder_decoder:  # whose decoder is not always given in the inputs
            surveyed(model).run(text.inputs, lambda place, weights: None)
        raise ModelError(
            f"{model.name}: its predictions ({name}) are nan though its attention is not, so they cannot be scored; "
            f"{nan_advice(model)}"
        )


def _holds_nan(found: Tensor, text: TextBatch, *, by_token: bool) -> bool:
    """Whether `found`, (text, token) if `by_token`, else (text, class) or (text, token, vocabulary), holds nan."""
    if not found.sum().isnan():  # the usual case, by one cheap reduction
        return False
    broken = found.isnan()
    if found.dim() == 3:
        broken, by_token = broken.any(-1), True
    real = text.source.is_token  # (text, token); padding may give anything
    if by_token and broken.shape == real.shape:
        broken = broken & real
    return bool(broken.any())
