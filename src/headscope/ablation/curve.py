"""Cumulative pruning: ever more heads edited, those that seem to matter least first, and at random."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headscope.ablation.plan import PlannedEdit
from headscope.edits import HeadSet, How
from headscope.edits.heads import Member
from headscope.tasks.metric import Metric

Order = Literal["importance", "effect", "random"]
ORDERS: tuple[Order, ...] = ("importance", "effect", "random")
"""By gradient importance, by what editing each head alone does, or at random only."""
STEPS = 10
RANDOM_ORDERS = 5


@dataclass(frozen=True)
class Curve:
    """Which edits make up each point: by order and number of heads."""

    orders: tuple[str, ...]
    counts: tuple[int, ...]
    names: Mapping[tuple[str, int], str]


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
    return sorted(importance, key=lambda member: (importance[member], member[0], member[1]))


def least_harm_first(changes: Mapping[Member, float], metric: Metric) -> list[Member]:
    """Heads from the one whose edit harms the metric least to the one whose edit harms most; ties by place."""
    sign = -1 if metric.higher_is_better else 1
    return least_first({member: sign * change for member, change in changes.items()})


def ordering_metric(metrics: Sequence[Metric]) -> Metric:
    """The metric that tells heads apart best: F1 of answers, else a loss where there is one, else the first.

    A loss moves with every head, but that of answers does not go with how many are right: a model that is too sure
    of its answers has a lower loss without some of the heads that find them.
    """
    by_name = {metric.name: metric for metric in metrics}
    return (by_name.get("f1") if "em" in by_name else by_name.get("loss")) or metrics[0]
