"""The layers of a network as modules, found by watching one short forward pass.

Names in a network lie, so a layer is the entry of a list of modules that makes the attention calls of one layer.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from torch import nn

from headscope.capture import AttentionCall, Capture, Forward, attention_modules, following, run_probe
from headscope.models.stacks import Place


@dataclass(frozen=True, eq=False)
class Block:
    """A layer: its module, and what happens in it."""

    module: nn.Module
    places: tuple[Place, ...]
    attention: tuple[nn.Module, ...]
    """The module that makes the call of each place."""
    early: tuple[nn.Module, ...]
    """Modules without parts that are done before the first attention call: no edit of the layer reaches them."""


def find_blocks(capture: Capture) -> tuple[Block, ...] | None:
    """The layers in the order in which they run; None where layers are not modules of their own (ALBERT)."""
    core = capture.model.core
    attention = {place: core.get_submodule(name) for place, name in attention_modules(capture).items()}
    if len(set(map(id, attention.values()))) < len(attention):
        return None  # shared
    owners = _owners(core)
    grouped: list[tuple[nn.Module, list[Place]]] = []
    for place in capture.stacks.places:
        owner = owners.get(id(attention[place]))
        if owner is None:
            return None
        if not grouped or grouped[-1][0] is not owner:
            grouped.append((owner, []))
        grouped[-1][1].append(place)
    modules = [module for module, _ in grouped]
    if len(set(map(id, modules))) < len(modules):
        return None
    early = _early(capture, modules)
    return tuple(
        Block(module, tuple(places), tuple(attention[place] for place in places), early[id(module)])
        for module, places in grouped
    )


def _owners(network: nn.Module) -> dict[int, nn.Module]:
    """For every module inside a list of modules, the entry it is a part of; of lists in lists, the outer one's."""
    owners: dict[int, nn.Module] = {}
    for module in network.modules():  # parents before their parts
        if isinstance(module, nn.ModuleList):
            for entry in module:
                for part in entry.modules():
                    owners.setdefault(id(part), entry)
    return owners


def _early(capture: Capture, blocks: list[nn.Module]) -> dict[int, tuple[nn.Module, ...]]:
    """By id of each block: its modules without parts that run once, before the block's first attention call."""
    events: list[nn.Module | None] = []  # None is an attention call

    def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        events.append(None)
        return call

    leaves = {
        id(leaf): block for block in blocks for leaf in block.modules() if next(leaf.children(), None) is None
    }
    watched = [module for module in capture.model.core.modules() if id(module) in leaves]
    with _noting(watched, events), following(capture, capture.stacks.places, handle):
        run_probe(capture.model)
    times = {id(module): events.count(module) for module in events if module is not None}
    found: dict[int, list[nn.Module]] = {id(block): [] for block in blocks}
    closed: set[int] = set()
    current: nn.Module | None = None
    for event in events:
        if event is None:
            if current is not None:
                closed.add(id(current))
            continue
        current = leaves[id(event)]
        if id(current) not in closed and times[id(event)] == 1:
            found[id(current)].append(event)
    return {block: tuple(modules) for block, modules in found.items()}


@contextmanager
def _noting(modules: list[nn.Module], events: list[nn.Module | None]) -> Iterator[None]:
    """Inside, every module that has run is put down."""

    def note(module: nn.Module, *_: Any) -> None:
        events.append(module)

    with ExitStack() as stack:
        for module in modules:
            stack.callback(module.register_forward_hook(note).remove)
        yield
