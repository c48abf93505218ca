"""A sweep's numbers as labelled arrays: a grid for heads and layers, a list for kinds, a curve for pruning."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.ablation.curve import Curve
from headscope.types import HeadGrid, LabelledArray

if TYPE_CHECKING:
    from headscope.ablation.result import Ablation, Ablations

Array = np.ndarray[Any, Any]
Coords = dict[str, Sequence[str] | Sequence[int]]

NAMES = {
    "heads": "ablation",
    "layers": "layer",
    "types": "type",
    "pairs-of-types": "type_pair",
    "sentence-masks": "sentence_mask",
    "cumulative": "pruning",
}
"""How the names of each sweep's arrays begin."""

_UNITS = {"%": "points", "nats": "nats", "": "the metric's own"}


def arrays_of(found: "Ablations") -> dict[str, dict[str, LabelledArray]]:
    """By stack and name: change, its interval, p values and significance, (..., metric) each."""
    sweep = found.origin.sweep
    grids = found.origin.stacks.grids
    start = 0
    by_stack: dict[str, dict[str, LabelledArray]] = {}
    if sweep not in ("heads", "layers"):
        stack = next(iter(found.edits[0].edit.heads))[0]
        coords: Coords = {"edit": [one.edit.name for one in found.edits]}
        return {stack: _family(found, found.edits, coords)}
    for grid in grids:
        shape = _grid_coords(grid, with_heads=sweep == "heads")
        count = int(np.prod([len(labels) for labels in shape.values()]))
        by_stack[grid.stack] = _family(found, found.edits[start : start + count], shape)
        start += count
    return by_stack


def curve_arrays(found: "Ablations", curve: Curve) -> dict[str, LabelledArray]:
    """`pruning_curve` (order, pruned, metric), the metric with so many heads edited; and its change's interval."""
    by_name = {one.edit.name: one for one in found.edits}
    metrics = [metric.name for metric in found.metrics]
    baseline = found.baseline.values
    coords: Coords = {"order": curve.orders, "pruned": (0, *curve.counts), "metric": metrics}

    def taken(number: Callable[["Ablation", str], float], start: Mapping[str, float]) -> Array:
        return np.array(
            [
                [
                    [start[metric] for metric in metrics],
                    *(
                        [number(by_name[curve.names[order, count]], metric) for metric in metrics]
                        for count in curve.counts
                    ),
                ]
                for order in curve.orders
            ]
        )  # (order, pruned, metric)

    units = _units(found)
    none = dict.fromkeys(metrics, 0.0)
    what = f"with so many heads edited ({found.origin.how})"
    return {
        name: LabelledArray(values, tuple(coords), coords, description, units)
        for name, values, description in (
            ("pruning_curve", taken(lambda one, metric: one.values[metric], baseline), f"metric {what}"),
            (
                "pruning_change_low",
                taken(lambda one, metric: one.changes[metric].low, none),
                f"lower end of the change's 95 % interval {what}",
            ),
            (
                "pruning_change_high",
                taken(lambda one, metric: one.changes[metric].high, none),
                f"upper end of the change's 95 % interval {what}",
            ),
        )
    }


def _grid_coords(grid: HeadGrid, *, with_heads: bool) -> Coords:
    coords: Coords = {"layer": range(grid.layers)}
    return {**coords, "head": range(grid.heads)} if with_heads else coords


def _family(found: "Ablations", edits: Sequence["Ablation"], coords: Coords) -> dict[str, LabelledArray]:
    start = NAMES[found.origin.sweep]
    metrics = [metric.name for metric in found.metrics]
    labels: Coords = {**coords, "metric": metrics}
    units = _units(found)

    def array(
        number: Callable[["Ablation", str], float], description: str, units: str = "1"
    ) -> LabelledArray:
        values = np.array([[number(one, metric) for metric in metrics] for one in edits])
        shape = tuple(len(one) for one in labels.values())
        return LabelledArray(values.reshape(shape), tuple(labels), labels, description, units)

    def adjusted(one: "Ablation", metric: str) -> float:
        return found.adjusted_p[metric][one.edit.name]

    def significant(one: "Ablation", metric: str) -> float:
        return float(found.is_significant(metric, one.edit.name))

    how = found.origin.how
    return {
        f"{start}_change": array(
            lambda one, metric: one.changes[metric].value, f"change of the metric by the edit ({how})", units
        ),
        f"{start}_change_stderr": array(
            lambda one, metric: one.changes[metric].stderr, "standard error of the change, paired", units
        ),
        f"{start}_change_low": array(
            lambda one, metric: one.changes[metric].low, "lower end of the change's 95 % interval", units
        ),
        f"{start}_change_high": array(
            lambda one, metric: one.changes[metric].high, "upper end of the change's 95 % interval", units
        ),
        f"{start}_p": array(lambda one, metric: one.changes[metric].p, "two-sided p of no change"),
        f"{start}_adjusted_p": array(adjusted, f"p after correction ({found.correction})"),
        f"{start}_significant": array(significant, "1 where the corrected p is below 0.05"),
    }


def _units(found: "Ablations") -> str:
    units = {_UNITS[metric.unit] for metric in found.metrics}
    return units.pop() if len(units) == 1 else "the metric's own"
