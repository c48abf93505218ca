"""Looking on leaves no trace, and what cannot be trusted is refused: layers that were missed, maps that are none."""

from copy import deepcopy
from typing import Any

import pytest
import torch
import transformers as tf
from tests.helpers.odd_models import Way, diffllama, odd_model
from tests.helpers.tiny import sentencepiece_tokenizer, tiny, wordpiece_tokenizer
from tests.seams import differentiated, layers_of
from torch import Tensor, nn

import headscope as hs
from headscope.errors import CaptureError, InterventionError, ModelError

TEXTS = ["The cat sat on the mat.", "A dog!"]


def atlas_of(model: hs.Model, **options: Any) -> hs.Atlas:
    return hs.analyze(model, TEXTS, max_length=32, measures=["entropy"], sentences=0, **options)


def way_to(model: hs.Model) -> str:
    """How the model's attention is seen."""
    return str(atlas_of(model).provenance["options"]["captured_by"])


def bert(**changes: Any) -> tf.BertModel:
    torch.manual_seed(0)
    return tf.BertModel(tf.BertConfig(**{**tiny("bert").config.to_dict(), **changes}))


def wrapped(network: tf.PreTrainedModel, name: str = "made") -> hs.Model:
    return hs.wrap(network, wordpiece_tokenizer(), name=name)


def test_mode_and_attention_function_come_back_even_after_an_error() -> None:
    network = bert().train()
    network.encoder.layer[0].eval()
    before = network.config._attn_implementation
    training = [module.training for module in network.modules()]
    model = wrapped(network)
    layers_of(model, TEXTS)

    def fail(*_: object) -> None:
        assert not any(module.training for module in network.modules())
        raise KeyError("stop")

    hook = network.encoder.layer[1].register_forward_pre_hook(fail)
    for kernels in (True, False):
        with pytest.raises(KeyError, match="stop"):
            atlas_of(model, kernels=kernels)
        assert network.config._attn_implementation == before
        assert [module.training for module in network.modules()] == training
    hook.remove()
    assert layers_of(model, TEXTS)


def test_training_mode_does_not_drop_weights() -> None:
    network = bert(attention_probs_dropout_prob=0.9).train()
    for maps in layers_of(wrapped(network), TEXTS)["encoder"]:
        torch.testing.assert_close(maps.sum(-1), torch.ones_like(maps[..., 0]))


def test_a_model_that_shows_its_maps_when_asked_can_be_looked_at_and_no_more() -> None:
    model = odd_model("by exponentials")
    assert way_to(model) == "returned attentions"
    found = layers_of(model, TEXTS)
    output = model.network(**found.inputs, output_attentions=True)
    lengths = found.inputs["attention_mask"].sum(-1).tolist()
    for text, (maps, length) in enumerate(zip(found["encoder"], lengths, strict=True)):
        expected = torch.stack([layer[text, :, :length, :length] for layer in output.attentions])
        assert torch.equal(maps, expected)
    with pytest.raises(InterventionError, match="can be watched but not edited"), hs.edit(model, "1.0"):
        raise AssertionError("never here")
    with pytest.raises(CaptureError, match="not reached while it runs"), differentiated(model):
        raise AssertionError("never here")


def test_where_an_edit_cannot_be_proved_the_maps_can_still_be_looked_at() -> None:
    model = odd_model("beside")
    assert way_to(model) == "returned attentions"
    with (
        pytest.raises(CaptureError, match=r"takes no edits \(.*changes nothing that comes out"),
        differentiated(model),
    ):
        raise AssertionError("never here")


@pytest.mark.parametrize(
    ("way", "says"),
    [
        ("scores", "something that is not attention weights"),
        ("sees padding", "attends to padding"),
        ("fewer heads above", r"different numbers of heads \(2, 4\)"),
        ("pooled", "an attention map of 3 x 3 tokens does not fit a text of 7 tokens"),
    ],
)
def test_maps_that_are_no_attention_between_tokens_are_refused(way: Way, says: str) -> None:
    with pytest.raises(CaptureError, match=says):
        atlas_of(odd_model(way))


@pytest.fixture
def changed_later() -> tuple[hs.Model, nn.Module]:
    """A model that has been looked at, and its second layer."""
    model = wrapped(deepcopy(tiny("bert").network))
    layers_of(model, TEXTS)
    return model, model.network.encoder.layer[1]


@pytest.mark.parametrize("kernels", [True, False])
def test_a_layer_that_is_left_out_is_told_of(
    kernels: bool, changed_later: tuple[hs.Model, nn.Module]
) -> None:
    model, layer = changed_later
    layer.forward = lambda states, *_, **__: states
    with pytest.raises(
        CaptureError, match="3 attention calls were expected in a forward pass and 2 were seen"
    ):
        atlas_of(model, kernels=kernels)


def test_a_layer_that_attends_once_more_is_told_of(changed_later: tuple[hs.Model, nn.Module]) -> None:
    model, layer = changed_later
    once = layer.attention.forward
    layer.attention.forward = lambda states, *given, **named: (
        once(states, *given, **named),
        once(states, *given, **named),
    )[1]
    with pytest.raises(
        CaptureError, match="3 attention calls were expected in a forward pass and 4 were seen"
    ):
        layers_of(model, TEXTS)


def test_a_layer_that_attends_twice_with_the_same_weights_is_seen_once() -> None:
    """DiffLlama's, on other values each time: what its heads give is not told."""
    model = diffllama()
    (maps,) = layers_of(model, ["the cat sat"])["decoder"]
    assert maps.shape[:2] == (2, 4)
    torch.testing.assert_close(maps.sum(-1), torch.ones_like(maps[..., 0]))
    assert (maps[0] - maps[1]).abs().max() > 1e-3
    with pytest.raises(CaptureError, match="uses the weights of a layer 2 times"), differentiated(model):
        raise AssertionError("never here")


def test_a_model_without_attention_is_refused() -> None:
    config = tf.MambaConfig(hidden_size=16, num_hidden_layers=1, vocab_size=128, state_size=4)
    model = hs.wrap(tf.MambaModel(config), sentencepiece_tokenizer(), name="tiny-mamba")
    with pytest.raises(ModelError, match=r"tiny-mamba .* has no attention that can be observed"):
        atlas_of(model)


def test_a_model_that_needs_more_than_text_is_refused() -> None:
    config = tf.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=32
    )
    with pytest.raises(ModelError, match="cannot be run on text alone"):
        atlas_of(wrapped(tf.ViTModel(config), "tiny-vit"))


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
    for maps in layers_of(wrapped(tf.SqueezeBertModel(config).eval()), TEXTS)["encoder"]:
        torch.testing.assert_close(maps.sum(-1), torch.ones_like(maps[..., 0]))


def test_a_model_that_computes_something_else_while_watched_is_refused() -> None:
    network = bert().eval()
    own = network.config._attn_implementation

    def change(module: nn.Module, given: object, output: dict[str, Tensor]) -> object:
        if network.config._attn_implementation != own:
            output["last_hidden_state"] = output["last_hidden_state"] + 1
        return output

    hook = network.register_forward_hook(change)
    with pytest.raises(CaptureError, match=r"two-faced .* something else while .* watched .* by sdpa\)"):
        atlas_of(wrapped(network, "two-faced"))
    hook.remove()
    assert way_to(wrapped(network)) == "hook"


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
    with pytest.raises(CaptureError, match=r"computes something else while .*attn_implementation='eager'"):
        atlas_of(hs.wrap(network, sentencepiece_tokenizer(bos=True), name="tiny-paligemma"))
    network.set_attn_implementation("eager")
    assert way_to(hs.wrap(network, sentencepiece_tokenizer(bos=True))) == "hook"


def test_weights_in_few_bits_may_round_as_half_precision_does() -> None:
    network = bert().eval()
    own = network.config._attn_implementation

    def rounded(module: nn.Module, given: object, output: dict[str, Tensor]) -> object:
        if network.config._attn_implementation != own:
            output["last_hidden_state"] = output["last_hidden_state"] * 1.004  # as demo-lm in 8 bits
        return output

    network.register_forward_hook(rounded)
    with pytest.raises(CaptureError, match="something else while"):
        atlas_of(wrapped(network))
    network.is_quantized = True
    assert way_to(wrapped(network)) == "hook"
