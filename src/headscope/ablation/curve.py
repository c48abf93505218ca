"""Cumulative pruning: ever more heads edited, in the order of how little each one alone matters, and at random."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headscope.ablation.plan import PlannedEdit
from headscope.interventions import HeadSet, How
from headscope.interventions.heads import Member
from headscope.tasks.metric import Metric

Order = Literal["importance", "random"]
ORDERS: tuple[Order, ...] = ("importance", "random")
IMPORTANCE = "importance"
STEPS = 10
RANDOM_ORDERS = 5


@dataclass(frozen=True)
class Curve:
    """Which edits make up each point: by order and number of heads."""

    orders: tuple[str, ...]
    counts: tuple[int, ...]
    names: Mapping[tuple[str, int], str]


def plan_curve(
    heads: Sequence[Member], order: Sequence[Member] | None, how: How, *, steps: int, seeds: int
) -> tuple[Curve, list[PlannedEdit]]:
    """The edits of a curve. `order` has the head to go first at its start; None leaves that curve out."""
    total = len(heads)
    counts = sorted({round(share * total) for share in np.linspace(0, 1, steps + 1)[1:].tolist()} - {0})
    orders: dict[str, Sequence[Member]] = {} if order is None else {IMPORTANCE: order}
    for seed in range(seeds):
        shuffled = np.random.default_rng(seed).permutation(total)
        orders[f"random {seed}"] = [heads[place] for place in shuffled]
    planned: dict[str, PlannedEdit] = {}
    names: dict[tuple[str, int], str] = {}
    for name, members in orders.items():
        for count in counts:
            # All heads are the same heads in any order.
            label = f"all {total} heads" if count == total else f"{name}: {count} heads"
            planned[label] = PlannedEdit.of(label, HeadSet.of(members[:count]), how)
            names[name, count] = label
    return Curve(tuple(orders), tuple(counts), names), list(planned.values())


def importance_order(changes: Mapping[Member, float], metric: Metric) -> list[Member]:
    """Heads from the one whose edit harms the metric least to the one whose edit harms most; ties by place."""
    sign = -1 if metric.higher_is_better else 1
    return sorted(changes, key=lambda member: (sign * changes[member], member[0], member[1]))


def ordering_metric(metrics: Sequence[Metric]) -> Metric:
    """The metric that tells heads apart best: a loss where there is one, else F1, else the first."""
    by_name = {metric.name: metric for metric in metrics}
    return by_name.get("loss") or by_name.get("f1") or metrics[0]
