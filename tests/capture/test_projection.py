"""The output projection is found by watching, and what heads move through it adds up to what the layer gives."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.capture.test_exact import batch_for
from tests.helpers.tiny import tiny
from torch import Tensor, nn
from transformers import BertConfig, BertModel

import headscope as hs
from headscope.capture import Carrier, output_projections, run_calls, survey
from headscope.capture.call import AttentionCall
from headscope.errors import CaptureError
from headscope.models.stacks import Place

NAMES = {
    "bert": ("attention.output.dense", "attention.self.value"),
    "roberta": ("attention.output.dense", "attention.self.value"),
    "distilbert": ("attention.out_lin", "attention.v_lin"),
    "albert": ("attention.dense", "attention.value"),
    "gpt2": ("attn.c_proj", "ln_1"),
    "llama": ("self_attn.o_proj", "input_layernorm"),
    "gptoss": ("self_attn.o_proj", "input_layernorm"),
    "gemma2": ("self_attn.o_proj", None),  # a norm comes before what is added
    "t5": ("Attention.o", "layer_norm"),
    "bart": ("out_proj", "_proj"),
}


@pytest.mark.parametrize("architecture", NAMES)
def test_the_map_and_the_residual_stream_are_found(architecture: str) -> None:
    model = tiny(architecture)
    capture = survey(model)
    names = {module: name for name, module in model.core.named_modules()}
    found = output_projections(capture)
    assert set(found) == set(capture.stacks.places)
    for projection in found.values():
        output, residual = NAMES[architecture]
        assert names[projection.module].endswith(output)
        if residual is None:
            assert projection.residual is None
        else:
            assert projection.residual is not None
            assert names[projection.residual].endswith(residual)


@pytest.mark.parametrize("architecture", NAMES)
def test_what_heads_move_adds_up_to_what_the_layer_gives(architecture: str) -> None:
    model = tiny(architecture)
    capture = survey(model)
    found, carrier = output_projections(capture), Carrier(capture)
    made: list[Tensor] = []
    totals: list[Tensor] = []
    lengths: list[float] = []

    def see(place: Place, call: AttentionCall) -> None:
        heads, width = call.weights.shape[1], call.value.shape[-1]
        matrix, bias = found[place].matrix(heads, width)
        value = call.value.repeat_interleave(heads // call.value.shape[1], 1)  # of the group's key/value head
        moved = value @ matrix  # (text, head, key, hidden) f
        given = call.weights @ moved  # (text, head, query, hidden) y
        totals.append(given.sum(1) if bias is None else given.sum(1) + bias)
        carried = carrier.carried(place, call.value, call.output)
        lengths.append(float((carried.fetched - moved.norm(dim=-1)).abs().amax()))
        lengths.append(float((carried.given - given.norm(dim=-1)).abs().amax()))

    hooks = [
        module.register_forward_hook(lambda module, given, output: made.append(output))
        for module in {projection.module for projection in found.values()}
    ]
    try:
        run_calls(capture, batch_for(architecture).inputs, see)
    finally:
        for hook in hooks:
            hook.remove()
    assert len(made) == len(totals) == len(capture.stacks.places)
    for total, output in zip(totals, made, strict=True):
        torch.testing.assert_close(total, output, atol=1e-5, rtol=1e-5)
    assert max(lengths) < 1e-4


def test_the_residual_stream_is_what_the_output_is_added_to() -> None:
    model = tiny("bert")
    capture = survey(model)
    carrier = Carrier(capture)
    streams: list[Tensor] = []
    with carrier.watching():
        run_calls(
            capture,
            batch_for("bert").inputs,
            lambda place, call: streams.append(carrier.carried(place, call.value, call.output).residual),  # type: ignore[arg-type]
        )
    with torch.inference_mode():
        states = model.core(**batch_for("bert").inputs, output_hidden_states=True).hidden_states
    for stream, state in zip(streams, states, strict=False):
        torch.testing.assert_close(stream, state.norm(dim=-1), atol=1e-4, rtol=1e-4)


def test_a_model_that_shows_no_values_is_refused_in_words() -> None:
    capture = replace(survey(tiny("mpnet")), hooked=False)
    with pytest.raises(CaptureError, match="not its values, so headscope can tell where its heads look"):
        output_projections(capture)


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
    with pytest.raises(CaptureError, match="layer 0 of the encoder does not go straight into a linear map"):
        output_projections(survey(changed_bert(Squashed)))


def test_a_map_of_several_modules_is_taken_as_a_whole() -> None:
    model = changed_bert(LowRank)
    found = output_projections(survey(model))
    projection = found[Place("encoder", 0)]
    assert isinstance(projection.module, LowRank)
    weight, bias = projection.matrix(4, 8)
    given = torch.randn(1, 5, 32)
    with torch.no_grad():
        expected = projection.module(given)
    assert bias is not None
    torch.testing.assert_close(given @ weight.reshape(32, 32) + bias, expected, atol=1e-5, rtol=1e-5)


def test_moved_shares_of_a_longer_value_matrix_stay() -> None:
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


def test_an_adapter_may_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = changed_bert(Squashed)
    by_name = lambda self, attention: nn.Linear(32, 32)  # noqa: E731
    monkeypatch.setattr("headscope.models.adapters.base.Adapter.output_projection", by_name)
    found = output_projections(survey(model))
    assert isinstance(found[Place("encoder", 1)].module, nn.Linear)
