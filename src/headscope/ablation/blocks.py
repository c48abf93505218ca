"""The layers of a network as modules, found by watching one short forward pass.

Names in a network lie, so a layer is the entry of a list of modules that makes the attention calls of one layer.
"""

from contextlib import ExitStack
from dataclasses import dataclass

from torch import nn

from headscope.capture import AttentionCall, Capture
from headscope.capture.follow import run_calls
from headscope.capture.surveying import probe_inputs
from headscope.edits.prune import PROBE_LENGTHS
from headscope.models.stacks import Place


@dataclass(frozen=True, eq=False)
class Block:
    """A layer: its module, and what happens in it."""

    module: nn.Module
    places: tuple[Place, ...]
    early: tuple[nn.Module, ...]
    """Modules without parts that are done before the first attention call: no edit of the layer reaches them."""


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

    with ExitStack() as hooks:
        for module in capture.model.core.modules():
            if next(module.children(), None) is None:
                note = module.register_forward_hook(lambda module, *_: events.append(module))
                hooks.callback(note.remove)
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
