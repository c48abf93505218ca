"""Gradients with respect to attention weights agree with finite differences, edited or not."""

from contextlib import nullcontext
from copy import deepcopy
from typing import Any

import pytest
import torch
from tests.helpers.reference_edits import SPOTS, batch
from tests.helpers.tiny import tiny
from tests.seams import differentiated, edited
from torch import Tensor

import headscope as hs
from headscope.errors import CaptureError


def precise(architecture: str) -> hs.Model:
    network = deepcopy(tiny(architecture).network).double()
    return hs.wrap(network, tiny(architecture).tokenizer, name=f"precise-{architecture}")


def loss_of(model: hs.Model, inputs: dict[str, Tensor]) -> Tensor:
    states = model.network(**inputs)[0]
    direction = torch.linspace(-1, 1, states[0].numel(), dtype=states.dtype).view_as(states[0])
    return (states * direction).sum()


def nudged(
    model: hs.Model, inputs: dict[str, Tensor], place: tuple[str, int], where: tuple[int, ...], by: float
) -> float:
    """The loss with one weight (text, head, query, key) changed."""

    def change(stack: str, layer: int, weights: Tensor) -> Tensor:
        weights = weights.clone()
        weights[where] += by
        return weights

    with edited(model, change, [place]), torch.no_grad():
        return float(loss_of(model, inputs))


@pytest.mark.parametrize("in_force", [False, True])
@pytest.mark.parametrize("architecture", ["bert", "gpt2", "llama", "t5"])
def test_gradients_are_finite_differences(architecture: str, in_force: bool) -> None:
    model = precise(architecture)
    inputs, _ = batch(architecture)
    # Llama and T5 normalise in float32 whatever their parameters are, in which small steps drown.
    step, near = (1e-3, 1e-2) if architecture in ("llama", "t5") else (1e-5, 1e-4)
    stack = SPOTS[architecture][0][0]
    edit = hs.edit(model, [(stack, 0, 1), (stack, 2, 2)], how="uniform") if in_force else nullcontext()
    with edit:
        with differentiated(model) as kept:
            loss_of(model, inputs).backward()
        assert set(kept) == set(SPOTS[architecture])
        for place, weights in kept.items():
            gradient = weights.grad
            assert gradient is not None
            for text, head, query, key in [(0, 1, 3, 2), (1, 2, 4, 1)]:
                spot = (text, head, min(query, gradient.shape[2] - 1), key)
                up = nudged(model, inputs, place, spot, step)
                down = nudged(model, inputs, place, spot, -step)
                torch.testing.assert_close(
                    float(gradient[spot]), (up - down) / (2 * step), atol=near / 10, rtol=near
                )


def test_a_head_that_gives_its_mean_has_no_gradient() -> None:
    model = precise("bert")
    inputs, _ = batch("bert")
    means = hs.mean_outputs(model, [inputs])
    with hs.edit(model, "1.2", how="mean", means=means):
        with torch.no_grad():
            expected = loss_of(model, inputs)
        with differentiated(model, [("encoder", 1)]) as kept:
            loss = loss_of(model, inputs)
            loss.backward()
    torch.testing.assert_close(loss.detach(), expected)
    gradient: Any = kept[("encoder", 1)].grad
    assert list(kept) == [("encoder", 1)]
    assert not gradient[:, 2].any()
    assert gradient[:, [0, 1, 3]].abs().amax((0, 2, 3)).gt(0).all()


def test_frozen_parameters_do_not_hinder() -> None:
    model = precise("bert")
    inputs, _ = batch("bert")
    with differentiated(model) as kept:
        loss_of(model, inputs).backward()
    expected = [weights.grad for weights in kept.values()]
    model.network.requires_grad_(False)
    with differentiated(model) as kept:
        loss_of(model, inputs).backward()
    for weights, gradient in zip(kept.values(), expected, strict=True):
        torch.testing.assert_close(weights.grad, gradient)


def test_without_gradients_it_is_refused() -> None:
    model = tiny("bert")
    inputs, _ = batch("bert")
    with (
        pytest.raises(CaptureError, match="gradients are switched off"),
        differentiated(model),
        torch.no_grad(),
    ):
        loss_of(model, inputs)


def test_the_output_is_the_models_own() -> None:
    model = precise("gemma2")
    inputs, _ = batch("gemma2")
    plain = loss_of(model, inputs)
    with differentiated(model):
        torch.testing.assert_close(loss_of(model, inputs), plain)
    assert torch.equal(loss_of(model, inputs), plain)


@pytest.mark.parametrize("how", ["zero", "uniform"])
def test_a_head_that_looks_again_after_its_mean_has_a_gradient(how: Any) -> None:
    model = precise("bert")
    inputs, _ = batch("bert")
    place = ("encoder", 1)
    means = hs.mean_outputs(model, [inputs])

    def gradient() -> Tensor:
        with differentiated(model, [place]) as kept:
            loss_of(model, inputs).backward()
        found = kept[place].grad
        assert found is not None
        return found

    with hs.edit(model, "1.1", how=how):
        expected = gradient()
    with hs.edit(model, "1.1", how="mean", means=means), hs.edit(model, "1.1", how=how):
        torch.testing.assert_close(gradient(), expected)
    assert expected[:, 1].any()
