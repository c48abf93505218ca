"""What a sweep found: every edit's effect with its interval, as rows, as arrays, and in an atlas."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from headscope.ablation.plan import Curve, Kinds, Plan, PlannedEdit, Sweep, str_of
from headscope.atlas import Atlas
from headscope.facts.analyses.sweeps import ABLATION, CHANGE_UNITS, SWEEP_KINDS, SweepFacts
from headscope.probes.result import ProbeResult, Row
from headscope.stats.correction import SIGNIFICANT, Correction, adjusted
from headscope.tasks import Difference, Metric, TaskResult, paired_difference
from headscope.trace.architecture import Stacks
from headscope.types import Array, Coords, LabelledArray

_OWN_UNIT = "the metric's own"
_DESCRIPTIONS = {
    "curve": "metric with so many heads edited ({how})",
    "change": "change of the metric by the edit ({how})",
    "change_stderr": "standard error of the change, paired",
    "change_low": "lower end of the change's 95 % interval{curve}",
    "change_high": "upper end of the change's 95 % interval{curve}",
    "p": "two-sided p of no change",
    "adjusted_p": "p after correction ({correction})",
    "significant": "1 where the corrected p is below 0.05",
}
"""What the arrays of a sweep are, by how their names end."""
_WITHOUT_UNIT = ("p", "adjusted_p", "significant")


@dataclass(frozen=True)
class Ablation:
    """One edit and what it did."""

    edit: PlannedEdit
    values: Mapping[str, float]
    """Every metric with the edit in force."""
    changes: Mapping[str, Difference]
    """Every metric's change against the unedited model."""


@dataclass(frozen=True)
class Origin:
    """How a sweep was made."""

    stacks: Stacks
    sweep: Sweep
    how: str
    """zero, uniform, mean or masked."""
    limit: int | None
    renormalise: bool


def compared(edit: PlannedEdit, before: TaskResult, after: TaskResult) -> Ablation:
    """An edit's result held against that of the unedited model."""
    changes = {metric.name: paired_difference(before, after, metric.name) for metric in before.metrics}
    return Ablation(edit, after.values, changes)


@dataclass(frozen=True)
class Ablations(ProbeResult):
    """A sweep: the unedited model, and every edit of it."""

    probe: ClassVar[str] = ABLATION

    baseline: TaskResult
    edits: tuple[Ablation, ...]
    correction: Correction
    origin: Origin
    plan: Plan

    @property
    def kinds(self) -> Kinds:
        """The heads of each kind, where the sweep is over kinds."""
        return self.plan.kinds

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The task's metrics, the most important one first."""
        return self.baseline.metrics

    @cached_property
    def adjusted_p(self) -> dict[str, dict[str, float]]:
        """By metric and edit: p after the correction for as many edits as the sweep has."""
        names = [ablation.edit.name for ablation in self.edits]
        p_values = {
            metric.name: adjusted([edit.changes[metric.name].p for edit in self.edits], self.correction)
            for metric in self.metrics
        }
        return {metric: dict(zip(names, values.tolist(), strict=True)) for metric, values in p_values.items()}

    def is_significant(self, metric: str, edit: str) -> bool:
        """Whether an edit changes a metric by more than chance, all edits of the sweep considered."""
        return self.adjusted_p[metric][edit] < SIGNIFICANT

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each edit of all stacks, as plain data; what is known of each metric stands under its name."""
        return [self._row(ablation) for ablation in self.edits]

    def _row(self, ablation: Ablation) -> Row:
        name, changes = ablation.edit.name, ablation.changes
        return {
            "sweep": self.origin.sweep,
            "name": name,
            "heads": [str_of(self.origin.stacks, member) for member in ablation.edit.heads],
            "values": dict(ablation.values),
            "change": {metric: change.value for metric, change in changes.items()},
            "interval": {metric: [change.low, change.high] for metric, change in changes.items()},
            "p": {metric: change.p for metric, change in changes.items()},
            "adjusted_p": {metric: self.adjusted_p[metric][name] for metric in changes},
            "significant": {metric: self.is_significant(metric, name) for metric in changes},
        }

    def facts(self) -> dict[str, Any]:
        """Where the numbers come from, as plain data."""
        baseline, origin, source = self.baseline, self.origin, self.source
        return {
            "task": baseline.task,
            "does": baseline.does,
            "data": source.data,
            "data_hash": f"sha256:{source.data_hash}",
            "edit": origin.how,
            "examples": source.texts,
            "documents": source.documents,
            "tokens": source.tokens,
            "cut": source.texts_cut,
            "skipped": source.skipped,
            "limit": origin.limit,
            "baseline": baseline.values,
            "baseline_interval": {name: list(baseline.interval(name)) for name in baseline.values},
            "metrics": {
                metric.name: {name: getattr(metric, name) for name in ("unit", "digits", "higher_is_better")}
                for metric in self.metrics
            },
            "correction": self.correction,
            "types_from": self.plan.types_from,
            "types": {name: [str(head) for _, head in heads] for name, heads in self.kinds.items()},
            "ordered_by": self.plan.ordered_by,
            "renormalise": origin.renormalise,
            "edited": bool(self.state.edits),
            "edits_in_force": list(self.state.edits),
            "duration_s": round(source.duration, 3),
        }

    def described(self) -> SweepFacts:
        """The sweep as it is shown."""
        tests = {
            name: int(np.isfinite(list(p.values())).sum()) or len(p) for name, p in self.adjusted_p.items()
        }
        return SweepFacts(self.origin.sweep, self.facts(), self.table(), tests)

    def arrays(self) -> dict[str, dict[str, LabelledArray]]:
        """The numbers by stack and name: change, its interval, p and significance, (..., metric) each; or a curve's.

        `pruning_curve` is the metric with so many heads edited, (order, pruned, metric).
        """
        sweep, grids = self.origin.sweep, self.origin.stacks.grids
        if self.plan.curve is not None:
            return {grids[0].stack: self._curve_arrays(self.plan.curve)}
        numbers = np.array([self._numbers(ablation) for ablation in self.edits])  # (edit, metric, number)
        if sweep not in ("heads", "layers"):
            stack = next(iter(self.edits[0].edit.heads))[0]
            return {stack: self._labelled(numbers, {"edit": [ablation.edit.name for ablation in self.edits]})}
        by_stack: dict[str, dict[str, LabelledArray]] = {}
        for grid in grids:
            coords = grid.coords if sweep == "heads" else {"layer": range(grid.layers)}
            count = int(np.prod([len(labels) for labels in coords.values()]))
            by_stack[grid.stack] = self._labelled(numbers[:count], coords)
            numbers = numbers[count:]
        return by_stack

    def _numbers(self, ablation: Ablation) -> list[list[float]]:
        """(metric, number) in the order of the names of a sweep's arrays."""
        name = ablation.edit.name
        return [
            [
                *(change.value, change.stderr, change.low, change.high, change.p),
                self.adjusted_p[metric][name],
                self.is_significant(metric, name),
            ]
            for metric, change in ablation.changes.items()
        ]

    def _curve_arrays(self, curve: Curve) -> dict[str, LabelledArray]:
        by_name = {ablation.edit.name: ablation for ablation in self.edits}
        untouched = [[value, 0.0, 0.0] for value in self.baseline.values.values()]

        def point(order: str, count: int) -> list[list[float]]:
            ablation = by_name[curve.names[order, count]]
            return [
                [ablation.values[name], change.low, change.high] for name, change in ablation.changes.items()
            ]

        # (order, pruned, metric, number)
        numbers = [[untouched, *(point(order, count) for count in curve.counts)] for order in curve.orders]
        return self._labelled(np.array(numbers), {"order": curve.orders, "pruned": (0, *curve.counts)})

    def _labelled(self, numbers: Array, coords: Coords) -> dict[str, LabelledArray]:
        """The arrays of numbers (..., metric, number), of which the first dimensions may be flat."""
        kind, origin = SWEEP_KINDS[self.origin.sweep], self.origin
        labels: Coords = {**coords, "metric": [metric.name for metric in self.metrics]}
        shape = [len(along) for along in labels.values()]
        units = {CHANGE_UNITS.get(metric.unit, _OWN_UNIT) for metric in self.metrics}
        unit = units.pop() if len(units) == 1 else _OWN_UNIT
        curve = f" with so many heads edited ({origin.how})" if self.plan.curve else ""
        return {
            name: LabelledArray.of(
                numbers[..., place].reshape(shape),
                labels,
                _DESCRIPTIONS[ending].format(how=origin.how, correction=self.correction, curve=curve),
                "1" if ending in _WITHOUT_UNIT else unit,
            )
            for place, (name, ending) in enumerate(zip(kind.arrays, kind.endings, strict=True))
        }

    def to_atlas(self, atlas: Atlas | None = None) -> Atlas:
        """A new atlas of this sweep, or the given one with it added; other sweeps in it stay."""
        return added_to(self.atlas_for(atlas), self.origin.sweep, self.arrays(), self.facts(), self.table())


def added_to(
    atlas: Atlas,
    sweep: str,
    arrays: Mapping[str, Mapping[str, LabelledArray]],
    facts: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> Atlas:
    """The atlas with a sweep in it, in the place of an earlier one of the same name."""
    sweeps = dict(atlas.probes.get(ABLATION, {}).get("sweeps", {}))
    sweeps.pop(sweep, None)
    kept = {name for other in sweeps for name in SWEEP_KINDS[other].arrays}
    merged = {
        stack: {name: array for name, array in earlier.items() if name in kept}
        for stack, earlier in (atlas.found_by(ABLATION) if sweeps else {}).items()
    }
    for stack, own in arrays.items():
        merged.setdefault(stack, {}).update(own)
    stacks = atlas.stacks if sweeps else ()  # an atlas that was just made has none to read from
    old = [row for stack in stacks for row in atlas.table(ABLATION, stack=stack) if row["sweep"] in sweeps]
    sweeps[sweep] = dict(facts)
    data = ", ".join(dict.fromkeys(str(about["data"]) for about in sweeps.values()))
    return atlas.with_probe(
        ABLATION,
        merged,
        facts={"data": data, "sweeps": sweeps},
        table={next(iter(arrays)): [*old, *rows]},
        examples={},
    )
