"""What a sweep edits: heads, layers, kinds of heads, pairs of kinds, attention within sentences, ever more heads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from headscope.edits import HeadSet, How, select_heads
from headscope.edits.heads import Member
from headscope.facts.analyses.sweeps import random_set
from headscope.tasks.metric import Metric
from headscope.trace.architecture import Stacks

Sweep = Literal["heads", "layers", "types", "pairs-of-types", "sentence-masks", "cumulative"]
SWEEPS: tuple[Sweep, ...] = get_args(Sweep)
Order = Literal["importance", "effect", "random"]
ORDERS: tuple[Order, ...] = get_args(Order)
"""By gradient importance, by what editing each head alone does, or at random only."""

STEPS = 10
RANDOM_ORDERS = 5
RANDOM_SETS = 3
"""How many sets of random heads stand beside each kind."""

Kinds = Mapping[str, HeadSet]
"""The heads of each kind, by its name."""

MASKS: dict[How, str] = {
    "intra": "no attention within sentences",
    "inter": "no attention between sentences",
}
"""What is removed from heads in a sweep of sentence masks, in words."""


@dataclass(frozen=True)
class PlannedEdit:
    """One edit of a sweep: some heads, and what is done to them."""

    name: str
    heads: HeadSet
    how: How


@dataclass(frozen=True)
class Curve:
    """Which edits make up each point of a pruning curve: by order and number of heads."""

    orders: tuple[str, ...]
    counts: tuple[int, ...]
    names: Mapping[tuple[str, int], str]


@dataclass(frozen=True)
class Plan:
    """The edits of a sweep, and how they were chosen."""

    edits: list[PlannedEdit]
    kinds: Kinds = field(default_factory=dict)
    types_from: str = ""
    curve: Curve | None = None
    ordered_by: str = ""


def each_head(stacks: Stacks, how: How) -> list[PlannedEdit]:
    """Every head alone."""
    every = select_heads(stacks, "all")
    return [PlannedEdit(str_of(stacks, member), HeadSet.of([member]), how) for member in every]


def each_layer(stacks: Stacks, how: How) -> list[PlannedEdit]:
    """All heads of every layer."""
    several = len(stacks.grids) > 1
    return [
        PlannedEdit(
            f"{grid.stack} layer {layer}" if several else f"layer {layer}",
            select_heads(grid, layers=layer),
            how,
        )
        for grid in stacks.grids
        for layer in range(grid.layers)
    ]


def each_kind(kinds: Kinds, how: How) -> list[PlannedEdit]:
    """Every kind edited, then all kinds but one (Guan et al. 2020), then as many heads as each kind has, at random."""
    sets = {**kinds, **_all_but_each(kinds), **_random_sets(kinds)}
    return [PlannedEdit(name, heads, how) for name, heads in sets.items()]


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
    sets = {
        "all heads": HeadSet.union(kinds.values()),
        **kinds,
        **_all_but_each(kinds),
        **_random_sets(kinds),
    }
    return [PlannedEdit(masked(name, mask), heads, mask) for name, heads in sets.items() for mask in MASKS]


def plan_curve(
    heads: Sequence[Member], ranked: Mapping[str, Sequence[Member]], how: How, *, steps: int, seeds: int
) -> tuple[Curve, list[PlannedEdit]]:
    """The edits of a curve. `ranked` has, by name of the order, the head to go first at the start; it may be empty."""
    total = len(heads)
    counts = sorted({round(share * total) for share in np.linspace(0, 1, steps + 1)[1:].tolist()} - {0})
    orders = dict(ranked)
    for seed in range(seeds):
        shuffled = np.random.default_rng(seed).permutation(total)
        orders[f"random {seed}"] = [heads[place] for place in shuffled]
    planned: dict[str, PlannedEdit] = {}
    names: dict[tuple[str, int], str] = {}
    for name, members in orders.items():
        for count in counts:
            # All heads are the same heads in any order.
            label = f"all {total} heads" if count == total else f"{name}: {count} heads"
            planned[label] = PlannedEdit(label, HeadSet.of(members[:count]), how)
            names[name, count] = label
    return Curve(tuple(orders), tuple(counts), names), list(planned.values())


def least_first(importance: Mapping[Member, float]) -> list[Member]:
    """Heads from the least to the most important; ties by place."""
    return sorted(importance, key=lambda member: (importance[member], member))


def least_harm_first(changes: Mapping[Member, float], metric: Metric) -> list[Member]:
    """Heads from the one whose edit harms the metric least to the one whose edit harms most; ties by place."""
    return least_first({member: metric.harm(change) for member, change in changes.items()})


def ordering_metric(metrics: Sequence[Metric]) -> Metric:
    """The metric that tells heads apart best: F1 of answers, else a loss where there is one, else the first.

    A loss moves with every head, but that of answers does not go with how many are right: a model that is too sure
    of its answers has a lower loss without some of the heads that find them.
    """
    by_name = {metric.name: metric for metric in metrics}
    return (by_name.get("f1") if "em" in by_name else by_name.get("loss")) or metrics[0]


def all_but(kind: str) -> str:
    """What the heads of all kinds but one are called."""
    return f"all but {kind}"


def masked(heads: str, mask: How) -> str:
    """What an edit is called that masks heads of this name."""
    return f"{heads}: {MASKS[mask]}"


def pair(first: str, second: str) -> str:
    """What the heads of two kinds are called."""
    return f"{first}, {second}"


def str_of(stacks: Stacks, member: Member) -> str:
    """A head's name; with its stack where there are several."""
    stack, head = member
    return f"{stack} {head}" if len(stacks.grids) > 1 else str(head)


def _all_but_each(kinds: Kinds) -> Kinds:
    every = HeadSet.union(kinds.values())
    return {all_but(name): others for name, heads in kinds.items() if (others := every - heads)}


def _random_sets(kinds: Kinds) -> Kinds:
    every = list(HeadSet.union(kinds.values()))
    sizes = dict.fromkeys(len(heads) for heads in kinds.values() if len(heads) < len(every))
    return {
        random_set(size, draw): HeadSet.of(
            every[place]
            for place in np.random.default_rng([size, draw]).choice(len(every), size, replace=False)
        )
        for size in sizes
        for draw in range(RANDOM_SETS)
    }
