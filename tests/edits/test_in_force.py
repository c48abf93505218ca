"""An edit is there for whoever runs the model, is checked, nests, and is gone afterwards."""

import threading
import warnings
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
import transformers as tf
from tests.helpers.reference_edits import BOTH, EDITABLE, Reference, batch, bert_by_hand, patched, run
from tests.helpers.tiny import sentencepiece_tokenizer, tiny, wordpiece_tokenizer
from torch import Tensor, nn

from headscope.edits import edit, mean_outputs
from headscope.errors import CaptureError, HeadscopeWarning, OptionError
from headscope.models import Model, wrap
from headscope.trace import AttentionCall, Forward, following, survey, surveyed
from headscope.trace.architecture import Place


def hooks_of(network: nn.Module) -> int:
    return sum(len(one._forward_hooks) + len(one._forward_pre_hooks) for one in network.modules())


@pytest.mark.parametrize("architecture", EDITABLE)
def test_nothing_is_left_behind_after_an_exception(architecture: str) -> None:
    inputs, _ = batch(architecture)
    network = tiny(architecture).network
    plain, hooks = run(architecture, inputs), hooks_of(network)
    before = [
        one.config._attn_implementation for one in network.modules() if isinstance(one, tf.PreTrainedModel)
    ]
    with pytest.raises(KeyError), edit(tiny(architecture), "all"):
        _fail(run(architecture, inputs))
    after = [
        one.config._attn_implementation for one in network.modules() if isinstance(one, tf.PreTrainedModel)
    ]
    assert (after, hooks_of(network)) == (before, hooks)
    assert torch.equal(run(architecture, inputs), plain)


def test_a_forward_pass_that_fails_does_not_confuse_the_next() -> None:
    inputs, _ = batch("bert")
    with edit(tiny("bert"), "1.1") as applied:
        expected = run("bert", inputs)
        broken = tiny("bert").network.encoder.layer[1].output.dense.register_forward_pre_hook(_fail)
        with pytest.raises(KeyError):
            run("bert", inputs)
        broken.remove()
        assert torch.equal(run("bert", inputs), expected)
        assert applied.forwards == 2
        with pytest.raises(CaptureError, match="outside of a forward pass"):
            tiny("bert").network.encoder.layer[0](torch.zeros(1, 3, 32))


def _fail(*_: object) -> None:
    raise KeyError("stop")


def test_the_mode_is_left_alone() -> None:
    network = tf.BertModel(deepcopy(tiny("bert").config)).train()
    network.encoder.layer[0].eval()
    modes = [module.training for module in network.modules()]
    model = wrap(network, wordpiece_tokenizer(), name="training")
    with edit(model, "1.1"):
        assert [module.training for module in network.modules()] == modes
        network(torch.tensor([[5, 6, 7]]))
    assert [module.training for module in network.modules()] == modes


@pytest.mark.parametrize("architecture", ["bert", "llama", "t5"])
def test_other_heads_stay_bit_for_bit(architecture: str) -> None:
    inputs, _ = batch(architecture)
    capture = surveyed(tiny(architecture))
    stack = capture.stacks.grids[0].stack

    def outputs() -> Tensor:
        seen: list[Tensor] = []

        def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
            seen.append(call.output)
            return call

        with following(capture, [Place(stack, 1)], handle):
            run(architecture, inputs)
        return seen[0]  # (text, query, head, dim)

    plain = outputs()
    for how in ("zero", "uniform"):
        with edit(capture, [(stack, 1, 2)], how=how):  # type: ignore[arg-type]
            edited = outputs()
        others = [0, 1, 3]
        assert torch.equal(edited[:, :, others], plain[:, :, others])
        assert not torch.equal(edited[:, :, 2], plain[:, :, 2])


def test_layers_without_an_edit_take_the_fast_road(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    real = nn.functional.scaled_dot_product_attention

    def counted(*arguments: Any, **options: Any) -> Tensor:
        nonlocal calls
        calls += 1
        return real(*arguments, **options)

    capture = survey(tiny("bert"))
    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", counted)
    inputs, _ = batch("bert")
    run("bert", inputs)
    assert calls == 3, "what this test counts on"
    with edit(tiny("bert"), "1.2"):
        run("bert", inputs)
        assert calls == 5
        capture.run(inputs, lambda place, weights: None)
        assert calls == 5, "who watches wants weights"
    run("bert", inputs)
    assert calls == 8


def test_edits_of_different_heads_nest() -> None:
    inputs, reference = batch("bert")
    both = replace(reference, heads={("encoder", 1): [0, 3], ("encoder", 2): [2]}, how="zero")
    with patched("bert", tiny("bert").network, both):
        expected = run("bert", inputs)
    with edit(tiny("bert"), "1.0"), edit(tiny("bert"), "1.3, 2.2"):
        torch.testing.assert_close(run("bert", inputs), expected, atol=1e-5, rtol=1e-5)
    with edit(tiny("bert"), "1.0") as outer:
        run("bert", inputs)
        with edit(tiny("bert"), "1.3, 2.2"):
            run("bert", inputs)
        assert outer.forwards == 2


def test_on_one_head_the_inner_edit_works_on_what_the_outer_left() -> None:
    inputs, reference = batch("bert")
    uniform = replace(reference, heads={("encoder", 1): [1]}, how="uniform")
    zero = replace(uniform, how="zero")
    sentences = torch.tensor(reference.source)
    model = tiny("bert")
    with patched("bert", model.network, uniform):
        expected = run("bert", inputs)
    means = mean_outputs(model, [inputs])
    for outer in ({"how": "zero"}, {"how": "mean", "means": means}):
        with edit(model, "1.1", **outer), edit(model, "1.1", how="uniform"):  # type: ignore[arg-type]
            torch.testing.assert_close(run("bert", inputs), expected, atol=1e-5, rtol=1e-5)
    with patched("bert", model.network, zero):
        expected = run("bert", inputs)
    with (
        edit(model, "1.1", how="intra", sentences=sentences),
        edit(model, "1.1", how="inter", sentences=sentences),
    ):
        torch.testing.assert_close(run("bert", inputs), expected, atol=1e-5, rtol=1e-5)


def test_masking_a_head_that_gives_its_mean_is_refused() -> None:
    inputs, reference = batch("bert")
    means = mean_outputs(tiny("bert"), [inputs])
    with (
        edit(tiny("bert"), "1.1", how="mean", means=means),
        pytest.raises(OptionError, match="would do nothing"),
        edit(tiny("bert"), "1.0, 1.1", how="intra", sentences=torch.tensor(reference.source)),
    ):
        run("bert", inputs)


@pytest.mark.parametrize("architecture", ["bert", "gemma2", "t5"])
def test_who_watches_sees_the_edit(architecture: str) -> None:
    inputs, _ = batch(architecture)
    capture = surveyed(tiny(architecture))
    with edit(capture, "all"):
        seen: list[Tensor] = []
        capture.run(inputs, lambda place, weights: seen.append(weights))
    assert len(seen) == len(capture.stacks.places)
    assert not any(weights.any() for weights in seen)


def test_a_survey_sees_the_model_without_its_edits() -> None:
    """A zeroed encoder looks ahead nowhere, as a decoder does."""
    with edit(tiny("bert"), "all") as applied:
        assert survey(tiny("bert")).stacks == surveyed(tiny("bert")).stacks
        assert applied.forwards == 0
        run("bert", batch("bert")[0])
        assert applied.forwards == 1


def test_another_thread_has_the_edit_too() -> None:
    inputs, _ = batch("bert")
    found: list[Tensor] = []
    with edit(tiny("bert"), "1.1"):
        thread = threading.Thread(target=lambda: found.append(run("bert", inputs)))
        thread.start()
        thread.join()
        assert torch.equal(found[0], run("bert", inputs))
    assert not torch.equal(found[0], run("bert", inputs))


def test_another_network_with_the_same_configuration_is_left_alone() -> None:
    inputs, _ = batch("bert")
    other = tf.BertModel(tiny("bert").network.config).eval()
    with torch.no_grad():
        plain = other(**inputs)[0]
        with edit(tiny("bert"), "all"):
            run("bert", inputs)
            torch.testing.assert_close(other(**inputs)[0], plain)


def test_the_task_head_sees_the_edit() -> None:
    torch.manual_seed(1)
    network = tf.BertForSequenceClassification(deepcopy(tiny("bert").config)).eval()
    inputs, reference = batch("bert")
    reference = replace(reference, heads={("encoder", 1): [0, 1]}, how="zero")
    with torch.no_grad():
        states = bert_by_hand(network.bert, inputs, reference)
        expected = network.classifier(network.bert.pooler(states))
        with edit(wrap(network, wordpiece_tokenizer()), "1.0, 1.1"):
            torch.testing.assert_close(network(**inputs).logits, expected, atol=1e-5, rtol=1e-5)


def writers() -> dict[str, Model]:
    torch.manual_seed(2)
    decoder = tf.GPT2LMHeadModel(deepcopy(tiny("gpt2").config)).eval()
    decoder.transformer.load_state_dict(tiny("gpt2").network.state_dict())
    both = tf.T5ForConditionalGeneration(deepcopy(tiny("t5").config)).eval()
    both.load_state_dict({**both.state_dict(), **tiny("t5").network.state_dict()})
    return {
        "gpt2": wrap(decoder, tiny("gpt2").tokenizer, name="gpt2"),
        "t5": wrap(both, sentencepiece_tokenizer(eos=True), name="t5"),
    }


@pytest.mark.parametrize("how", ["zero", "uniform"])
@pytest.mark.parametrize("architecture", ["gpt2", "t5"])
def test_generate_writes_with_the_edit(architecture: str, how: Any) -> None:
    model = writers()[architecture]
    network: Any = model.network
    heads: dict[tuple[str, int], list[int]] = {("decoder", 0): [0, 1, 2], ("decoder", 1): [0, 1, 2, 3]}
    if architecture == "t5":
        heads |= {("encoder", 1): [0, 1, 2], ("cross", 0): [0, 1], ("cross", 1): [0, 1, 2]}
    ids = torch.tensor([[7, 21, 30, 9, 40, 12]])
    options = {
        "max_new_tokens": 8,
        "do_sample": False,
        "pad_token_id": 0,
        "eos_token_id": 127,
        "bos_token_id": 3,
    }
    plain = network.generate(ids, attention_mask=torch.ones_like(ids), **options)
    chosen = [(stack, layer, head) for (stack, layer), numbers in heads.items() for head in numbers]
    with edit(model, chosen, how=how):
        written = network.generate(ids, attention_mask=torch.ones_like(ids), **options)
    expected = by_hand(architecture, network, ids, heads, how, tokens=8)
    assert written.tolist() == expected.tolist()
    assert written.tolist() != plain.tolist(), "the edit matters to what is written"
    again = network.generate(ids, attention_mask=torch.ones_like(ids), **options)
    assert again.tolist() == plain.tolist()


def by_hand(
    architecture: str,
    network: Any,
    ids: Tensor,
    heads: dict[tuple[str, int], list[int]],
    how: str,
    *,
    tokens: int,
) -> Tensor:
    """The most likely next token, again and again, from scratch each time and without a cache."""
    written = torch.tensor([[0]]) if architecture in BOTH else ids
    for _ in range(tokens):
        real = [[True] * max(ids.shape[1], written.shape[1])]
        reference = Reference(heads, how, real_source=real, real_target=real)
        inputs = {"input_ids": written}
        if architecture in BOTH:
            inputs = {"input_ids": ids, "decoder_input_ids": written}
            reference.target = [[0] * written.shape[1]]
        with patched(architecture, network, reference), torch.no_grad():
            logits = network(**inputs, use_cache=False).logits
        written = torch.cat([written, logits[:, -1:].argmax(-1)], 1)
    return written


def test_a_decoder_that_runs_on_an_earlier_encoding_is_refused() -> None:
    inputs, _ = batch("t5")
    network: Any = tiny("t5").network
    encoded = network.encoder(input_ids=inputs["input_ids"])
    rest = {"encoder_outputs": encoded, "decoder_input_ids": inputs["decoder_input_ids"]}
    with edit(tiny("t5"), "decoder 0.1"):
        network(**rest)
    with pytest.raises(CaptureError, match="earlier, outside"), edit(tiny("t5"), "encoder 0.1, decoder 0.1"):
        network(**rest)


def test_an_edit_in_which_nothing_ran_warns_where_it_was_made() -> None:
    with (
        pytest.warns(HeadscopeWarning, match="no forward pass of the encoder of tiny-bert") as warned,
        edit(tiny("bert"), "1.1"),
    ):
        pass
    assert warned[0].filename == __file__
    with warnings.catch_warnings(), pytest.raises(KeyError), edit(tiny("bert"), "1.1"):
        raise KeyError("an exception says more than a warning")


def test_a_forward_pass_that_leaves_out_a_layer_is_refused() -> None:
    network: Any = tf.BertModel(deepcopy(tiny("bert").config)).eval()
    model = wrap(network, wordpiece_tokenizer(), name="short")
    capture = surveyed(model)
    layers = network.encoder.layer
    network.encoder.layer = layers[:2]
    with pytest.raises(CaptureError, match="3 attention calls were expected"), edit(capture, "1.1"):
        network(torch.tensor([[5, 6]]))
    network.encoder.layer = nn.ModuleList([*layers, layers[0]])
    with pytest.raises(CaptureError, match="3 attention calls were expected"), edit(capture, "1.1"):
        network(torch.tensor([[5, 6]]))


def test_attention_outside_of_a_forward_pass_is_refused() -> None:
    layer: Any = tiny("bert").network.encoder.layer[0]  # type: ignore[union-attr, index]
    states = torch.zeros(1, 3, 32)
    layer(states)
    with pytest.raises(CaptureError, match="outside of a forward pass"), edit(tiny("bert"), "1.1"):
        layer(states)


def test_an_output_that_is_not_weights_times_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.models.bert import modeling_bert

    own = modeling_bert.eager_attention_forward

    def other(*arguments: Any, **options: Any) -> tuple[Tensor, Tensor]:
        output, weights = own(*arguments, **options)
        return 1.01 * output, weights

    monkeypatch.setattr(modeling_bert, "eager_attention_forward", other)
    for how in ("zero", "uniform"):
        with (
            pytest.raises(CaptureError, match="not its weights times its values"),
            edit(
                tiny("bert"),
                "1.1",
                how=how,  # type: ignore[arg-type]
            ),
        ):
            run("bert", batch("bert")[0])


def test_gradients_flow_through_an_edit() -> None:
    inputs, _ = batch("bert")
    network = deepcopy(tiny("bert").network)
    model = wrap(network, wordpiece_tokenizer())
    query: Any = network.encoder.layer[1].attention.self.query.weight  # type: ignore[union-attr, index]
    with edit(model, "1.1", how="inter", sentences=torch.tensor(batch("bert")[1].source)):
        network(**inputs)[0].square().sum().backward()
    by_head = query.grad.unflatten(0, (4, -1)).abs().amax((1, 2))
    assert (by_head > 0).all()
    network.zero_grad()
    with edit(model, "1.1", how="zero"):
        network(**inputs)[0].square().sum().backward()
    by_head = query.grad.unflatten(0, (4, -1)).abs().amax((1, 2))
    assert by_head[1] == 0
    assert (by_head[[0, 2, 3]] > 0).all()


@pytest.mark.parametrize("how", ["intra", "inter"])
def test_with_a_cache_each_token_keeps_its_sentence(how: Any) -> None:
    model = writers()["gpt2"]
    network: Any = model.network
    ids, sentences = torch.tensor([[7, 21, 30, 9, 40, 12]]), torch.tensor([[0, 0, 0, 1, 1, 1]])
    with edit(model, "all", how=how, sentences=sentences), torch.no_grad():
        expected = network(ids, use_cache=False).logits
    with edit(model, "all", how=how, sentences=sentences[:, :4]), torch.no_grad():
        first = network(ids[:, :4], use_cache=True)
    with edit(model, "all", how=how, sentences=sentences), torch.no_grad():
        rest = network(ids[:, 4:], past_key_values=first.past_key_values, use_cache=True)
    found = torch.cat([first.logits, rest.logits], 1)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
