"""What a sweep found: every edit's effect with its interval, as rows, as arrays, and in an atlas."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headscope.ablation.arrays import arrays_of, curve_arrays
from headscope.ablation.curve import Curve
from headscope.ablation.plan import Kinds, PlannedEdit, Sweep, str_of
from headscope.ablation.store import added_to
from headscope.atlas import Atlas
from headscope.models import Model
from headscope.models.stacks import Stacks
from headscope.run.provenance import ModelState, provenance
from headscope.stats.correction import SIGNIFICANT, Correction, adjusted
from headscope.tasks import Difference, Metric, TaskResult, paired_difference
from headscope.types import LabelledArray

Row = dict[str, Any]


@dataclass(frozen=True)
class Ablation:
    """One edit and what it did."""

    edit: PlannedEdit
    values: Mapping[str, float]
    """Every metric with the edit in force."""
    changes: Mapping[str, Difference]
    """Every metric's change against the untouched model."""


@dataclass(frozen=True)
class Origin:
    """Where a sweep's numbers come from."""

    stacks: Stacks
    sweep: Sweep
    how: str
    """zero, uniform, mean or masked."""
    data_hash: str
    tokens: int
    types_from: str
    ordered_by: str
    limit: int | None
    renormalise: bool
    state: ModelState
    """The model before the sweep's edits; others may have been in force already."""
    duration: float


def compared(edit: PlannedEdit, before: TaskResult, after: TaskResult) -> Ablation:
    """An edit's result held against that of the untouched model."""
    changes = {metric.name: paired_difference(before, after, metric.name) for metric in before.metrics}
    return Ablation(edit, after.values, changes)


@dataclass(frozen=True)
class Ablations:
    """A sweep: the untouched model, and every edit of it."""

    model: Model
    baseline: TaskResult
    edits: tuple[Ablation, ...]
    correction: Correction
    origin: Origin
    kinds: Kinds
    curve: Curve | None

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The task's metrics, the most important one first."""
        return self.baseline.metrics

    @cached_property
    def adjusted_p(self) -> dict[str, dict[str, float]]:
        """By metric and edit: p after the correction for as many edits as the sweep has."""
        return {
            metric.name: dict(
                zip(
                    [one.edit.name for one in self.edits],
                    adjusted([one.changes[metric.name].p for one in self.edits], self.correction).tolist(),
                    strict=True,
                )
            )
            for metric in self.metrics
        }

    def is_significant(self, metric: str, edit: str) -> bool:
        """Whether an edit changes a metric by more than chance, all edits of the sweep considered."""
        return self.adjusted_p[metric][edit] < SIGNIFICANT

    def table(self) -> list[Row]:
        """A row for each edit, as plain data; what is known of each metric stands under its name."""
        return [self._row(one) for one in self.edits]

    def _row(self, one: Ablation) -> Row:
        name = one.edit.name
        changes = one.changes
        return {
            "sweep": self.origin.sweep,
            "name": name,
            "heads": [str_of(self.origin.stacks, member) for member in one.edit.heads],
            "values": dict(one.values),
            "change": {metric: change.value for metric, change in changes.items()},
            "interval": {metric: [change.low, change.high] for metric, change in changes.items()},
            "p": {metric: change.p for metric, change in changes.items()},
            "adjusted_p": {metric: self.adjusted_p[metric][name] for metric in changes},
            "significant": {metric: self.is_significant(metric, name) for metric in changes},
        }

    def facts(self) -> dict[str, Any]:
        """Where the numbers come from, as plain data."""
        baseline, origin = self.baseline, self.origin
        return {
            "task": baseline.task,
            "data": baseline.data,
            "data_hash": f"sha256:{origin.data_hash}",
            "edit": origin.how,
            "examples": len(baseline),
            "documents": len(set(baseline.documents.tolist())),
            "tokens": origin.tokens,
            "cut": baseline.cut,
            "skipped": baseline.skipped.count,
            "limit": origin.limit,
            "baseline": baseline.values,
            "baseline_interval": {name: list(baseline.interval(name)) for name in baseline.values},
            "metrics": {
                metric.name: {
                    "unit": metric.unit,
                    "digits": metric.digits,
                    "higher_is_better": metric.higher_is_better,
                }
                for metric in self.metrics
            },
            "correction": self.correction,
            "types_from": origin.types_from,
            "types": {name: [str(head) for _, head in heads] for name, heads in self.kinds.items()},
            "ordered_by": origin.ordered_by,
            "renormalise": origin.renormalise,
            "edited": bool(origin.state.edits),
            "edits_in_force": list(origin.state.edits),
            "duration_s": round(origin.duration, 3),
        }

    def arrays(self) -> dict[str, dict[str, LabelledArray]]:
        """The numbers by stack and name."""
        if self.curve is not None:
            return {self.origin.stacks.grids[0].stack: curve_arrays(self, self.curve)}
        return arrays_of(self)

    def to_atlas(self, atlas: Atlas | None = None) -> Atlas:
        """A new atlas of this sweep, or the given one with it added; other sweeps in it stay."""
        arrays = self.arrays()
        if atlas is None:
            about = provenance(
                self.origin.state,
                corpus=self.baseline.data,
                corpus_hash=self.origin.data_hash,
                texts=len(self.baseline),
                documents=len(set(self.baseline.documents.tolist())),
                tokens=self.origin.tokens,
                texts_cut=self.baseline.cut,
                options={"task": self.baseline.task, "sweep": self.origin.sweep, "edit": self.origin.how},
                duration=self.origin.duration,
            )
            atlas = Atlas.build({stack: {} for stack in arrays}, provenance=about)
        state = self.origin.state
        atlas.check_model(state.name, state.weights_hash, state.edits)
        return added_to(atlas, self.origin.sweep, arrays, self.facts(), self.table())
