"""Naming heads: one by one, by layer, by kind, by what they score, or all but some.

    selection = "all" | "all but" items | items
    items     = item { "," item }
    item      = [ stack (":" | " ") ] what            stack: encoder, decoder or cross
    what      = "all"
              | LAYER "." HEAD                        3.2
              | LAYER ".*" | "layer" LAYER            3.* or layer 3
              | "layers" LAYER "-" LAYER              layers 3-5, both ends included
              | "type:" NAME                          a kind of head in the atlas, such as type:dense
              | "pattern:" NAME                       heads whose most frequent pattern is NAME
              | ("top" | "bottom") NUMBER "by" MEASURE { "/" LABEL }

Layers and heads are counted from 0. In a model of several stacks every item but a plain "all" names its stack. A
measure with more than one number a head takes labels: `top 10 by role_attention/sep`; where a label is left out and
there is an "all", that is taken.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from headscope.atlas import Atlas
from headscope.edits.heads import HeadSet
from headscope.edits.rank import labelled, ranked
from headscope.errors import OptionError
from headscope.trace.architecture import Stacks
from headscope.types import HeadChoice, HeadGrid, HeadId, StackName, split_stack

Chosen = str | HeadId | tuple[int, int] | tuple[str, int, int]
Heads = Chosen | HeadSet | Iterable[Chosen]
"""What can be said where heads are asked for; tuples are (layer, head) or (stack, layer, head)."""

_HELP = "write heads as 3.2, layers as 3.* or layers 3-5, or all, all but ..., type:..., top 10 by ..."


def select_heads(
    stacks: Stacks | HeadGrid,
    heads: Heads | None = None,
    *,
    layers: int | Iterable[int] | None = None,
    atlas: Atlas | None = None,
) -> HeadSet:
    """The heads that are meant; see the top of this file for what may be written.

    `layers` adds whole layers, of all stacks that have them. Raises OptionError when nothing is chosen.
    """
    if heads is None and layers is None:
        raise OptionError(f"no heads were named; {_HELP}")
    selector = _Selector((stacks,) if isinstance(stacks, HeadGrid) else stacks.grids, atlas)
    named = [] if heads is None else [selector.any(heads)]
    whole = [layers] if isinstance(layers, int) else layers or ()
    chosen = HeadSet.union([*named, *map(selector.layer_anywhere, whole)])
    if not chosen:
        raise OptionError(f"{heads!r} names no heads")
    return chosen


class _Selector:
    """Reads what names heads, for a model of these stacks."""

    def __init__(self, grids: Sequence[HeadGrid], atlas: Atlas | None) -> None:
        self.grids = {grid.stack: grid for grid in grids}
        self.atlas = atlas

    def any(self, heads: Heads) -> HeadSet:
        if isinstance(heads, str):
            plain = " ".join(heads.split())
            match = re.match(r"all but\b(?! *$)", plain, re.IGNORECASE)
            return self._item("all") - self._items(plain[match.end() :]) if match else self._items(plain)
        if isinstance(heads, HeadId):
            return self._counted(self._only(str(heads)), HeadChoice.of(heads))
        if _is_tuple(heads):
            *stack, layer, head = heads
            place = self._stack(stack[0]) if stack else self._only(f"{layer}.{head}")
            return self._counted(place, HeadChoice.of(HeadId(layer, head)))
        if isinstance(heads, HeadSet):
            return HeadSet.union(
                self._counted(self._stack(stack), HeadChoice.of(head)) for stack, head in heads
            )
        if not isinstance(heads, Iterable):
            raise OptionError(f"{heads!r} is not a head; {_HELP}")
        return HeadSet.union(self.any(part) for part in heads)  # type: ignore[arg-type]  # it refuses what is no head

    def layer_anywhere(self, layer: int) -> HeadSet:
        fitting = [grid.stack for grid in self.grids.values() if 0 <= layer < grid.layers]
        if not fitting:
            most = max(grid.layers for grid in self.grids.values())
            raise OptionError(f"there is no layer {layer}: layers go from 0 to {most - 1}")
        choice = HeadChoice(layers=range(layer, layer + 1))
        return HeadSet.union(self._counted(stack, choice) for stack in fitting)

    def _items(self, text: str) -> HeadSet:
        items = [item.strip() for item in text.split(",")]
        if not all(items):
            raise OptionError(f"{text!r} has an empty place; {_HELP}")
        return HeadSet.union(map(self._item, items))

    def _item(self, item: str) -> HeadSet:
        if item.lower() == "all":
            return HeadSet.union(self._counted(stack, HeadChoice()) for stack in self.grids)
        named, what = split_stack(item)
        stack = self._stack(named) if named else self._only(item)
        choice = HeadChoice.read(what)
        return self._looked_up(stack, what) if choice is None else self._counted(stack, choice)

    def _counted(self, stack: StackName, choice: HeadChoice) -> HeadSet:
        grid = self.grids[stack]
        heads = choice.within(*grid.shape, place=f" in the {stack}")
        return HeadSet.of((stack, head) for head in heads)

    def _looked_up(self, stack: StackName, what: str) -> HeadSet:
        """Heads that the atlas tells."""
        kind = re.fullmatch(r"(type|pattern) ?: ?(.+)", what, re.IGNORECASE)
        rank = re.fullmatch(r"(top|bottom) (\d+) by (.+)", what, re.IGNORECASE)
        if not kind and not rank:
            raise OptionError(f"{what!r} does not name heads; {_HELP}")
        if self.atlas is None:
            raise OptionError(f"{what!r} needs an atlas of the model to look it up in; give atlas=")
        if kind:
            heads = labelled(self.atlas, self.grids[stack], kind[1].lower(), kind[2])
        if rank:
            heads, count = ranked(self.atlas, self.grids[stack], rank[3]), int(rank[2])
            if not 0 < count <= len(heads):
                raise OptionError(
                    f"{what!r}: {len(heads)} heads have a value; ask for 1 to {len(heads)} of them"
                )
            heads = heads[:count] if rank[1].lower() == "top" else heads[-count:]
        return HeadSet.of((stack, head) for head in heads)

    def _stack(self, name: str) -> StackName:
        for stack in self.grids:
            if stack == name:
                return stack
        raise OptionError(f"this model has no {name!r}; it has {' and '.join(self.grids)}")

    def _only(self, item: str) -> StackName:
        first, *others = self.grids
        if others:
            raise OptionError(
                f"{item!r} could be in the {' or the '.join(self.grids)} of this model; write such as '{first} {item}'"
            )
        return first


def _is_tuple(heads: object) -> TypeGuard[tuple[Any, ...]]:
    """Whether it is one head as (layer, head) or (stack, layer, head)."""
    if not isinstance(heads, tuple) or len(heads) not in (2, 3):
        return False
    return all(isinstance(number, int) for number in heads[-2:]) and (
        len(heads) == 2 or isinstance(heads[0], str)
    )
