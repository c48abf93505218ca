"""Proof that an edit on the second road reaches what comes out of the model: it does what one made by hand does."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from headscope.errors import CaptureError
from headscope.trace.architecture import Place
from headscope.trace.call import AttentionCall
from headscope.trace.follow import Capture, Forward, following
from headscope.trace.observe import evaluating
from headscope.trace.output_projection import output_projections
from headscope.trace.probing import apart, computed_in, longest_probe, state_of

_ROUNDING = {torch.float32: 1e-3, torch.float64: 1e-3}
_ROUNDING_IN_HALF = 5e-2


def prove_edit(capture: Capture) -> None:
    """Raise CaptureError unless a head switched off in the last layer of each stack is as by hand.

    By hand its part of what the output projection is given is 0. Where the output does not go straight into a linear
    map, the weights and values of every head must at least make up its output.
    """
    try:
        projections = output_projections(capture)
    except CaptureError:
        projections = {}
    plain = _run(capture)
    for grid in capture.stacks.grids:
        place = Place(grid.stack, grid.layers - 1)
        edited = _output(
            capture, place, lambda call: call.silenced(torch.tensor([0], device=call.weights.device))
        )
        if edited is not None and plain is not None and torch.equal(edited, plain):
            raise CaptureError(
                f"{capture.model.name} ({capture.model.architecture}): switching off a head of the {grid.stack} "
                "changes nothing that comes out, so it takes no edits"
            )
        if place not in projections:
            continue
        module = projections[place].module
        if sum(other.module is module for other in projections.values()) > 1:
            continue  # by hand it would change all layers that share it
        by_hand = _without_head(capture, module, grid.heads)
        if edited is None or by_hand is None:
            continue
        rounding = _ROUNDING.get(computed_in(capture.model), _ROUNDING_IN_HALF)
        if (off := apart(edited, by_hand)) > rounding:
            raise CaptureError(
                f"{capture.model.name} ({capture.model.architecture}): switching off a head of the {grid.stack} is not "
                f"what it is by hand (off by {off:.2g} of the largest number), so it takes no edits"
            )


def _output(
    capture: Capture, place: Place, change: Callable[[AttentionCall], AttentionCall]
) -> Tensor | None:
    def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        call.check(torch.arange(call.weights.shape[1], device=call.weights.device))
        return change(call)

    with following(capture, [place], handle):
        return _run(capture)


def _without_head(capture: Capture, projection: nn.Module, heads: int) -> Tensor | None:
    def without(module: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        parts = given[0].clone().view(*given[0].shape[:-1], heads, -1)
        parts[..., 0, :] = 0
        return (parts.flatten(-2), *given[1:])

    handle = projection.register_forward_pre_hook(without)
    try:
        return _run(capture)
    finally:
        handle.remove()


def _run(capture: Capture) -> Tensor | None:
    core = capture.model.core
    with evaluating(core), torch.inference_mode():
        return state_of(core(**longest_probe(capture.model), **capture.model.no_cache))
