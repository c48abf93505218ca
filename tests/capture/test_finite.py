"""Attention that is nan is refused; what only looks like it is not."""

from copy import deepcopy

import pytest
import torch
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.capture import Capture, FiniteCheck, run_calls, survey, surveyed
from headscope.capture.probing import probe_inputs
from headscope.errors import CaptureError
from headscope.models import Model, wrap
from headscope.models.stacks import Place

PLACE = Place("encoder", 1)


def attention(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.manual_seed(0)).softmax(-1)


def with_nan_query(layer: int, head: int, architecture: str = "bert") -> Model:
    """One number of one head's query projection is nan."""
    model = tiny(architecture)
    network = deepcopy(model.network)
    with torch.no_grad():
        network.encoder.layer[layer].attention.self.query.weight[8 * head, 0] = torch.nan
    return wrap(network, model.tokenizer, name="broken")


@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_one_weight_of_one_head_is_enough(number: float) -> None:
    weights = attention(2, 4, 5, 5)
    FiniteCheck(tiny("bert")).look(PLACE, weights)
    weights[1, 2, 4, 0] = number
    with pytest.raises(CaptureError, match=r"tiny-bert: the attention of layer 1 holds nan \(head 2\)"):
        FiniteCheck(tiny("bert")).look(PLACE, weights)


def test_padding_may_hold_anything() -> None:
    weights = attention(2, 4, 5, 5)
    weights[1, :, 3:] = torch.nan
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    FiniteCheck(tiny("bert")).look(PLACE, weights, mask)
    # With a cache of three keys the queries are the last tokens of the mask.
    FiniteCheck(tiny("bert")).look(PLACE, weights[:, :, 3:], mask)
    weights[1, 0, 2] = torch.nan
    with pytest.raises(CaptureError, match=r"\(head 0\)"):
        FiniteCheck(tiny("bert")).look(PLACE, weights, mask)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions(dtype: torch.dtype) -> None:
    FiniteCheck(tiny("bert")).look(PLACE, attention(1, 4, 300, 300).to(dtype))


def test_a_head_that_looks_nowhere_is_no_nan() -> None:
    model = tiny("bert")
    with hs.edit(model, "1.*"):
        seen = []
        surveyed(model).run(probe_inputs(model, [(5, 5)]), lambda place, weights: seen.append(weights.sum()))
    assert len(seen) == 3
    assert float(seen[1]) == 0


@pytest.mark.parametrize("architecture", ["bert", "mpnet"])
def test_the_survey_names_the_layer_and_the_heads(architecture: str) -> None:
    model = tiny(architecture)
    network = deepcopy(model.network)
    projection = next(
        module
        for name, module in network.named_modules()
        if name.startswith("encoder.layer.2") and name.endswith(("query", ".q"))
    )
    with torch.no_grad():
        projection.weight[8, 0] = torch.nan
    with pytest.raises(
        CaptureError, match=r"broken: the attention of layer 2 holds nan \(head 1\); its weights hold"
    ):
        survey(wrap(network, model.tokenizer, name="broken"))


def test_stacks_are_named_where_there_are_several() -> None:
    model = tiny("t5")
    network = deepcopy(model.network)
    with torch.no_grad():
        network.decoder.block[1].layer[1].EncDecAttention.q.weight[:] = torch.nan
    with pytest.raises(CaptureError, match=r"the attention of layer 1 of the cross holds nan \(all heads\)"):
        survey(wrap(network, model.tokenizer, name="broken"))


@pytest.mark.parametrize("at_once", [True, False])
def test_after_the_survey_every_pass_is_checked(at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights may change while a model is in memory, and a survey is done once."""
    monkeypatch.setattr("headscope.capture.finite._tells_at_once", lambda weights: at_once)
    model = tiny("bert")
    whole = surveyed(model)
    bad = with_nan_query(1, 3)
    capture = Capture(bad, whole.stacks, whole.hooked, whole.pads)
    inputs = probe_inputs(bad, [(5, 5), (3, 3)])
    seen: list[int] = []
    for run in (
        lambda: capture.run(inputs, lambda place, weights: seen.append(place.layer)),
        lambda: run_calls(capture, inputs, lambda place, call: seen.append(place.layer)),
    ):
        with pytest.raises(CaptureError, match=r"layer 1 holds nan \(head 3\)"):
            run()
        assert seen == ([0] if at_once else [0, 1, 2])  # an accelerator tells at the end of the pass
        seen.clear()


def test_what_comes_before_the_broken_layer_is_not_blamed() -> None:
    check = FiniteCheck(tiny("bert"))
    check.look(Place("encoder", 0), attention(1, 4, 3, 3))
    with pytest.raises(CaptureError, match="layer 1"):
        check.look(PLACE, attention(1, 4, 3, 3) * torch.nan)


def test_half_precision_is_told() -> None:
    model = tiny("bert")
    half = wrap(deepcopy(model.network).half(), model.tokenizer, name="half")
    with pytest.raises(CaptureError, match=r'it runs in float16, .* dtype="float32" \(--dtype float32\)'):
        FiniteCheck(half).look(PLACE, attention(1, 4, 3, 3) * torch.nan)
