"""Slow and obvious edits of attention to compare with: an eager function with loops in place of the model's own.

It shares nothing with headscope: layers are counted here, and what a query may see is told by the lengths of the
texts, causality and the window, not by masks.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from tests.helpers.tiny import tiny
from torch import Tensor
from transformers import PreTrainedModel

Spot = tuple[str, int]
"""Stack and layer."""

DECODERS = ("gpt2", "llama", "gemma2", "gptoss")
BOTH = ("t5", "bart")
EDITABLE = ("bert", "roberta", "distilbert", "albert", "electra", *DECODERS, *BOTH)

SPOTS: dict[str, list[Spot]] = {
    **{name: [("encoder", layer) for layer in range(3)] for name in EDITABLE},
    **{name: [("decoder", layer) for layer in range(3)] for name in DECODERS},
    **{
        name: [
            *(("encoder", layer) for layer in range(3)),
            *((stack, layer) for layer in range(2) for stack in ("decoder", "cross")),
        ]
        for name in BOTH
    },
}

SOURCE, TARGET = (12, 9), (6, 4)


@dataclass
class Reference:
    """An edit: heads by stack and layer, and all it needs."""

    heads: Mapping[Spot, list[int]]
    how: str
    renormalise: bool = False
    means: Mapping[str, Tensor] | None = None
    source: list[list[int]] = field(default_factory=list)  # the sentence of each token of each text
    target: list[list[int]] = field(default_factory=list)
    real_source: list[list[bool]] = field(default_factory=list)
    real_target: list[list[bool]] = field(default_factory=list)

    def rows(self, spot: Spot, head: int, weights: Tensor, window: int | None) -> Tensor:
        """New weights (text, query, key) of one head."""
        new = weights.clone()
        stack = spot[0]
        queries = self.target if self.target and stack != "encoder" else self.source
        keys = self.target if self.target and stack == "decoder" else self.source
        for text in range(weights.shape[0]):
            visible = sees(self, spot, text, weights.shape[1:], window)
            for query in range(weights.shape[1]):
                if self.how == "zero":
                    new[text, query] = 0
                elif self.how == "uniform":
                    new[text, query] = visible[query] / visible[query].sum().clamp(min=1)
                else:
                    total = new[text, query].sum()
                    for key in range(weights.shape[2]):
                        same = queries[text][query] == keys[text][key]
                        if same == (self.how == "intra"):
                            new[text, query, key] = 0
                    if self.renormalise and new[text, query].sum() > 0:
                        new[text, query] *= total / new[text, query].sum()
        return new


def sees(known: Reference, spot: Spot, text: int, shape: Sequence[int], window: int | None) -> Tensor:
    """(query, key) 1 where a query of a text may see the key: told by lengths, direction and window."""
    stack = spot[0]
    real = known.real_target if known.target and stack == "decoder" else known.real_source
    found = torch.zeros(*shape)
    for query in range(shape[0]):
        for key in range(shape[1]):
            ahead = stack == "decoder" and key > query
            far = window is not None and query - key >= window
            found[query, key] = float(real[text][key] and not ahead and not far)
    return found


@contextmanager
def patched(architecture: str, network: PreTrainedModel, edit: Reference) -> Iterator[None]:
    """Inside, `network` computes attention with the edit, in its own file's eager function."""
    spots = SPOTS[architecture]
    calls = 0
    source = sys.modules[type(network.base_model).__module__]
    own: Callable[..., tuple[Tensor, Tensor]] = vars(source)["eager_attention_forward"]

    def edited(module: Any, query: Any, key: Any, value: Tensor, mask: Any, **options: Any) -> Any:
        nonlocal calls
        spot = spots[calls % len(spots)]
        calls += 1
        output, weights = own(module, query, key, value, mask, **options)
        output, weights = output.clone(), weights.clone()
        group = weights.shape[1] // value.shape[1]
        for head in edit.heads.get(spot, []):
            if edit.how == "mean":
                assert edit.means is not None
                output[:, :, head] = edit.means[spot[0]][spot[1], head]
            else:
                window = getattr(module, "sliding_window", None)
                weights[:, head] = edit.rows(spot, head, weights[:, head], window)
                output[:, :, head] = weights[:, head] @ value[:, head // group]
        return output, weights

    before = network.config._attn_implementation
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "eager_attention_forward", edited)
        network.set_attn_implementation("eager")
        try:
            yield
        finally:
            network.set_attn_implementation(before)


def batch(architecture: str, *, left: bool = False) -> tuple[dict[str, Tensor], Reference]:
    """Two padded texts, and a reference that knows their sentences and lengths."""
    generator = torch.Generator().manual_seed(3)
    edit = Reference({}, "zero")

    def rows(lengths: tuple[int, int]) -> tuple[Tensor, Tensor, list[list[int]]]:
        longest = max(lengths)
        mask = torch.zeros(2, longest, dtype=torch.long)
        for text, length in enumerate(lengths):
            mask[text, longest - length :] = 1
            if not left:
                mask[text] = mask[text].flip(0)
        ids = torch.randint(5, 60, (2, longest), generator=generator) * mask
        sentences = [[int(token > 2 + text) + int(token > 6) for token in range(longest)] for text in (0, 1)]
        return ids, mask, sentences

    ids, mask, edit.source = rows(SOURCE)
    edit.real_source = mask.bool().tolist()
    inputs = {"input_ids": ids, "attention_mask": mask}
    if architecture in BOTH:
        ids, mask, edit.target = rows(TARGET)
        edit.real_target = mask.bool().tolist()
        inputs |= {"decoder_input_ids": ids, "decoder_attention_mask": mask}
    return inputs, edit


def real_states(states: Tensor, inputs: Mapping[str, Tensor]) -> Tensor:
    """(token, width) the states of real tokens."""
    mask = inputs.get("decoder_attention_mask", inputs.get("attention_mask"))
    return states.flatten(0, 1) if mask is None else states[mask.bool()]


def run(architecture: str, inputs: Mapping[str, Tensor]) -> Tensor:
    """(token, width) the last states of real tokens, as plain transformers gives them."""
    with torch.no_grad():
        return real_states(tiny(architecture).network(**inputs)[0], inputs)


def bert_by_hand(network: Any, inputs: Mapping[str, Tensor], edit: Reference) -> Tensor:
    """(text, token, width) BERT written out from its parameters alone."""
    parameters = dict(network.named_parameters())
    heads = network.config.num_attention_heads

    def linear(name: str, states: Tensor) -> Tensor:
        return states @ parameters[f"{name}.weight"].T + parameters[f"{name}.bias"]

    def normed(name: str, states: Tensor) -> Tensor:
        centred = states - states.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + network.config.layer_norm_eps).sqrt()
        return scaled * parameters[f"{name}.weight"] + parameters[f"{name}.bias"]

    ids = inputs["input_ids"]
    tables = {
        kind: parameters[f"embeddings.{kind}_embeddings.weight"]
        for kind in ("word", "position", "token_type")
    }
    segments = inputs.get("token_type_ids", torch.zeros_like(ids))
    states = tables["word"][ids] + tables["position"][: ids.shape[1]] + tables["token_type"][segments]
    states = normed("embeddings.LayerNorm", states)
    for layer in range(network.config.num_hidden_layers):
        name = f"encoder.layer.{layer}"
        parts = [
            linear(f"{name}.attention.self.{part}", states).unflatten(-1, (heads, -1))
            for part in ("query", "key", "value")
        ]  # (text, token, head, dim) each
        mixed = torch.zeros_like(parts[2])
        for head in range(heads):
            query, key, value = (part[:, :, head] for part in parts)
            scores = query @ key.transpose(1, 2) / query.shape[-1] ** 0.5
            hidden = ~torch.tensor(edit.real_source)[:, None, :].expand_as(scores)
            weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
            if head in edit.heads.get(("encoder", layer), []):
                if edit.how == "mean":
                    assert edit.means is not None
                    mixed[:, :, head] = edit.means["encoder"][layer, head]
                    continue
                weights = edit.rows(("encoder", layer), head, weights, None)
            mixed[:, :, head] = weights @ value
        attended = linear(f"{name}.attention.output.dense", mixed.flatten(2))
        states = normed(f"{name}.attention.output.LayerNorm", attended + states)
        inner = torch.nn.functional.gelu(linear(f"{name}.intermediate.dense", states))
        states = normed(f"{name}.output.LayerNorm", linear(f"{name}.output.dense", inner) + states)
    return states
