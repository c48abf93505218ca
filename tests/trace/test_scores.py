"""What weights are made of: the softmax of the scores is the model's own weights, and what is unknown is told."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
import torch
from tests.helpers.eager import sides
from tests.helpers.reference_edits import EDITABLE, SPOTS, batch
from tests.helpers.tiny import tiny
from tests.seams import AttentionCall, layers_of
from torch import Tensor
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.bert import modeling_bert

import headscope as hs
from headscope.errors import CaptureError

HIDDEN = torch.finfo(torch.float32).min


Place = tuple[str, int]
"""Stack and layer."""


def calls(architecture: str, inputs: Mapping[str, Tensor] | None = None) -> Mapping[Place, AttentionCall]:
    return layers_of(tiny(architecture), inputs or batch(architecture)[0]).calls


def real(inputs: Mapping[str, Tensor], place: Place, text: int) -> tuple[Tensor, Tensor]:
    """(query,), (key,) which are no padding."""
    queries, keys = sides(place[0], inputs)
    return queries[text], keys[text]


def call_given(
    *, mask: Tensor | None = None, sinks: Tensor | None = None, scaling: float | None = None, **options: Any
) -> AttentionCall:
    """A call of BERT, two texts of three tokens and four heads, whose attention function is given what else is said."""
    model = hs.wrap(deepcopy(tiny("bert").network), tiny("bert").tokenizer)
    inputs = {"input_ids": torch.tensor([[5, 6, 7], [8, 9, 10]]), "attention_mask": torch.ones(2, 3).long()}
    layers_of(model, inputs)  # after which it is known as what it is
    module = model.network.encoder.layer[1].attention.self
    module.scaling = module.scaling if scaling is None else scaling
    if sinks is not None:
        module.sinks = torch.nn.Parameter(sinks)

    def give(module: object, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return given, named | options | ({} if mask is None else {"attention_mask": mask})

    module.register_forward_pre_hook(give, with_kwargs=True)
    return layers_of(model, inputs).calls["encoder", 1]


def slow_softmax(scores: Tensor, visible: Tensor, sink: Tensor | None) -> Tensor:
    """(head, query, key) e to the score over the sum of them, of keys that can be seen and of a sink."""
    raised = scores.exp() * visible
    rest = 0 if sink is None else sink.exp()[:, None, None]
    return raised / (raised.sum(-1, keepdim=True) + rest)


def test_there_is_one_attention_function_of_ours() -> None:
    assert [name for name in ALL_ATTENTION_FUNCTIONS if "headscope" in name] == ["headscope"]


@pytest.mark.parametrize("architecture", EDITABLE)
def test_the_softmax_of_the_scores_is_the_models_own_weights(architecture: str) -> None:
    inputs, _ = batch(architecture)
    found = calls(architecture)
    assert set(found) == set(SPOTS[architecture])
    for place, call in found.items():
        for text in range(2):
            queries, keys = real(inputs, place, text)
            scores = call.scores(text, range(call.weights.shape[1]), queries, keys)
            own = call.weights[text][:, queries][:, :, keys].double()
            torch.testing.assert_close(scores.weights, own)
            again = slow_softmax(scores.scores, scores.visible, scores.sink)
            torch.testing.assert_close(again, own, atol=1e-5, rtol=0)
            assert scores.apart < 1e-5
            assert scores.agree


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5"])
def test_calls_hold_the_weights_that_are_seen_to_the_last_bit(architecture: str) -> None:
    inputs, _ = batch(architecture)
    found = layers_of(tiny(architecture), inputs)
    for (stack, layer), call in found.calls.items():
        for text, maps in enumerate(found[stack]):
            queries, keys = real(inputs, (stack, layer), text)
            assert torch.equal(call.weights[text][:, queries][:, :, keys], maps[layer])


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
    call = call_given(mask=bias.masked_fill(torch.ones(3, 3).triu(1).bool(), HIDDEN), scaling=0.3)
    scores = call.scores(1, [3])
    for i in range(3):
        for j in range(3):
            assert bool(scores.visible[i, j]) == (j <= i)
            if j <= i:
                product = sum(float(call.query[1, 3, i, m] * call.key[1, 3, j, m]) for m in range(8))
                assert float(scores.scores[0, i, j]) == pytest.approx(0.3 * product + 3 * i + j, abs=1e-4)
    assert scores.agree
    assert scores.scale == 0.3
    assert scores.bias is not None
    assert not scores.bias[0][~scores.visible].any()
    assert calls("gpt2")["decoder", 0].scores(0, [0]).bias is None  # what hides a key is no bias


def test_a_sink_counts_only_where_it_takes_of_the_weights() -> None:
    """Granite lets its sink shrink what a head gives, and leaves the weights alone."""
    sinks = torch.tensor([0.1, 0.2, 0.3, 0.4])
    beside = call_given(sinks=sinks)
    assert beside.scores(0, range(4)).sink is None
    taking = calls("gptoss")["decoder", 0]
    assert taking.scores(0, [2, 0]).sink == pytest.approx(taking.module.sinks.detach()[[0, 2]].double())


def test_heads_that_see_different_keys_are_told_one_by_one() -> None:
    mask = torch.zeros(1, 4, 1, 3)
    mask[:, 1, :, 2] = HIDDEN
    call = call_given(mask=mask)
    assert [call.scores(0, [head]).visible.sum().item() for head in range(4)] == [9, 6, 9, 9]
    assert call.scores(0, [0, 2, 3]).agree
    with pytest.raises(CaptureError, match="see different keys"):
        call.scores(0, [0, 1])


@pytest.mark.parametrize("which", ["heads", "keys"])
def test_weights_of_another_shape_are_refused(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = modeling_bert.eager_attention_forward

    def odd(*given: Any, **options: Any) -> tuple[Tensor, Tensor]:
        output, weights = own(*given, **options)
        return output, weights[:, :2] if which == "heads" else weights[..., :-1]

    calls("bert")
    monkeypatch.setattr(modeling_bert, "eager_attention_forward", odd)
    with pytest.raises(CaptureError, match="layer 0 of the encoder gave attention of shape"):
        calls("bert")


def test_weights_that_do_not_follow_from_the_scores_do_not_agree() -> None:
    model = tiny("bert")
    place, before = ("encoder", 1), calls("bert")
    with hs.edit(model, "1.2", how="uniform"):
        edited = calls("bert")[place]
    assert torch.equal(edited.query, before[place].query)
    assert [edited.scores(0, [head]).agree for head in range(4)] == [True, True, False, True]
    assert not call_given(softcap=0.5).scores(0, [0]).agree
    assert not call_given(position_bias=torch.arange(3.0).expand(1, 1, 3, 3)).scores(0, [0]).agree


def test_a_query_that_sees_nothing_does_not_count() -> None:
    mask = torch.zeros(2, 1, 3, 3)
    mask[1, :, 2] = HIDDEN
    scores = call_given(mask=mask).scores(1, range(4))
    assert not scores.visible[2].any()
    assert scores.agree


def test_looking_leaves_mode_and_attention_function_alone() -> None:
    network = tiny("bert").network
    before = network.config._attn_implementation
    network.train()
    try:
        first, second = (calls("bert")["encoder", 2].weights for _ in range(2))
        assert all(module.training for module in network.modules())
    finally:
        network.eval()
    assert torch.equal(first, second)  # no dropout
    assert network.config._attn_implementation == before
