"""One model's attention on the other model's hidden states: what a layer's own weights change.

Without it a layer may look changed only because the layers below hand it something else. What a layer is handed
beside hidden states, such as T5's position bias above the first layer, is the other model's too.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from headscope.comparison.sums import GIVERS
from headscope.errors import CaptureError
from headscope.text.batching import TextBatch
from headscope.trace import Capture, FiniteCheck, attention_modules
from headscope.trace.architecture import Place
from headscope.trace.hooks import hooked
from headscope.trace.observe import is_edited, watching
from headscope.trace.watch import sides_of

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class SameInput:
    """Runs the attention modules of one model on what those of another were given."""

    def __init__(self, giver: Capture, taker: Capture) -> None:
        self.places = taker.stacks.places
        self.model = taker.model
        self._sites = taker.sites
        self._giver = _modules(giver)
        self._taker = _modules(taker)

    @classmethod
    def both_ways(cls, first: Capture, second: Capture) -> dict[str, "SameInput"]:
        """By whose hidden states are given (GIVERS).

        None where attention cannot be reached from outside, is being edited, or lies on two devices.
        """
        reachable = first.hooked and second.hooked and first.model.device == second.model.device
        same_kind = (
            type(first.model.core) is type(second.model.core) and first.model.dtype == second.model.dtype
        )
        if not (reachable and same_kind) or is_edited(first.model.core) or is_edited(second.model.core):
            return {}
        return dict(zip(GIVERS, (cls(first, second), cls(second, first)), strict=True))

    @contextmanager
    def recording(self) -> Iterator[list[Arguments]]:
        """Inside, what the giver's attention modules are called with is kept, in order."""
        calls: list[Arguments] = []

        def keep(module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
            calls.append((arguments, named))

        # One module may serve several layers (ALBERT), and then is asked as often.
        modules = {id(module): module for module in self._giver.values()}
        with hooked(module.register_forward_pre_hook(keep, with_kwargs=True) for module in modules.values()):
            yield calls

    def run(self, batch: TextBatch, calls: list[Arguments], see: Callable[[Place, Tensor], None]) -> None:
        """`see(place, weights)` for every layer; weights are (text, head, query, key). `calls` were made on `batch`."""
        if len(calls) != len(self.places):
            raise CaptureError(
                f"{len(self.places)} attention modules were expected to be called in a forward pass, {len(calls)} were"
            )
        check = FiniteCheck(self.model)
        for place, (arguments, named) in zip(self.places, calls, strict=True):
            seen: list[Tensor] = []
            with watching(self.model.core, seen.append, sites=self._sites), torch.inference_mode():
                self._taker[place](*arguments, **named)
            if len(seen) != 1:
                raise CaptureError(
                    f"layer {place.layer} of the {place.stack} attended {len(seen)} times, not once"
                )
            check.look(place, seen[0], sides_of(batch, place.stack)[0].is_token)
            see(place, seen[0])
        check.done()


def _modules(capture: Capture) -> Mapping[Place, nn.Module]:
    core = capture.model.core
    return {place: core.get_submodule(name) for place, name in attention_modules(capture).items()}
