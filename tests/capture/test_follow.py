"""Every attention call is known by its place, and what is handed over is what was computed."""

import threading
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.helpers.reference_edits import EDITABLE, SPOTS, batch, run
from tests.helpers.tiny import tiny
from torch import Tensor

from headscope.capture import AttentionCall, Forward, following, survey, surveyed
from headscope.capture.observe import intercepting, is_edited, watching
from headscope.errors import CaptureError
from headscope.models import wrap
from headscope.models.stacks import Place


def keep(seen: list[tuple[Place, AttentionCall, Forward]]) -> Any:
    def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        seen.append((place, call, forward))
        return call

    return handle


@pytest.mark.parametrize("architecture", EDITABLE)
def test_calls_are_handed_over_in_order_with_all_there_is(architecture: str) -> None:
    inputs, _ = batch(architecture)
    capture = survey(tiny(architecture))
    seen: list[tuple[Place, AttentionCall, Forward]] = []
    with following(capture, capture.stacks.places, keep(seen)):
        run(architecture, inputs)
    assert [(place.stack, place.layer) for place, _, _ in seen] == SPOTS[architecture]
    for place, call, forward in seen:
        count = capture.stacks.grid(place.stack).heads
        call.check(torch.arange(count))
        again = call.output_of(torch.arange(count), call.weights)
        torch.testing.assert_close(again, call.output, atol=1e-5, rtol=1e-5)
        target = place.stack != "encoder" and "decoder_input_ids" in inputs
        assert torch.equal(
            forward.inputs["input_ids"], inputs["decoder_input_ids" if target else "input_ids"]
        )


@pytest.mark.parametrize("architecture", EDITABLE)
def test_what_a_query_may_see_is_where_weights_can_be(architecture: str) -> None:
    """With all scores alike, no weight underflows: a weight is 0 exactly where nothing may be seen."""
    inputs, _ = batch(architecture)
    capture = surveyed(tiny(architecture))
    seen: list[tuple[Place, AttentionCall, Forward]] = []
    small = _flattened(architecture)
    try:
        with following(capture, capture.stacks.places, keep(seen)):
            run(architecture, inputs)
    finally:
        for parameter, before in small:
            parameter.data.copy_(before)
    for _, call, _ in seen:
        visible = call.visible.expand_as(call.weights)
        assert torch.equal(visible, call.weights > 0)


def _flattened(architecture: str) -> list[tuple[Tensor, Tensor]]:
    """Make queries nearly 0; gives back what was there before."""
    kept = []
    for name, parameter in tiny(architecture).network.named_parameters():
        if any(part in name for part in ("query", ".q", "q_lin", "q_proj", "c_attn")):
            kept.append((parameter, parameter.detach().clone()))
            parameter.data.mul_(1e-4)
    return kept


def test_only_the_places_asked_for_are_handed_over() -> None:
    inputs, _ = batch("albert")
    seen: list[tuple[Place, AttentionCall, Forward]] = []
    with following(surveyed(tiny("albert")), [Place("encoder", 1)], keep(seen)) as follower:
        run("albert", inputs)
        run("albert", inputs)
    assert [place.layer for place, _, _ in seen] == [1, 1]
    assert [section.forwards for section in follower.sections] == [2]


def test_who_looks_on_in_one_thread_does_not_see_another() -> None:
    inputs, _ = batch("bert")
    capture = surveyed(tiny("bert"))
    seen: list[tuple[Place, AttentionCall, Forward]] = []
    with following(capture, capture.stacks.places, keep(seen)):
        thread = threading.Thread(target=run, args=("bert", inputs))
        thread.start()
        thread.join()
        assert not seen
        run("bert", inputs)
    assert len(seen) == 3


def test_several_interceptors_act_in_the_order_of_nesting() -> None:
    inputs, _ = batch("bert")
    network = tiny("bert").network
    order: list[str] = []

    def named(name: str) -> Any:
        def handle(call: AttentionCall) -> AttentionCall:
            order.append(name)
            return call

        return lambda module: handle

    with (
        watching(network, lambda weights: order.append("watch")),
        intercepting(network, named("outer"), edit="a test"),
        intercepting(network, named("inner"), edit="a test"),
    ):
        assert is_edited(network)
        run("bert", inputs)
    assert order == ["outer", "inner", "watch"] * 3
    assert not is_edited(network)


def test_recomputed_attention_is_refused() -> None:
    inputs, _ = batch("bert")
    network: Any = deepcopy(tiny("bert").network).train()  # a copy: transformers leaves hooks behind
    network.gradient_checkpointing_enable({"use_reentrant": False})
    capture = surveyed(wrap(network, tiny("bert").tokenizer))
    with following(capture, capture.stacks.places, keep([])):
        loss = network(**inputs)[0].sum()
        with pytest.raises(CaptureError, match="gradient checkpointing"):
            loss.backward()


def test_an_architecture_that_cannot_be_reached_is_refused() -> None:
    with (
        pytest.raises(CaptureError, match="not reached while it runs"),
        following(replace(surveyed(tiny("mpnet")), hooked=False), [], keep([])),
    ):
        raise AssertionError("never here")


def test_shapes_that_are_not_understood_are_refused() -> None:
    weights, value = torch.rand(2, 4, 5, 5), torch.rand(2, 4, 5, 8)
    for output, values in ((torch.rand(2, 5, 32), value), (torch.rand(2, 5, 4, 8), value[:, :3])):
        with pytest.raises(CaptureError, match="cannot edit that"):
            AttentionCall(torch.nn.Identity(), weights, output, value, value, values, None).check(
                torch.tensor([0])
            )
