"""Models that are reached at their softmax: what is edited there is what a softmax changed by hand gives."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import transformers as tf
from tests.helpers.eager import AT_THE_SOFTMAX
from tests.helpers.reference_edits import batch
from tests.helpers.tiny import tiny, wordpiece_tokenizer
from tests.seams import differentiated, edited, layers_of
from torch import Tensor, nn

import headscope as hs
from headscope.errors import CaptureError

LAYER, HEAD = 1, 2


@contextmanager
def by_hand(model: hs.Model, how: str) -> Iterator[list[Tensor]]:
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


def state(model: hs.Model, inputs: dict[str, Tensor]) -> Tensor:
    """(text, token, width) of the last layer, 0 for padding."""
    last: Tensor = model.core(**inputs, **model.no_cache)[0]
    return last * inputs["attention_mask"][:, :, None]


@pytest.mark.parametrize("how", ["zero", "uniform"])
@pytest.mark.parametrize("architecture", AT_THE_SOFTMAX)
def test_an_edit_is_what_a_changed_softmax_gives(architecture: str, how: Any) -> None:
    model, (inputs, _) = tiny(architecture), batch(architecture)
    with torch.inference_mode():
        plain = state(model, inputs)
        with by_hand(model, how) as calls:
            expected = state(model, inputs)
        assert len(calls) == 3, "what this test counts on"
        with hs.edit(model, f"{LAYER}.{HEAD}", how=how):
            ours = state(model, inputs)
        torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-4)
        assert not torch.allclose(ours, plain, atol=1e-4)
        assert torch.equal(state(model, inputs), plain), "it comes off"


@pytest.mark.parametrize("architecture", AT_THE_SOFTMAX)
def test_who_looks_on_sees_what_edits_made_once(architecture: str) -> None:
    model, (inputs, _) = tiny(architecture), batch(architecture)
    with hs.edit(model, f"{LAYER}.{HEAD}"), hs.edit(model, "0.1"):
        ((_, texts),) = layers_of(model, inputs).items()
    for maps in texts:  # (layer, head, query, key)
        assert len(maps) == 3
        assert not maps[LAYER, HEAD].any()
        assert not maps[0, 1].any()
        assert maps[0, 0].any()


@pytest.mark.parametrize("architecture", AT_THE_SOFTMAX)
def test_gradients_are_those_of_the_weights(architecture: str) -> None:
    """A small step along the gradient changes the loss as the gradient says."""
    model, (inputs, _) = tiny(architecture), batch(architecture)
    with torch.no_grad():
        direction = torch.randn(state(model, inputs).shape, generator=torch.Generator().manual_seed(0))
    with differentiated(model) as kept:
        loss = (state(model, inputs) * direction).sum()
        loss.backward()
    model.core.zero_grad()
    place = next(place for place in kept if place[1] == LAYER)
    gradient = kept[place].grad
    assert gradient is not None
    # What scaling the head's output down changes, to first order.
    by_weights = (kept[place].detach() * gradient)[:, HEAD].sum()
    step = 1e-2

    def less(stack: str, layer: int, weights: Tensor) -> Tensor:
        weights = weights.clone()
        weights[:, HEAD] *= 1 - step
        return weights

    with edited(model, less, [place]), torch.no_grad():
        lower = (state(model, inputs) * direction).sum()
    torch.testing.assert_close((loss.detach() - lower) / step, by_weights, rtol=0.1, atol=1e-2)


@pytest.mark.parametrize(("architecture", "told"), [("mpnet", True), ("falcon", True), ("xlnet", False)])
def test_scores_are_told_where_they_are_products_and_position(architecture: str, *, told: bool) -> None:
    calls = layers_of(tiny(architecture), batch(architecture)[0]).calls
    if not told:
        with pytest.raises(CaptureError, match="depends on the tokens"):
            next(iter(calls.values())).scores(0, [0])
        return
    assert len(calls) == 3
    for call in calls.values():
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
    model = hs.wrap(tf.DebertaV2Model(config).eval(), wordpiece_tokenizer(), name="tiny-deberta")
    for call in layers_of(model, ["The cat sat."]).calls.values():
        with pytest.raises(CaptureError, match="depends on the tokens"):
            call.scores(0, [0])


def test_bloom_multiplies_and_adds_in_one() -> None:
    torch.manual_seed(0)
    config = tf.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=128, initializer_range=0.2)
    model = hs.wrap(tf.BloomModel(config).eval(), wordpiece_tokenizer(), name="tiny-bloom")
    calls = layers_of(model, ["The cat sat."]).calls
    assert len(calls) == 2
    for call in calls.values():
        scores = call.scores(0, range(4))
        assert scores.agree
        assert scores.scale == pytest.approx(8**-0.5, abs=1e-9)
