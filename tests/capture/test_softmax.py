"""The second road: what is seen and edited at the softmax is what a softmax changed by hand gives."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import transformers as tf
from tests.capture.test_exact import SECOND_ROAD, batch_for
from tests.helpers.tiny import tiny, wordpiece_tokenizer
from torch import Tensor, nn

from headscope.capture import AttentionCall, following, retained, run_calls, survey, surveyed
from headscope.capture.observe import evaluating
from headscope.edits import edit
from headscope.errors import CaptureError
from headscope.models import Model, wrap
from headscope.models.stacks import Place

LAYER, HEAD = 1, 2


@contextmanager
def by_hand(model: Model, how: str) -> Iterator[list[Tensor]]:
    """Inside, the softmax that the modelling code calls is another, which changes one head of one layer."""
    real, calls = nn.functional.softmax, list[Tensor]()

    def softmax(scores: Tensor, *arguments: Any, **options: Any) -> Tensor:
        weights = real(scores, *arguments, **options).clone()
        if len(calls) == LAYER:
            seen = (scores > scores.amax(-1, keepdim=True) - 1000)[:, HEAD].to(weights.dtype)
            weights[:, HEAD] = 0 if how == "zero" else seen / seen.sum(-1, keepdim=True).clamp(min=1)
        calls.append(weights)
        return weights

    before = model.core.config._attn_implementation
    model.core.config._attn_implementation = "eager"
    nn.functional.softmax = softmax
    try:
        yield calls
    finally:
        nn.functional.softmax = real
        model.core.config._attn_implementation = before


def state(model: Model, inputs: dict[str, Tensor]) -> Tensor:
    with evaluating(model.core), torch.inference_mode():
        output = model.core(**inputs, **model.no_cache)
    return output[0]


@pytest.mark.parametrize("how", ["zero", "uniform"])
@pytest.mark.parametrize("architecture", SECOND_ROAD)
def test_an_edit_is_what_a_changed_softmax_gives(architecture: str, how: Any) -> None:
    model, batch = tiny(architecture), batch_for(architecture)
    assert survey(model).road == "softmax"
    plain = state(model, batch.inputs)
    with by_hand(model, how) as calls:
        expected = state(model, batch.inputs)
    assert len(calls) == 3, "what this test counts on"
    with edit(model, f"{LAYER}.{HEAD}", how=how):
        ours = state(model, batch.inputs)
    real = batch.source.is_token[:, :, None]
    torch.testing.assert_close(ours * real, expected * real, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(ours * real, plain * real, atol=1e-4)
    assert torch.equal(state(model, batch.inputs), plain), "it comes off"


@pytest.mark.parametrize("architecture", SECOND_ROAD)
def test_who_watches_sees_what_an_edit_made_once(architecture: str) -> None:
    model, batch = tiny(architecture), batch_for(architecture)
    seen: dict[Place, Tensor] = {}
    with edit(model, f"{LAYER}.{HEAD}"), edit(model, "0.1"):
        surveyed(model).run(batch.inputs, lambda place, weights: seen.update({place: weights}))
    assert len(seen) == 3
    stack = next(iter(seen)).stack
    assert not seen[Place(stack, LAYER)][:, HEAD].any()
    assert not seen[Place(stack, 0)][:, 1].any()
    assert seen[Place(stack, 0)][:, 0].any()


@pytest.mark.parametrize("architecture", SECOND_ROAD)
def test_gradients_are_those_of_the_weights(architecture: str) -> None:
    """A small step along the gradient changes the loss as the gradient says."""
    model, batch = tiny(architecture), batch_for(architecture)
    direction = torch.randn(state(model, batch.inputs).shape, generator=torch.Generator().manual_seed(0))
    capture = surveyed(model)
    with evaluating(model.core), retained(capture) as kept:
        loss = (model.core(**batch.inputs, **model.no_cache)[0] * direction).sum()
        loss.backward()
    model.core.zero_grad()
    place = capture.stacks.places[LAYER]
    weights, gradient = kept[place].detach(), kept[place].grad
    assert gradient is not None
    by_weights = (weights * gradient)[
        :, HEAD
    ].sum()  # what scaling the head's output down changes, to first order
    step = 1e-2

    def less(call: AttentionCall) -> AttentionCall:
        heads = torch.tensor([HEAD])
        return call.with_weights(heads, call.weights[:, heads] * (1 - step))

    with following(capture, [place], lambda place, call, forward: less(call)), evaluating(model.core):
        lower = (model.core(**batch.inputs, **model.no_cache)[0] * direction).sum()
    torch.testing.assert_close((loss - lower).detach() / step, by_weights, rtol=0.1, atol=1e-2)


@pytest.mark.parametrize(("architecture", "told"), [("mpnet", True), ("falcon", True), ("xlnet", False)])
def test_scores_are_told_where_they_are_products_and_position(architecture: str, *, told: bool) -> None:
    model, batch = tiny(architecture), batch_for(architecture)
    calls: list[AttentionCall] = []
    run_calls(surveyed(model), batch.inputs, lambda place, call: calls.append(call))
    if not told:
        with pytest.raises(CaptureError, match="depends on the tokens"):
            calls[0].scores(0, [0])
        return
    for call in calls:
        scores = call.scores(0, range(4))
        assert scores.agree
        assert scores.scale == pytest.approx(8**-0.5, abs=1e-9)
        # MPNet adds a bias for position to each score, Falcon turns its queries and keys.
        assert (scores.bias is not None) == (architecture == "mpnet")


def test_a_bias_that_depends_on_tokens_is_no_position() -> None:
    torch.manual_seed(0)
    config = tf.DebertaV2Config(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        vocab_size=128,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        initializer_range=0.3,
    )
    model = wrap(tf.DebertaV2Model(config).eval(), wordpiece_tokenizer(), name="tiny-deberta")
    assert [site.scale for site in survey(model).sites] == [None, None]


def test_bloom_multiplies_and_adds_in_one() -> None:
    torch.manual_seed(0)
    config = tf.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=128, initializer_range=0.2)
    model = wrap(tf.BloomModel(config).eval(), wordpiece_tokenizer(), name="tiny-bloom")
    capture = survey(model)
    assert capture.road == "softmax"
    assert [site.scale for site in capture.sites] == pytest.approx([8**-0.5] * 2, abs=1e-9)
