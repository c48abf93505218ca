"""Which attention call of a forward pass belongs to which stack and layer.

Names in a network lie (ALBERT runs one module for all layers, DistilBERT numbers none, T5 numbers three stacks
alike), so a short forward pass with two different text lengths is watched instead: what asks with the length
of the target and looks at the length of the source is cross attention, and so on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headscope.errors import CaptureError
from headscope.types import HeadGrid, StackName


@dataclass(frozen=True)
class Call:
    """One attention call as it was seen."""

    queries: int
    keys: int
    heads: int
    causal: bool


@dataclass(frozen=True)
class Place:
    """Where a call belongs."""

    stack: StackName
    layer: int


@dataclass(frozen=True)
class Stacks:
    """The stacks of a network and the place of each call of its forward pass, in order."""

    grids: tuple[HeadGrid, ...]
    places: tuple[Place, ...]

    def grid(self, stack: StackName) -> HeadGrid:
        """The heads of one stack."""
        return next(grid for grid in self.grids if grid.stack == stack)

    def numbered(self, module_layers: Mapping[StackName, tuple[int, ...]]) -> "Stacks":
        """The same with the numbers that the network's own modules have, by stack."""
        grids = tuple(replace(grid, module_layers=module_layers.get(grid.stack, ())) for grid in self.grids)
        return replace(self, grids=grids)


def sort_calls(calls: Sequence[Call], *, source: int, target: int | None) -> Stacks:
    """Sort the calls of one forward pass by the lengths of its source and target text (None: no target)."""
    counts: dict[StackName, list[Call]] = {}
    places = []
    for call in calls:
        if target is None:
            stack: StackName = "decoder" if calls[0].causal else "encoder"
            expected = (source, source)
        elif call.queries == source:
            stack, expected = "encoder", (source, source)
        elif call.keys == source:
            stack, expected = "cross", (target, source)
        else:
            stack, expected = "decoder", (target, target)
        if (call.queries, call.keys) != expected:
            raise CaptureError(
                f"an attention map of {call.queries} x {call.keys} tokens does not fit a text of {source} tokens; "
                "headscope cannot tell which tokens this architecture's attention is between (a window around each "
                "token, or several tokens pooled into one?)"
            )
        members = counts.setdefault(stack, [])
        places.append(Place(stack, len(members)))
        members.append(call)
    return Stacks(tuple(_grid(stack, members) for stack, members in counts.items()), tuple(places))


def _grid(stack: StackName, members: Sequence[Call]) -> HeadGrid:
    heads = {call.heads for call in members}
    if len(heads) > 1:
        raise CaptureError(
            f"the layers of the {stack} have different numbers of heads ({', '.join(map(str, sorted(heads)))}), "
            "which an atlas of layers x heads cannot hold"
        )
    return HeadGrid(stack, len(members), heads.pop(), causal=all(call.causal for call in members))
