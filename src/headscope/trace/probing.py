"""The short texts that a model is surveyed on, and what comes out of it."""

from typing import Any

import torch
from torch import Tensor

from headscope.models.model import Model
from headscope.text.encode import special_ids
from headscope.trace.inputs import padding_token

# Two lengths that no head count or hidden size is mistaken for, and that differ from each other.
SOURCE, TARGET = 7, 5


def longest_probe(model: Model) -> dict[str, Tensor]:
    """The one short text, without padding."""
    return probe_inputs(model, [(SOURCE, TARGET)])


def padded_probe(model: Model) -> dict[str, Tensor]:
    """Two short texts, of which the second is padded."""
    return probe_inputs(model, [(SOURCE, TARGET), (SOURCE - 2, TARGET - 2)])


def shorter_probe(model: Model) -> dict[str, Tensor]:
    """The second of them, by itself."""
    return probe_inputs(model, [(SOURCE - 2, TARGET - 2)])


def different_probe(model: Model) -> dict[str, Tensor]:
    """Two texts of one length that have no token in common at any place."""
    inputs = probe_inputs(model, [(SOURCE, TARGET)] * 2)
    for name in ("input_ids", "decoder_input_ids"):
        if name in inputs:
            inputs[name][1] = inputs[name][1].roll(1)
    return inputs


def probe_inputs(model: Model, lengths: list[tuple[int, int]]) -> dict[str, Tensor]:
    """A batch of ordinary tokens, padded to the first text, of (source, target) lengths."""
    special = special_ids(model.tokenizer)
    known = min(len(model.tokenizer), model.vocabulary or len(model.tokenizer), 1000)
    plain = [token for token in range(known) if token not in special]
    pad = padding_token(model)

    def padded_rows(sizes: list[int]) -> tuple[Tensor, Tensor]:
        rows = [(plain * size)[:size] + [pad] * (sizes[0] - size) for size in sizes]
        mask = [[1] * size + [0] * (sizes[0] - size) for size in sizes]
        return torch.tensor(rows, device=model.device), torch.tensor(mask, device=model.device)

    ids, mask = padded_rows([source for source, _ in lengths])
    inputs = {"input_ids": ids, "attention_mask": mask}
    if model.is_encoder_decoder:
        ids, mask = padded_rows([target for _, target in lengths])
        inputs |= {"decoder_input_ids": ids, "decoder_attention_mask": mask}
    return inputs


def state_of(output: Any) -> Tensor | None:
    """(text, token, width) what comes out of a core's last layer; None where nothing looks like it."""
    state = getattr(output, "last_hidden_state", None)
    parts = output.values() if hasattr(output, "values") else output
    return next((part for part in (state, *parts) if isinstance(part, Tensor) and part.dim() == 3), None)


def apart(state: Tensor, expected: Tensor) -> float:
    """The most by which the first text's states differ, as a share of the largest number; it has no padding."""
    if state.shape != expected.shape:
        return float("inf")
    largest = expected[0].abs().amax().clamp(min=1e-6)
    return float((state[0] - expected[0]).abs().amax() / largest)


def computed_in(model: Model) -> torch.dtype:
    """The precision to expect of what is computed: with weights in 8 or 4 bits, states are rounded as in half."""
    return torch.float16 if getattr(model.network, "is_quantized", False) else model.dtype
