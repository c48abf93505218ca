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
from headscope.models.stacks import Stacks
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
    grids = (stacks,) if isinstance(stacks, HeadGrid) else stacks.grids
    selector = _Selector(grids, atlas)
    found = HeadSet(frozenset())
    if heads is None and layers is None:
        raise OptionError(f"no heads were named; {_HELP}")
    if heads is not None:
        found |= selector.any(heads)
    for layer in [layers] if isinstance(layers, int) else layers or ():
        found |= selector.layer_anywhere(layer)
    if not found:
        raise OptionError(f"{heads!r} names no heads")
    return found


class _Selector:
    def __init__(self, grids: Sequence[HeadGrid], atlas: Atlas | None) -> None:
        self.grids = {grid.stack: grid for grid in grids}
        self.atlas = atlas

    def any(self, heads: Heads) -> HeadSet:
        if isinstance(heads, HeadSet):
            return HeadSet.of(self._one(*member) for member in heads)
        if isinstance(heads, str):
            return self._text(heads)
        if isinstance(heads, HeadId):
            return HeadSet.of([self._one(self._only(str(heads)), heads)])
        if _is_tuple(heads):
            *stack, layer, head = heads
            place = self._stack(stack[0]) if stack else self._only(f"{layer}.{head}")
            return HeadSet.of([self._one(place, HeadId(layer, head))])
        if not isinstance(heads, Iterable):
            raise OptionError(f"{heads!r} is not a head; {_HELP}")
        found = HeadSet(frozenset())
        for one in heads:
            found |= self.any(one)  # type: ignore[arg-type]  # it refuses what is no head
        return found

    def layer_anywhere(self, layer: int) -> HeadSet:
        fitting = [grid for grid in self.grids.values() if 0 <= layer < grid.layers]
        if not fitting:
            most = max(grid.layers for grid in self.grids.values())
            raise OptionError(f"there is no layer {layer}: layers go from 0 to {most - 1}")
        choice = HeadChoice(layers=range(layer, layer + 1))
        return HeadSet.of(member for grid in fitting for member in self._counted(grid.stack, choice))

    def _text(self, text: str) -> HeadSet:
        plain = " ".join(text.split())
        match = re.match(r"all but\b(?! *$)", plain, re.IGNORECASE)
        if match:
            return self._all() - self._items(plain[match.end() :])
        return self._items(plain)

    def _items(self, text: str) -> HeadSet:
        found = HeadSet(frozenset())
        for item in text.split(","):
            if not item.strip():
                raise OptionError(f"{text!r} has an empty place; {_HELP}")
            found |= self._item(item.strip())
        return found

    def _item(self, item: str) -> HeadSet:
        if item.lower() == "all":
            return self._all()
        named, what = split_stack(item)
        stack = self._stack(named) if named else self._only(item)
        choice = HeadChoice.read(what)
        return self._looked_up(stack, what) if choice is None else self._counted(stack, choice)

    def _counted(self, stack: StackName, choice: HeadChoice) -> HeadSet:
        grid = self.grids[stack]
        heads = choice.within(grid.layers, grid.heads, place=f" in the {stack}")
        return HeadSet.of((stack, head) for head in heads)

    def _looked_up(self, stack: StackName, what: str) -> HeadSet:
        """Heads that the atlas tells."""
        if match := re.fullmatch(r"(type|pattern) ?: ?(.+)", what, re.IGNORECASE):
            heads = labelled(self._known_atlas(what), self.grids[stack], match[1].lower(), match[2])
            return HeadSet.of((stack, head) for head in heads)
        if match := re.fullmatch(r"(top|bottom) (\d+) by (.+)", what, re.IGNORECASE):
            order = ranked(self._known_atlas(what), self.grids[stack], match[3])
            return self._first(stack, order, int(match[2]), what, from_top=match[1].lower() == "top")
        raise OptionError(f"{what!r} does not name heads; {_HELP}")

    def _first(
        self, stack: StackName, order: list[HeadId], count: int, item: str, *, from_top: bool
    ) -> HeadSet:
        if not 0 < count <= len(order):
            raise OptionError(f"{item!r}: {len(order)} heads have a value; ask for 1 to {len(order)} of them")
        return HeadSet.of((stack, head) for head in (order[:count] if from_top else order[-count:]))

    def _all(self) -> HeadSet:
        return HeadSet.of(member for stack in self.grids for member in self._counted(stack, HeadChoice()))

    def _one(self, stack: str, head: HeadId) -> tuple[StackName, HeadId]:
        (member,) = self._counted(self._stack(stack), HeadChoice.of(head))
        return member

    def _stack(self, name: str) -> StackName:
        for stack in self.grids:
            if stack == name:
                return stack
        raise OptionError(f"this model has no {name!r}; it has {' and '.join(self.grids)}")

    def _only(self, item: str) -> StackName:
        if len(self.grids) > 1:
            first = next(iter(self.grids))
            raise OptionError(
                f"{item!r} could be in the {' or the '.join(self.grids)} of this model; write such as '{first} {item}'"
            )
        return next(iter(self.grids))

    def _known_atlas(self, item: str) -> Atlas:
        if self.atlas is None:
            raise OptionError(f"{item!r} needs an atlas of the model to look it up in; give atlas=")
        return self.atlas


def _is_tuple(heads: object) -> TypeGuard[tuple[Any, ...]]:
    """Whether it is one head as (layer, head) or (stack, layer, head)."""
    if not isinstance(heads, tuple) or len(heads) not in (2, 3):
        return False
    return all(isinstance(number, int) for number in heads[-2:]) and (
        len(heads) == 2 or isinstance(heads[0], str)
    )
