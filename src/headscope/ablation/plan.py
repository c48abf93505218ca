"""What a sweep edits: each head, each layer, each kind of head, pairs of kinds, attention within sentences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from headscope.interventions import HeadSet, How
from headscope.models.stacks import Stacks
from headscope.types import HeadId

Sweep = Literal["heads", "layers", "types", "pairs-of-types", "sentence-masks", "cumulative"]
SWEEPS: tuple[Sweep, ...] = ("heads", "layers", "types", "pairs-of-types", "sentence-masks", "cumulative")

Kinds = Mapping[str, HeadSet]
"""The heads of each kind, by its name."""


@dataclass(frozen=True)
class Part:
    """Some heads, and what is done to them."""

    heads: HeadSet
    how: How


@dataclass(frozen=True)
class PlannedEdit:
    """One edit of a sweep. Where it has several parts, a later one works on what the earlier ones left."""

    name: str
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, name: str, heads: HeadSet, how: How) -> "PlannedEdit":
        """An edit that does one thing."""
        return cls(name, (Part(heads, how),))

    @property
    def heads(self) -> HeadSet:
        """All heads it changes."""
        found = HeadSet(frozenset())
        for part in self.parts:
            found |= part.heads
        return found


def each_head(stacks: Stacks, how: How) -> list[PlannedEdit]:
    """Every head alone."""
    return [PlannedEdit.of(str_of(stacks, member), HeadSet.of([member]), how) for member in all_heads(stacks)]


def each_layer(stacks: Stacks, how: How) -> list[PlannedEdit]:
    """All heads of every layer."""
    several = len(stacks.grids) > 1
    return [
        PlannedEdit.of(
            f"{grid.stack} layer {layer}" if several else f"layer {layer}",
            HeadSet.of((grid.stack, HeadId(layer, head)) for head in range(grid.heads)),
            how,
        )
        for grid in stacks.grids
        for layer in range(grid.layers)
    ]


RANDOM_SETS = 3
"""How many sets of random heads stand beside each kind."""


def each_kind(kinds: Kinds, how: How) -> list[PlannedEdit]:
    """Every kind edited, then all kinds but one (Guan et al. 2020), then as many heads as each kind has, at random."""
    edited = [PlannedEdit.of(name, heads, how) for name, heads in kinds.items()]
    kept_alone = [
        PlannedEdit.of(f"all but {name}", others, how)
        for name in kinds
        if (others := _union(heads for other, heads in kinds.items() if other != name))
    ]
    return edited + kept_alone + _random_sets(kinds, how)


def random_set(heads: int, draw: int) -> str:
    """What an edit of so many random heads is called."""
    return f"{heads} random head{'' if heads == 1 else 's'} ({draw + 1})"


def _random_sets(kinds: Kinds, how: How) -> list[PlannedEdit]:
    every = list(_union(kinds.values()))
    sizes = dict.fromkeys(len(heads) for heads in kinds.values() if len(heads) < len(every))
    planned = []
    for size in sizes:
        for draw in range(RANDOM_SETS):
            chosen = np.random.default_rng([size, draw]).choice(len(every), size, replace=False)
            heads = HeadSet.of(every[place] for place in chosen)
            planned.append(PlannedEdit.of(random_set(size, draw), heads, how))
    return planned


def each_pair(kinds: Kinds, how: How) -> list[PlannedEdit]:
    """Every two kinds together; of four kinds, that is also every two kinds kept."""
    return [
        PlannedEdit.of(f"{first}, {second}", kinds[first] | kinds[second], how)
        for first, second in combinations(kinds, 2)
    ]


def sentence_masks(kinds: Kinds, how: How) -> list[PlannedEdit]:
    """Attention within, or between, sentences removed: in all heads, in each kind, in a kind that is left alone.

    In the last, all other kinds are edited `how` (Guan et al. 2020).
    """
    masks: tuple[tuple[How, str], ...] = (("intra", "no attention within"), ("inter", "no attention between"))
    every = _union(kinds.values())
    planned = [PlannedEdit.of(f"all heads: {words}", every, mask) for mask, words in masks]
    for name, heads in kinds.items():
        planned += [PlannedEdit.of(f"{name}: {words}", heads, mask) for mask, words in masks]
    for name, heads in kinds.items():
        others = every - heads
        if not others:
            continue
        alone = Part(others, how)
        planned.append(PlannedEdit(f"only {name}", (alone,)))
        planned += [PlannedEdit(f"only {name}: {words}", (alone, Part(heads, mask))) for mask, words in masks]
    return planned


def all_heads(stacks: Stacks) -> HeadSet:
    """Every head of a model."""
    return HeadSet.of(
        (grid.stack, HeadId(layer, head))
        for grid in stacks.grids
        for layer in range(grid.layers)
        for head in range(grid.heads)
    )


def str_of(stacks: Stacks, member: tuple[str, HeadId]) -> str:
    """A head's name; with its stack where there are several."""
    stack, head = member
    return f"{stack} {head}" if len(stacks.grids) > 1 else str(head)


def _union(sets: Iterable[HeadSet]) -> HeadSet:
    found = HeadSet(frozenset())
    for one in sets:
        found |= one
    return found
