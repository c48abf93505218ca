"""What a sweep edits: each head, each layer, each kind of head, pairs of kinds, attention within sentences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from headscope.edits import HeadSet, How
from headscope.models.stacks import Stacks
from headscope.types import HeadId

Sweep = Literal["heads", "layers", "types", "pairs-of-types", "sentence-masks", "cumulative"]
SWEEPS: tuple[Sweep, ...] = ("heads", "layers", "types", "pairs-of-types", "sentence-masks", "cumulative")

Kinds = Mapping[str, HeadSet]
"""The heads of each kind, by its name."""


@dataclass(frozen=True)
class PlannedEdit:
    """One edit of a sweep: some heads, and what is done to them."""

    name: str
    heads: HeadSet
    how: How


def each_head(stacks: Stacks, how: How) -> list[PlannedEdit]:
    """Every head alone."""
    return [PlannedEdit(str_of(stacks, member), HeadSet.of([member]), how) for member in all_heads(stacks)]


def each_layer(stacks: Stacks, how: How) -> list[PlannedEdit]:
    """All heads of every layer."""
    several = len(stacks.grids) > 1
    return [
        PlannedEdit(
            f"{grid.stack} layer {layer}" if several else f"layer {layer}",
            HeadSet.of((grid.stack, HeadId(layer, head)) for head in range(grid.heads)),
            how,
        )
        for grid in stacks.grids
        for layer in range(grid.layers)
    ]


RANDOM_SETS = 3
"""How many sets of random heads stand beside each kind."""

MASKS: dict[How, str] = {
    "intra": "no attention within sentences",
    "inter": "no attention between sentences",
}
"""What is removed from heads in a sweep of sentence masks, in words."""


def each_kind(kinds: Kinds, how: How) -> list[PlannedEdit]:
    """Every kind edited, then all kinds but one (Guan et al. 2020), then as many heads as each kind has, at random."""
    edited = [PlannedEdit(name, heads, how) for name, heads in kinds.items()]
    kept_alone = [PlannedEdit(name, heads, how) for name, heads in _all_but_each(kinds).items()]
    at_random = [PlannedEdit(name, heads, how) for name, heads in _random_sets(kinds).items()]
    return edited + kept_alone + at_random


def all_but(kind: str) -> str:
    """What the heads of all kinds but one are called."""
    return f"all but {kind}"


def random_set(heads: int, draw: int) -> str:
    """What so many random heads are called."""
    return f"{heads} random head{'' if heads == 1 else 's'} ({draw + 1})"


def masked(heads: str, mask: How) -> str:
    """What an edit is called that masks heads of this name."""
    return f"{heads}: {MASKS[mask]}"


def pair(first: str, second: str) -> str:
    """What the heads of two kinds are called."""
    return f"{first}, {second}"


def each_pair(kinds: Kinds, how: How) -> list[PlannedEdit]:
    """Every two kinds together; of four kinds, that is also every two kinds kept."""
    return [
        PlannedEdit(pair(first, second), kinds[first] | kinds[second], how)
        for first, second in combinations(kinds, 2)
    ]


def sentence_masks(kinds: Kinds) -> list[PlannedEdit]:
    """Attention within, or between, sentences removed from some heads; no head is pruned (Guan et al. 2020, table 3).

    From all heads, from each kind, from all kinds but one, and from as many random heads as each kind has.
    """
    sets = {"all heads": _union(kinds.values()), **kinds, **_all_but_each(kinds), **_random_sets(kinds)}
    return [PlannedEdit(masked(name, mask), heads, mask) for name, heads in sets.items() for mask in MASKS]


def _all_but_each(kinds: Kinds) -> Kinds:
    every = _union(kinds.values())
    return {all_but(name): others for name, heads in kinds.items() if (others := every - heads)}


def _random_sets(kinds: Kinds) -> Kinds:
    every = list(_union(kinds.values()))
    sizes = dict.fromkeys(len(heads) for heads in kinds.values() if len(heads) < len(every))
    return {
        random_set(size, draw): HeadSet.of(
            every[place]
            for place in np.random.default_rng([size, draw]).choice(len(every), size, replace=False)
        )
        for size in sizes
        for draw in range(RANDOM_SETS)
    }


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
