"""What heads fetch and give after the output projection, against matrices that are found here by their names."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import pytest
import torch
from tests.helpers.eager import sides
from tests.helpers.odd_models import odd_model
from tests.helpers.reference_edits import batch
from tests.helpers.tiny import tiny
from tests.seams import OUTPUT_NORMS, Layers, layers_of, reduced
from torch import Tensor, nn
from transformers import BertConfig, BertModel

import headscope as hs
from headscope.errors import OptionError
from headscope.models.adapters import Adapter

# By stack, the module of each layer that the output of its heads goes into, and one whose input that is added to.
Names = Mapping[str, tuple[str, str | None]]
BERT: Names = {
    "encoder": ("encoder.layer.{}.attention.output.dense", "encoder.layer.{}.attention.self.value")
}
LLAMA: Names = {"decoder": ("layers.{}.self_attn.o_proj", "layers.{}.input_layernorm")}
NAMES: dict[str, Names] = {
    "bert": BERT,
    "roberta": BERT,
    "distilbert": {
        "encoder": ("transformer.layer.{}.attention.out_lin", "transformer.layer.{}.attention.v_lin")
    },
    "albert": {  # one module for all layers
        "encoder": (
            "encoder.albert_layer_groups.0.albert_layers.0.attention.dense",
            "encoder.albert_layer_groups.0.albert_layers.0.attention.value",
        )
    },
    "gpt2": {"decoder": ("h.{}.attn.c_proj", "h.{}.ln_1")},
    "llama": LLAMA,
    "gptoss": LLAMA,
    "gemma2": {"decoder": ("layers.{}.self_attn.o_proj", None)},  # a norm comes before what is added
    "t5": {
        "encoder": ("encoder.block.{}.layer.0.SelfAttention.o", "encoder.block.{}.layer.0.layer_norm"),
        "decoder": ("decoder.block.{}.layer.0.SelfAttention.o", "decoder.block.{}.layer.0.layer_norm"),
        "cross": ("decoder.block.{}.layer.1.EncDecAttention.o", "decoder.block.{}.layer.1.layer_norm"),
    },
    "bart": {
        "encoder": ("encoder.layers.{}.self_attn.out_proj", "encoder.layers.{}.self_attn.v_proj"),
        "decoder": ("decoder.layers.{}.self_attn.out_proj", "decoder.layers.{}.self_attn.v_proj"),
        "cross": ("decoder.layers.{}.encoder_attn.out_proj", "decoder.layers.{}.encoder_attn.q_proj"),
    },
}


def affine(module: nn.Module, width: int) -> tuple[Tensor, Tensor]:
    """(width, hidden) and (hidden,): what the module makes of each number by itself, and of nothing."""
    with torch.no_grad():
        bias = module(torch.zeros(1, 1, width))[0, 0]
        return module(torch.eye(width)[None])[0] - bias, bias


def moved_by_hand(
    layers: Layers, stack: str, layer: int, projection: nn.Module
) -> tuple[Tensor, Tensor, Tensor]:
    """(text, head, key, hidden) what heads fetch, (text, head, query, hidden) give, and (hidden,) the bias."""
    call = layers.calls[stack, layer]
    heads, width = call.weights.shape[1], call.value.shape[-1]
    matrix, bias = affine(projection, heads * width)
    value = call.value.repeat_interleave(heads // call.value.shape[1], 1)  # of the group's key/value head
    fetched = value @ matrix.view(heads, width, -1)
    return fetched, call.weights @ fetched, bias


@pytest.mark.parametrize("architecture", NAMES)
def test_weights_times_lengths_of_what_is_fetched(architecture: str) -> None:
    model, (inputs, _) = tiny(architecture), batch(architecture)
    layers, weighted = layers_of(model, inputs), layers_of(model, inputs, weighting="value")
    modules = dict(model.core.named_modules())
    assert weighted.keys() == layers.keys() == NAMES[architecture].keys()
    for stack, (output, _) in NAMES[architecture].items():
        for layer in range(len(layers[stack][0])):
            fetched, _, _ = moved_by_hand(layers, stack, layer, modules[output.format(layer)])
            lengths = fetched.norm(dim=-1)  # (text, head, key)
            for text, maps in enumerate(layers[stack]):
                moved = maps[layer] * lengths[text, :, None, : maps.shape[-1]]
                expected = moved / moved.sum(-1, keepdim=True)
                torch.testing.assert_close(weighted[stack][text][layer], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("architecture", NAMES)
def test_what_heads_give_and_the_stream_that_it_is_added_to(architecture: str) -> None:
    model = tiny(architecture)
    texts = [("The cat sat.", "A dog saw it."), ("A dog!", "It.")]
    modules = dict(model.core.named_modules())
    made: dict[nn.Module, list[Tensor]] = {}
    streams: dict[nn.Module, list[Tensor]] = {}
    with ExitStack() as hooks:
        for stack, (output, stream) in NAMES[architecture].items():
            for layer in range(2 if stack != "encoder" and "encoder" in NAMES[architecture] else 3):
                given = modules[output.format(layer)]
                added = modules[stream.format(layer)] if stream else None
                if given not in made:
                    made[given] = []
                    hooks.callback(given.register_forward_hook(_keeping(made[given])).remove)
                if added is not None and added not in streams:
                    streams[added] = []
                    hooks.callback(added.register_forward_pre_hook(_keeping(streams[added])).remove)
        layers_of(model, texts)  # the model is known, and what it was shown for that is not kept
        for kept in (*made.values(), *streams.values()):
            kept.clear()
        found = reduced(model, texts, [OUTPUT_NORMS])
    layers = layers_of(model, texts)
    for stack, (output, stream) in NAMES[architecture].items():
        for layer in range(found[stack][0].shape[1]):
            projection = modules[output.format(layer)]
            place = layer if "{}" not in output else 0
            _, given, bias = moved_by_hand(layers, stack, layer, projection)
            torch.testing.assert_close(given.sum(1) + bias, made[projection][place], atol=1e-5, rtol=1e-4)
            real = sides(stack, layers.inputs)[0]
            length = given.norm(dim=-1) * real[:, None]  # (text, head, query)
            together = (given * real[:, None, :, None]).sum(2).norm(dim=-1)
            against = torch.full_like(together, torch.nan)
            if stream:
                beside = streams[modules[stream.format(layer)]][place].norm(dim=-1)  # (text, query)
                against = (length / beside[:, None].clamp_min(1e-9)).sum(-1)
            expected = torch.stack([length.sum(-1), length.square().sum(-1), against, together], -1)
            torch.testing.assert_close(
                found[stack][0][:, layer],
                expected,
                atol=1e-4,
                rtol=1e-4,
                equal_nan=True,
            )


def _keeping(kept: list[Tensor]) -> Any:
    """A hook that keeps what a module makes, or before it runs, what it is given."""

    def keep(module: nn.Module, given: tuple[Tensor, ...], made: Tensor | None = None) -> None:
        kept.append(given[0] if made is None else made)

    return keep


def moved(model: hs.Model, **options: Any) -> hs.Atlas:
    return hs.analyze(model, ["The cat sat."], max_length=32, weigh="moved", sentences=0, **options)


def test_a_model_that_shows_no_values_is_refused_in_words() -> None:
    with pytest.raises(OptionError, match="not its values, so headscope can tell where its heads look"):
        moved(odd_model("by exponentials"))


def changed_bert(change: Any) -> Any:
    """A BERT whose attention output is changed on its way to the projection."""
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, vocab_size=128
    )
    model = BertModel(config).eval()
    for layer in model.encoder.layer:
        layer.attention.output.dense = change(layer.attention.output.dense)
    return hs.wrap(model, tiny("bert").tokenizer, name="changed")


class Squashed(nn.Module):
    """No linear map."""

    def __init__(self, dense: nn.Linear) -> None:
        super().__init__()
        self.dense = dense

    def forward(self, given: Tensor) -> Tensor:
        return torch.tanh(self.dense(torch.tanh(given)))


class LowRank(nn.Module):
    """A linear layer and what fine-tuning added to it, as LoRA does."""

    def __init__(self, dense: nn.Linear) -> None:
        super().__init__()
        self.dense = dense
        self.down, self.up = nn.Linear(32, 2, bias=False), nn.Linear(2, 32, bias=False)

    def forward(self, given: Tensor) -> Tensor:
        output: Tensor = self.dense(given) + self.up(self.down(given))
        return output


def test_what_is_no_linear_map_is_refused_in_words() -> None:
    with pytest.raises(OptionError, match="layer 0 of the encoder does not go straight into a linear map"):
        moved(changed_bert(Squashed))


def assert_weighted_by(model: hs.Model, projections: list[nn.Module]) -> None:
    """What is seen by value norms is by those of these projections."""
    text = ["The cat sat."]
    layers, weighted = layers_of(model, text), layers_of(model, text, weighting="value")
    for layer, projection in enumerate(projections):
        fetched, _, _ = moved_by_hand(layers, "encoder", layer, projection)
        expected = layers["encoder"][0][layer] * fetched.norm(dim=-1)[0, :, None]
        expected /= expected.sum(-1, keepdim=True)
        torch.testing.assert_close(weighted["encoder"][0][layer], expected, atol=1e-5, rtol=1e-4)


def test_a_map_of_several_modules_is_taken_as_a_whole() -> None:
    model = changed_bert(LowRank)
    assert_weighted_by(model, [layer.attention.output.dense for layer in model.network.encoder.layer])


def test_an_adapter_may_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    named = nn.Linear(32, 32)
    monkeypatch.setattr(Adapter, "output_projection", lambda self, attention: named)
    assert_weighted_by(changed_bert(Squashed), [named, named])


def test_value_weighted_shares_of_a_longer_value_matrix_stay() -> None:
    model = changed_bert(lambda dense: dense)
    text = ["The cat sat on the mat. It was red, and the dog saw it."]
    before = hs.analyze(model, text, measures=["role_attention", "loudness"], sentences=0)
    with torch.no_grad():
        for layer in model.core.encoder.layer[1:]:  # the last: what comes after sees other states
            layer.attention.self.value.weight[:8] *= 5
            layer.attention.self.value.bias[:8] *= 5
    after = hs.analyze(model, text, measures=["role_attention", "loudness"], sentences=0)
    for name in ("role_attention", "role_attention_moved"):
        assert float(abs(before[name] - after[name]).max()) < 1e-5
    assert float(after["loudness"].sel(layer=1, head=0)) > 2 * float(before["loudness"].sel(layer=1, head=0))
