"""What weights are made of: the softmax of the scores is the model's own weights, and what is unknown is told."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.helpers.reference_edits import EDITABLE, SPOTS, batch
from tests.helpers.tiny import tiny
from torch import Tensor
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

import headscope as hs
import headscope.explanation
import headscope.pages.neurons
from headscope.capture import AttentionCall, run_calls, surveyed
from headscope.capture.scores import softmax
from headscope.errors import CaptureError
from headscope.models.stacks import Place

HIDDEN = torch.finfo(torch.float32).min


def calls(architecture: str, inputs: dict[str, Tensor] | None = None) -> dict[Place, AttentionCall]:
    found: dict[Place, AttentionCall] = {}
    run_calls(surveyed(tiny(architecture)), inputs or batch(architecture)[0], found.__setitem__)
    return found


def real(inputs: dict[str, Tensor], place: Place, text: int) -> tuple[Tensor, Tensor]:
    """(query,), (key,) which are no padding."""
    source = inputs["attention_mask"][text].bool()
    target = inputs.get("decoder_attention_mask", inputs["attention_mask"])[text].bool()
    return source if place.stack == "encoder" else target, target if place.stack == "decoder" else source


def made(*, sinks: Tensor | None = None, mask: Tensor | None = None, **given: Any) -> AttentionCall:
    """Two texts, four heads in two groups, three tokens, five neurons, computed by hand."""
    generator = torch.Generator().manual_seed(5)
    query = torch.randn(2, 4, 3, 5, generator=generator)
    key, value = (torch.randn(2, 2, 3, 5, generator=generator) for _ in "kv")
    products = query @ key.repeat_interleave(2, 1).mT * given.get("scaling", 5**-0.5)
    weights = (products if mask is None else products + mask).softmax(-1)
    module: Any = SimpleNamespace(sinks=sinks)
    return AttentionCall(module, weights, torch.zeros(2, 3, 4, 5), query, key, value, mask, **given)


def test_there_is_one_attention_function_of_ours() -> None:
    assert [name for name in ALL_ATTENTION_FUNCTIONS if "headscope" in name] == ["headscope"]


@pytest.mark.parametrize("architecture", EDITABLE)
def test_the_softmax_of_the_scores_is_the_models_own_weights(architecture: str) -> None:
    inputs, _ = batch(architecture)
    found = calls(architecture)
    assert [(place.stack, place.layer) for place in found] == SPOTS[architecture]
    for place, call in found.items():
        for text in range(2):
            queries, keys = real(inputs, place, text)
            scores = call.scores(text, range(call.weights.shape[1]), queries, keys)
            own = call.weights[text][:, queries][:, :, keys].double()
            torch.testing.assert_close(scores.weights, own)
            again = softmax(scores.scores, scores.visible, scores.sink)
            torch.testing.assert_close(again, own, atol=1e-5, rtol=0)
            assert scores.apart < 1e-5
            assert scores.agree


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5"])
def test_calls_hold_the_weights_that_are_seen_to_the_last_bit(architecture: str) -> None:
    seen: dict[Place, Tensor] = {}
    surveyed(tiny(architecture)).run(batch(architecture)[0], seen.__setitem__)
    for place, call in calls(architecture).items():
        assert torch.equal(call.weights, seen[place])


@pytest.mark.parametrize("architecture", ["bert", "llama", "t5", "gptoss"])
def test_padding_leaves_the_scores_of_a_text_alone(architecture: str) -> None:
    inputs, _ = batch(architecture)
    together = calls(architecture)
    lengths = {name: int(tensor[1].sum()) for name, tensor in inputs.items() if "mask" in name}
    alone = {
        name: tensor[1:, : lengths["decoder_attention_mask" if "decoder" in name else "attention_mask"]]
        for name, tensor in inputs.items()
    }
    for place, call in calls(architecture, alone).items():
        padded = together[place].scores(1, [2, 1], *real(inputs, place, 1))
        single = call.scores(0, [1, 2])
        assert torch.equal(padded.visible, single.visible)
        for one, other in ((padded.query, single.query), (padded.key, single.key)):
            torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
        assert (padded.bias is None) == (single.bias is None)
        if padded.bias is not None and single.bias is not None:
            torch.testing.assert_close(padded.bias, single.bias)


def test_scores_by_hand() -> None:
    bias = torch.arange(9.0).view(1, 1, 3, 3)
    call = made(mask=bias.masked_fill(torch.ones(3, 3).triu(1).bool(), HIDDEN), scaling=0.3)
    scores = call.scores(1, [3])
    for i in range(3):
        for j in range(3):
            assert bool(scores.visible[i, j]) == (j <= i)
            if j <= i:
                product = sum(float(call.query[1, 3, i, m] * call.key[1, 1, j, m]) for m in range(5))
                assert float(scores.scores[0, i, j]) == pytest.approx(0.3 * product + 3 * i + j, abs=1e-5)
    assert scores.agree
    assert scores.scale == 0.3
    assert scores.bias is not None
    assert not scores.bias[0][~scores.visible].any()
    assert calls("gpt2")[Place("decoder", 0)].scores(0, [0]).bias is None  # what hides a key is no bias


def test_a_sink_counts_only_where_it_takes_of_the_weights() -> None:
    """Granite lets its sink shrink what a head gives, and leaves the weights alone."""
    sinks = torch.tensor([0.1, 0.2, 0.3, 0.4])
    beside = made(sinks=sinks)
    assert beside.scores(0, range(4)).sink is None
    taking = calls("gptoss")[Place("decoder", 0)]
    assert taking.scores(0, [2, 0]).sink == pytest.approx(taking.module.sinks.detach()[[0, 2]].double())


def test_heads_that_see_different_keys_are_told_one_by_one() -> None:
    mask = torch.zeros(1, 4, 1, 3)
    mask[:, 1, :, 2] = HIDDEN
    call = made(mask=mask)
    assert [call.scores(0, [head]).visible.sum().item() for head in range(4)] == [9, 6, 9, 9]
    assert call.scores(0, [0, 2, 3]).agree
    with pytest.raises(CaptureError, match="see different keys"):
        call.scores(0, [0, 1])


def test_shapes_that_are_not_understood_are_refused() -> None:
    call = made()
    for query, key in ((call.query[:, :2], call.key), (call.query, call.key[:, :, :2])):
        odd = AttentionCall(call.module, call.weights, call.output, query, key, call.value, None)
        with pytest.raises(CaptureError, match="cannot tell its scores"):
            odd.scores(0, [0])


def test_weights_that_do_not_follow_from_the_scores_do_not_agree() -> None:
    model = tiny("bert")
    place, before = Place("encoder", 1), calls("bert")
    with hs.edit(model, "1.2", how="uniform"):
        edited = calls("bert")[place]
    assert torch.equal(edited.query, before[place].query)
    assert [edited.scores(0, [head]).agree for head in range(4)] == [True, True, False, True]
    assert not made(soft_cap=0.5).scores(0, [0]).agree
    assert not made(position_bias=torch.arange(3.0).expand(1, 1, 3, 3)).scores(0, [0]).agree


def test_a_query_that_sees_nothing_does_not_count() -> None:
    mask = torch.zeros(2, 1, 3, 3)
    mask[1, :, 2] = HIDDEN
    scores = made(mask=mask).scores(1, range(4))
    assert not scores.visible[2].any()
    assert scores.agree


def test_looking_leaves_mode_and_attention_function_alone() -> None:
    network = tiny("bert").network
    before = network.config._attn_implementation
    network.train()
    try:
        first, second = (calls("bert")[Place("encoder", 2)].weights for _ in range(2))
        assert all(module.training for module in network.modules())
    finally:
        network.eval()
    assert torch.equal(first, second)  # no dropout
    assert network.config._attn_implementation == before
