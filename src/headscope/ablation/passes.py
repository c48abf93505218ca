"""Forward passes with edits, which run only what an edit can change.

Layers below the first edited one do what they did in the untouched pass. So that pass keeps what every layer gave (a
few hidden states; maps are not kept), and in an edited pass the layers below hand that out instead of running. In the
first edited layer, the projections in front of its attention are the same for every edit and are run once too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headscope.ablation.plan import PlannedEdit
from headscope.edits import How
from headscope.edits.changes import Change
from headscope.edits.heads import HeadSet
from headscope.edits.prune import PROBE_LENGTHS, probe_states
from headscope.errors import CaptureError
from headscope.trace import AttentionCall, Capture, Forward, following
from headscope.trace.architecture import Place
from headscope.trace.follow import run_calls
from headscope.trace.hooks import hooked
from headscope.trace.observe import intercepting, is_edited
from headscope.trace.probing import probe_inputs
from headscope.types import HeadId

Changes = Mapping[How, Change]
Run = Callable[[], Any]
"""A forward pass of one batch, the same at every call."""

_ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-5}
_ROUNDING_IN_HALF = 2e-2


@dataclass(frozen=True, eq=False)
class Block:
    """A layer: its module, and what happens in it.

    Names in a network lie, so a layer is the entry of a list of modules that makes the attention calls of one layer.
    """

    module: nn.Module
    places: tuple[Place, ...]
    early: tuple[nn.Module, ...]
    """Modules without parts that are done before the first attention call: no edit of the layer reaches them."""


class Passes:
    """Passes of one batch after another: `untouched` first, then any number of `edited` ones.

    Those start at the first edited one of the `blocks`; where there are none, at the first layer.
    """

    def __init__(self, capture: Capture, changes: Changes, blocks: tuple[Block, ...] = ()) -> None:
        self.blocks = blocks
        self._capture = capture
        self._changes = changes
        self._outputs: dict[nn.Module, Any] = {}  # what each layer gave in the untouched pass
        self._early: tuple[int, dict[nn.Module, Any]] = (-1, {})  # of one layer at a time

    def untouched(self, run: Run) -> Any:
        """What the network gives for the batch that `run` runs, as it is."""
        self._early, self._outputs = (-1, {}), {}  # an accelerator may have no room for two batches
        # By the same attention function as in the edited passes, so that what an edit leaves alone is equal to the bit.
        with (
            _recording([block.module for block in self.blocks]) as outputs,
            intercepting(self._capture.model.core, lambda module: None),
        ):
            output = run()
        self._outputs = outputs
        return output

    def edited(self, run: Run, planned: PlannedEdit) -> Any:
        """What it gives for the same batch with heads changed."""
        change, device = self._changes[planned.how], self._capture.model.device
        heads = {place: torch.tensor(here, device=device) for place, here in planned.heads.by_place.items()}
        first = next((at for at, block in enumerate(self.blocks) if heads.keys() & set(block.places)), 0)
        below = self.blocks[:first]

        def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
            return change.apply(place, heads[place], call, forward)

        left_out = {place for block in below for place in block.places}
        with (
            _giving({block.module: self._outputs[block.module] for block in below}),
            self._shared(first),
            following(self._capture, heads, handle, edit=planned.name, left_out=left_out) as follower,
        ):
            output = run()
        if not all(section.forwards for section in follower.chosen):
            raise CaptureError(
                f"{self._capture.model.name}: an edit of {', '.join(map(str, heads))} was applied at no layer"
            )
        return output

    @contextmanager
    def _shared(self, number: int) -> Iterator[None]:
        """Inside, what runs before the layer's attention runs once for all edits of the layer."""
        if self._early[0] == number:
            with _giving(self._early[1]):
                yield
            return
        with _recording(self.blocks[number].early if self.blocks else ()) as outputs:
            yield
        self._early = (number, outputs)


def passes_for(capture: Capture, changes: Changes) -> Passes:
    """Passes that share work where the architecture allows it, proved on a probe; else full ones."""
    blocks = () if is_edited(capture.model.core) else find_blocks(capture)
    return Passes(capture, changes, blocks if blocks and _is_same(capture, blocks) else ())


@contextmanager
def _recording(modules: Sequence[nn.Module]) -> Iterator[dict[nn.Module, Any]]:
    """Inside, what the modules give is kept."""
    outputs: dict[nn.Module, Any] = {}

    def keep(module: nn.Module, given: Any, output: Any) -> None:
        outputs[module] = output

    with hooked(module.register_forward_hook(keep) for module in modules):
        yield outputs


@contextmanager
def _giving(outputs: Mapping[nn.Module, Any]) -> Iterator[None]:
    """Inside, the modules give these outputs, whatever they are asked."""
    before = {module: module.__dict__.get("forward") for module in outputs}
    try:
        for module, output in outputs.items():
            module.forward = lambda *_, _output=output, **__: _output
        yield
    finally:
        for module, own in before.items():
            if own is None:
                module.__dict__.pop("forward", None)
            else:
                module.forward = own


def _is_same(capture: Capture, blocks: tuple[Block, ...]) -> bool:
    """Whether shared passes give what full ones do, for a head of the middle and of the last layer, each twice."""
    changes: Changes = {"zero": Change(capture.model, "zero")}
    chosen = [blocks[len(blocks) // 2].places[-1], blocks[-1].places[0]]
    edits = [PlannedEdit("", HeadSet.of([(place.stack, HeadId(place.layer, 0))]), "zero") for place in chosen]
    full, shared = Passes(capture, changes), Passes(capture, changes, blocks)

    def run() -> Tensor:
        return probe_states(capture.model)

    expected = [full.edited(run, planned) for planned in edits]
    try:
        plain = shared.untouched(run)
        ours = [shared.edited(run, planned) for planned in (*edits, *edits)]
    except (CaptureError, KeyError, IndexError, TypeError, RuntimeError):
        return False
    rounding = _ROUNDING.get(capture.model.dtype, _ROUNDING_IN_HALF) * max(1.0, float(plain.abs().amax()))
    return all(
        torch.allclose(mine, theirs, rtol=0, atol=rounding)
        for mine, theirs in zip(ours, (*expected, *expected), strict=True)
    )


def find_blocks(capture: Capture) -> tuple[Block, ...]:
    """The layers in the order in which they run; none where layers are not modules of their own (ALBERT)."""
    events, attention = _watched(capture)
    owners = _owners(capture.model.core)
    places_of: dict[nn.Module, list[Place]] = {}
    for place in capture.stacks.places:
        owner = owners.get(attention[place])
        if owner is None or (owner in places_of and owner is not list(places_of)[-1]):
            return ()
        places_of.setdefault(owner, []).append(place)
    if len(set(attention.values())) < len(attention):
        return ()  # shared
    return tuple(
        Block(module, tuple(places), _early(module, events[: events.index(places[0])], events))
        for module, places in places_of.items()
    )


def _watched(capture: Capture) -> tuple[list[nn.Module | Place], dict[Place, nn.Module]]:
    """Modules without parts and attention calls in the order in which they were done; the module of each call."""
    events: list[nn.Module | Place] = []
    attention: dict[Place, nn.Module] = {}

    def see(place: Place, call: AttentionCall) -> None:
        events.append(place)
        attention[place] = call.module

    leaves = [module for module in capture.model.core.modules() if next(module.children(), None) is None]
    with hooked(module.register_forward_hook(lambda module, *_: events.append(module)) for module in leaves):
        run_calls(capture, probe_inputs(capture.model, PROBE_LENGTHS), see)
    return events, attention


def _owners(network: nn.Module) -> dict[nn.Module, nn.Module]:
    """For every module inside a list of modules, the entry it is a part of; of lists in lists, the outer one's."""
    owners: dict[nn.Module, nn.Module] = {}
    for module in network.modules():  # parents before their parts
        for entry in module if isinstance(module, nn.ModuleList) else ():
            for part in entry.modules():
                owners.setdefault(part, entry)
    return owners


def _early(
    block: nn.Module, before: list[nn.Module | Place], events: list[nn.Module | Place]
) -> tuple[nn.Module, ...]:
    """The block's modules that run once, and `before` its first attention call."""
    inside = set(block.modules())
    return tuple(
        event
        for event in before
        if isinstance(event, nn.Module) and event in inside and events.count(event) == 1
    )
