"""Gradients with respect to attention weights agree with finite differences, edited or not."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from tests.helpers.reference_edits import batch
from tests.helpers.tiny import tiny
from torch import Tensor

from headscope.capture import AttentionCall, Capture, Forward, following, retained, surveyed
from headscope.edits import edit, mean_outputs
from headscope.errors import CaptureError
from headscope.models import Model, wrap
from headscope.models.stacks import Place


def precise(architecture: str) -> Model:
    network = deepcopy(tiny(architecture).network).double()
    return wrap(network, tiny(architecture).tokenizer, name=f"precise-{architecture}")


def loss_of(capture: Capture, inputs: dict[str, Tensor]) -> Tensor:
    states = capture.model.network(**inputs)[0]
    direction = torch.linspace(-1, 1, states[0].numel(), dtype=states.dtype).view_as(states[0])
    return (states * direction).sum()


def nudged(
    capture: Capture, inputs: dict[str, Tensor], place: Place, where: tuple[int, ...], by: float
) -> float:
    """The loss with one weight changed."""

    def handle(_: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        head = torch.tensor([where[1]])
        weights = call.weights[:, head].clone()
        weights[where[0], 0, where[2], where[3]] += by
        return call.with_weights(head, weights)

    with following(capture, [place], handle), torch.no_grad():
        return float(loss_of(capture, inputs))


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("architecture", ["bert", "gpt2", "llama", "t5"])
def test_gradients_are_finite_differences(architecture: str, edited: bool) -> None:
    capture = surveyed(precise(architecture))
    inputs, _ = batch(architecture)
    stack = capture.stacks.grids[0].stack
    # Llama and T5 normalise in float32 whatever their parameters are, in which small steps drown.
    step, near = (1e-3, 1e-2) if architecture in ("llama", "t5") else (1e-5, 1e-4)
    where = [(0, 1, 3, 2), (1, 2, 4, 1)]

    def check() -> None:
        with retained(capture) as kept:
            loss_of(capture, inputs).backward()
        assert set(kept) == set(capture.stacks.places)
        for place in capture.stacks.places:
            gradient = kept[place].grad
            assert gradient is not None
            for text, head, query, key in where if gradient.shape[1] > 2 else ():
                spot = (text, head, min(query, gradient.shape[2] - 1), key)
                up = nudged(capture, inputs, place, spot, step)
                down = nudged(capture, inputs, place, spot, -step)
                torch.testing.assert_close(
                    float(gradient[spot]), (up - down) / (2 * step), atol=near / 10, rtol=near
                )

    if edited:
        with edit(capture, [(stack, 0, 1), (stack, 2, 2)], how="uniform"):
            check()
    else:
        check()


def test_a_head_that_gives_its_mean_has_no_gradient() -> None:
    capture = surveyed(precise("bert"))
    inputs, _ = batch("bert")
    means = mean_outputs(capture, [inputs])
    with edit(capture, "1.2", how="mean", means=means):
        with torch.no_grad():
            expected = loss_of(capture, inputs)
        with retained(capture, [Place("encoder", 1)]) as kept:
            loss = loss_of(capture, inputs)
            loss.backward()
    torch.testing.assert_close(loss.detach(), expected)
    gradient: Any = kept[Place("encoder", 1)].grad
    assert list(kept) == [Place("encoder", 1)]
    assert not gradient[:, 2].any()
    assert gradient[:, [0, 1, 3]].abs().amax((0, 2, 3)).gt(0).all()


def test_frozen_parameters_do_not_hinder() -> None:
    model = precise("bert")
    inputs, _ = batch("bert")
    capture = surveyed(model)
    with retained(capture) as kept:
        loss_of(capture, inputs).backward()
    expected = [weights.grad for weights in kept.values()]
    model.network.requires_grad_(False)
    with retained(capture) as kept:
        loss_of(capture, inputs).backward()
    for weights, gradient in zip(kept.values(), expected, strict=True):
        torch.testing.assert_close(weights.grad, gradient)


def test_without_gradients_it_is_refused() -> None:
    capture = surveyed(tiny("bert"))
    inputs, _ = batch("bert")
    with pytest.raises(CaptureError, match="gradients are switched off"), retained(capture), torch.no_grad():
        loss_of(capture, inputs)


def test_the_output_is_the_models_own() -> None:
    capture = surveyed(precise("gemma2"))
    inputs, _ = batch("gemma2")
    plain = loss_of(capture, inputs)
    with retained(capture):
        torch.testing.assert_close(loss_of(capture, inputs), plain)
    assert torch.equal(loss_of(capture, inputs), plain)


@pytest.mark.parametrize("how", ["zero", "uniform"])
def test_a_head_that_looks_again_after_its_mean_has_a_gradient(how: Any) -> None:
    capture = surveyed(precise("bert"))
    inputs, _ = batch("bert")
    place = Place("encoder", 1)
    means = mean_outputs(capture, [inputs])

    def gradient() -> Tensor:
        with retained(capture, [place]) as kept:
            loss_of(capture, inputs).backward()
        found = kept[place].grad
        assert found is not None
        return found

    with edit(capture, "1.1", how=how):
        expected = gradient()
    with edit(capture, "1.1", how="mean", means=means), edit(capture, "1.1", how=how):
        torch.testing.assert_close(gradient(), expected)
    assert expected[:, 1].any()
