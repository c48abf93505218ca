"""Sweeps of a task that an atlas holds, as shares that stand beside a paper's."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headscope.ablation import Ablations
from headscope.atlas import Atlas
from headscope.facts.analyses.sweeps import ABLATION, MetricFacts, SweepFacts
from headscope_papers.reproduce.ours import model_of, probe_facts
from headscope_papers.reproduce.table import Figure, Origin, Unit

UNIFORM = "ablation_uniform"
"""Where a second sweep of kinds is kept: an atlas has one sweep of each kind."""

SweepRow = Mapping[str, Any]
"""What a sweep found of one edit."""


@dataclass(frozen=True)
class Sweep:
    """One sweep as an atlas tells it."""

    atlas: Atlas
    stack: str
    facts: Mapping[str, Any]
    rows: tuple[SweepRow, ...]
    metric: MetricFacts
    """What is compared: F1 of answers to questions, as papers have it; else the task's first metric."""

    def by(self, metric: str) -> "Sweep":
        """The same sweep by another metric."""
        return replace(self, metric=MetricFacts(metric, **self.facts["metrics"][metric]))

    def joined(self, other: "Sweep") -> "Sweep":
        """This sweep with the rows of another one after its own."""
        return replace(self, rows=(*self.rows, *other.rows))

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.atlas.provenance["model"])

    @property
    def by_name(self) -> dict[str, SweepRow]:
        """What was found of each edit."""
        return {str(row["name"]): row for row in self.rows}

    @property
    def edit(self) -> str:
        """What was done to heads: zero, uniform or mean."""
        return str(self.facts["edit"])

    @property
    def unit(self) -> Unit:
        """What our figures are written in; metrics between -1 and 1 become shares."""
        return "nats" if self.metric.unit == "nats" else "share"

    @property
    def change_unit(self) -> Unit:
        """What differences of our figures are written in."""
        return "points" if self.unit == "share" else self.unit

    @property
    def origin(self) -> Origin:
        """The model, and the examples of the task."""
        examples = "questions" if self.facts["task"] == "qa" else "examples"
        data = f"{self.facts['data']}, {self.facts['examples']:,} {examples}, {self.metric.name}"
        return Origin(model_of(self.atlas, self.stack), data)

    @property
    def baseline(self) -> Figure:
        """How the unedited model does."""
        ends = (self.facts["baseline_interval"] or {}).get(self.metric.name) or [None, None]
        low, high = (self._scaled(end) for end in ends)
        return Figure(self._scaled(self.facts["baseline"][self.metric.name]), low, high)

    def value(self, row: SweepRow, *, detail: str = "") -> Figure:
        """The metric with an edit in force."""
        return Figure(self._scaled(row["values"][self.metric.name]), detail=detail)

    def change(self, row: SweepRow, *, detail: str = "") -> Figure:
        """What an edit changes, with its interval."""
        low, high = (self._scaled(end) for end in row["interval"][self.metric.name])
        return Figure(self._scaled(row["change"][self.metric.name]), low, high, detail)

    def written(self, figure: Figure) -> str:
        """A score with as many digits as its metric has."""
        if figure.value is None:
            return "-"
        is_percent = self.metric.unit == "%"
        return (
            f"{100 * figure.value:.{self.metric.digits}f} %"
            if is_percent
            else self.metric.written(figure.value)
        )

    def gain(self, row: SweepRow, *, detail: str = "") -> Figure:
        """What an edit improves: its change, turned round for a metric that is better when it is lower."""
        change = self.change(row, detail=detail)
        return change if self.metric.higher_is_better else -change

    def is_significant(self, row: SweepRow) -> bool:
        """Whether the change is more than chance, all edits of the sweep considered."""
        return bool(row["significant"][self.metric.name])

    def _scaled(self, value: float | None) -> float | None:
        """Per cent as a share; None for what is not known."""
        if value is None or math.isnan(value):
            return None
        return value / 100 if self.metric.unit == "%" else float(value)


def sweep_in(atlas: Atlas, name: str, *, probe: str = ABLATION) -> Sweep | None:
    """The sweep of this name that a probe left in the atlas; None where there is none."""
    facts = probe_facts(atlas, probe).get("sweeps", {}).get(name)
    for stack in atlas.stacks if facts else ():
        rows = tuple(row for row in atlas.table(probe, stack=stack) if row["sweep"] == name)
        if rows:
            return Sweep(atlas, stack, facts, rows, SweepFacts(name, facts).metric())
    return None


def beside(atlas: Atlas, ablations: Ablations) -> Atlas:
    """The atlas with a second sweep of a kind, which leaves the first one in its place."""
    atlas = ablations.atlas_for(atlas)
    stack = next(iter(ablations.arrays()))
    facts = {"data": ablations.baseline.data, "sweeps": {ablations.origin.sweep: ablations.facts()}}
    return atlas.with_probe(UNIFORM, {}, facts=facts, table={stack: ablations.table()}, examples={})
