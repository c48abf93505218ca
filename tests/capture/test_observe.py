"""The hook leaves no trace, and a layer that was missed is an error."""

import dataclasses
from copy import deepcopy

import pytest
import torch
import transformers as tf
from tests.helpers.tiny import sentencepiece_tokenizer, tiny, wordpiece_tokenizer

from headscope.capture import Capture, check_reachable, survey
from headscope.capture.observe import watching
from headscope.capture.surveying import check_probe
from headscope.errors import CaptureError, ModelError
from headscope.models import wrap
from headscope.models.stacks import Call, Place, sort_calls

IDS = torch.tensor([[2, 5, 6, 7, 3]])


def test_mode_and_attention_function_come_back_even_after_an_error() -> None:
    network = tf.BertModel(deepcopy(tiny("bert").config)).train()
    network.encoder.layer[0].eval()
    before = network.config._attn_implementation
    training = [module.training for module in network.modules()]

    def fail(_: torch.Tensor) -> None:
        assert not any(module.training for module in network.modules())
        raise KeyError("stop")

    with pytest.raises(KeyError), watching(network, fail):
        network(IDS)
    assert network.config._attn_implementation == before
    assert [module.training for module in network.modules()] == training


def test_output_of_the_model_is_unchanged_while_watched() -> None:
    network = tiny("bert").network
    with torch.inference_mode():
        plain = network(IDS).last_hidden_state
        with watching(network, lambda weights: None):
            watched = network(IDS).last_hidden_state
    torch.testing.assert_close(watched, plain, atol=1e-5, rtol=1e-4)


def test_training_mode_does_not_drop_weights() -> None:
    network = tf.BertModel(
        tf.BertConfig(**{**tiny("bert").config.to_dict(), "attention_probs_dropout_prob": 0.9})
    ).train()
    sums = []
    with watching(network, lambda weights: sums.append(weights.sum(-1))):
        network(IDS)
    for total in sums:
        torch.testing.assert_close(total, torch.ones_like(total))


def test_an_architecture_that_takes_the_hook_and_never_calls_it_is_reached_at_its_softmax(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headscope.capture.surveying.can_watch", lambda network: True)
    capture = survey(tiny("mpnet"))
    assert capture.road == "softmax"
    assert capture.stacks.grids[0].layers == 3


def test_where_an_edit_cannot_be_proved_the_maps_can_still_be_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(capture: Capture) -> None:
        raise CaptureError("not proved")

    monkeypatch.setattr("headscope.capture.surveying.prove_edit", refuse)
    capture = survey(tiny("mpnet"))
    assert capture.road == "returned attentions"
    assert capture.stacks.grids[0].layers == 3
    with pytest.raises(CaptureError, match=r"takes no edits \(not proved\)"):
        check_reachable(capture)


@pytest.mark.parametrize("change", [+1, -1])
def test_more_or_fewer_calls_than_expected_are_refused(change: int) -> None:
    capture = survey(tiny("bert"))
    places = capture.stacks.places
    wrong = (*places, Place("encoder", 3)) if change > 0 else places[:-1]
    broken = dataclasses.replace(capture, stacks=dataclasses.replace(capture.stacks, places=wrong))
    with pytest.raises(CaptureError, match=f"{len(wrong)} attention calls were expected"):
        broken.run({"input_ids": IDS, "attention_mask": torch.ones_like(IDS)}, lambda place, weights: None)


def test_a_model_without_attention_is_refused() -> None:
    config = tf.MambaConfig(hidden_size=16, num_hidden_layers=1, vocab_size=128, state_size=4)
    model = wrap(tf.MambaModel(config), sentencepiece_tokenizer(), name="tiny-mamba")
    with pytest.raises(ModelError, match="tiny-mamba"):
        survey(model)


def test_a_model_that_needs_more_than_text_is_refused() -> None:
    config = tf.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=32
    )
    model = wrap(tf.ViTModel(config), wordpiece_tokenizer(), name="tiny-vit")
    with pytest.raises(ModelError, match="cannot be run on text alone"):
        survey(model)


def test_layers_with_different_head_counts_are_refused() -> None:
    calls = [Call(7, 7, 4, False), Call(7, 7, 2, False)]
    with pytest.raises(CaptureError, match="different numbers of heads"):
        sort_calls(calls, source=7, target=None)


def test_maps_of_another_length_are_refused() -> None:
    with pytest.raises(CaptureError, match="3 x 3"):
        sort_calls([Call(3, 3, 4, False)], source=7, target=None)


def test_scores_that_are_not_weights_are_refused() -> None:
    scores = [torch.randn(2, 1, 7, 7)]
    with pytest.raises(CaptureError, match="not attention weights"):
        check_probe(tiny("bert"), scores, [scores[0][1:, :, :5, :5]])


def test_a_model_that_returns_scores_for_weights_is_seen_at_its_softmax() -> None:
    """SqueezeBERT returns its scores from before the softmax."""
    config = tf.SqueezeBertConfig(
        hidden_size=32,
        embedding_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=48,
        vocab_size=128,
        **{f"{name}_groups": 1 for name in ("q", "k", "v", "post_attention", "intermediate", "output")},
    )
    model = wrap(tf.SqueezeBertModel(config).eval(), wordpiece_tokenizer(), name="tiny-squeezebert")
    sums: list[torch.Tensor] = []
    inputs = {"input_ids": IDS, "attention_mask": torch.ones_like(IDS)}
    survey(model).run(inputs, lambda place, weights: sums.append(weights.sum(-1)))
    torch.testing.assert_close(sums[0], torch.ones_like(sums[0]))


def test_attention_to_padding_is_refused() -> None:
    maps = [torch.full((2, 1, 7, 7), 1 / 7)]
    with pytest.raises(CaptureError, match="attends to padding"):
        check_probe(tiny("bert"), maps, [torch.full((1, 1, 5, 5), 1 / 5)])


def test_a_model_that_computes_something_else_while_watched_is_refused() -> None:
    network = tf.BertModel(deepcopy(tiny("bert").config)).eval()
    own = network.config._attn_implementation

    def change(module: torch.nn.Module, given: object, output: dict[str, torch.Tensor]) -> object:
        if network.config._attn_implementation != own:
            output["last_hidden_state"] = output["last_hidden_state"] + 1
        return output

    hook = network.register_forward_hook(change)
    model = wrap(network, wordpiece_tokenizer(), name="two-faced")
    with pytest.raises(CaptureError, match=r"two-faced .* something else while .* watched .* by sdpa\)"):
        survey(model)
    hook.remove()
    assert survey(wrap(network, wordpiece_tokenizer())).hooked


def test_a_model_that_sees_ahead_only_without_padding_and_unwatched_is_refused() -> None:
    torch.manual_seed(0)
    layers = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    text = {"model_type": "gemma", "num_key_value_heads": 2, "head_dim": 8, "vocab_size": 128, **layers}
    vision = {"model_type": "siglip_vision_model", "image_size": 16, "patch_size": 8, **layers}
    config = tf.PaliGemmaConfig(
        text_config=text, vision_config=vision, image_token_index=127, projection_dim=32
    )
    network = tf.PaliGemmaModel(config).eval()
    model = wrap(network, sentencepiece_tokenizer(bos=True), name="tiny-paligemma")
    with pytest.raises(CaptureError, match=r"computes something else while .*attn_implementation='eager'"):
        survey(model)
    network.set_attn_implementation("eager")
    assert survey(wrap(network, sentencepiece_tokenizer(bos=True))).hooked


def test_weights_in_few_bits_may_round_as_half_precision_does() -> None:
    network = tf.BertModel(deepcopy(tiny("bert").config)).eval()
    own = network.config._attn_implementation

    def rounded(module: torch.nn.Module, given: object, output: dict[str, torch.Tensor]) -> object:
        if network.config._attn_implementation != own:
            output["last_hidden_state"] = output["last_hidden_state"] * 1.004  # as demo-lm in 8 bits
        return output

    network.register_forward_hook(rounded)
    with pytest.raises(CaptureError, match="something else while"):
        survey(wrap(network, wordpiece_tokenizer()))
    network.is_quantized = True
    assert survey(wrap(network, wordpiece_tokenizer())).hooked
