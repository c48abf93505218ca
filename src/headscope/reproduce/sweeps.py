"""Sweeps of a task that an atlas holds, as shares that stand beside a paper's."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headscope.ablation import Ablations
from headscope.atlas import Atlas
from headscope.reproduce.table import Figure, Origin, Unit, size

PROBE = "ablation"
UNIFORM = "ablation_uniform"
"""Where a second sweep of kinds is kept: an atlas has one sweep of each kind under PROBE."""

_EXAMPLES = {"qa": "questions"}


@dataclass(frozen=True)
class Sweep:
    """One sweep as an atlas tells it."""

    model: str
    shape: tuple[int, int] | None
    facts: Mapping[str, Any]
    rows: tuple[Mapping[str, Any], ...]
    chosen: str = ""
    """The metric to compare, where it is not the main one."""

    def by(self, metric: str) -> "Sweep":
        """The same sweep by another metric."""
        return replace(self, chosen=metric)

    def joined(self, other: "Sweep") -> "Sweep":
        """This sweep with the rows of another one after its own."""
        return replace(self, rows=(*self.rows, *other.rows))

    @property
    def edit(self) -> str:
        """What was done to heads: zero, uniform or mean."""
        return str(self.facts["edit"])

    @property
    def metric(self) -> str:
        """What is compared: F1 of answers to questions, as papers have it; else the task's first metric."""
        if self.chosen:
            return self.chosen
        names = list(self.facts["metrics"])
        return "f1" if self.facts["task"] == "qa" and "f1" in names else names[0]

    @property
    def label(self) -> str:
        """The metric as papers write it."""
        return {"em": "EM", "f1": "F1"}.get(self.metric, self.metric)

    @property
    def unit(self) -> Unit:
        """What our figures are written in; metrics between -1 and 1 become shares."""
        return "nats" if self._own["unit"] == "nats" else "share"

    @property
    def change_unit(self) -> Unit:
        """What differences of our figures are written in."""
        return "points" if self.unit == "share" else self.unit

    @property
    def origin(self) -> Origin:
        """The model, and the examples of the task."""
        told = _EXAMPLES.get(str(self.facts["task"]), "examples")
        model = self.model if self.shape is None else f"{self.model}, {size(*self.shape)}"
        return Origin(model, f"{self.facts['data']}, {self.facts['examples']:,} {told}, {self.metric}")

    @property
    def baseline(self) -> Figure:
        """How the untouched model does."""
        ends = (self.facts["baseline_interval"] or {}).get(self.metric) or [None, None]
        low, high = (self._scaled(end) for end in ends)
        return Figure(self._scaled(self.facts["baseline"][self.metric]), low, high)

    def value(self, row: Mapping[str, Any], *, detail: str = "") -> Figure:
        """The metric with an edit in force."""
        return Figure(self._scaled(row["values"][self.metric]), detail=detail)

    def change(self, row: Mapping[str, Any], *, detail: str = "") -> Figure:
        """What an edit changes, with its interval."""
        low, high = (self._scaled(end) for end in row["interval"][self.metric])
        return Figure(self._scaled(row["change"][self.metric]), low, high, detail)

    def written(self, figure: Figure) -> str:
        """A score with as many digits as its metric has."""
        if figure.value is None:
            return "-"
        digits, is_percent = int(self._own["digits"]), self._own["unit"] == "%"
        return f"{100 * figure.value:.{digits}f} %" if is_percent else f"{figure.value:.{digits}f}"

    def gain(self, row: Mapping[str, Any], *, detail: str = "") -> Figure:
        """What an edit improves: its change, turned round for a metric that is better when it is lower."""
        change = self.change(row, detail=detail)
        if self._own["higher_is_better"]:
            return change
        return Figure(_less(change.value), _less(change.high), _less(change.low), detail)

    def is_significant(self, row: Mapping[str, Any]) -> bool:
        """Whether the change is more than chance, all edits of the sweep considered."""
        return bool(row["significant"][self.metric])

    @property
    def _own(self) -> Mapping[str, Any]:
        own: Mapping[str, Any] = self.facts["metrics"][self.metric]
        return own

    def _scaled(self, value: float | None) -> float | None:
        """Per cent as a share; None for what is not known."""
        if value is None or math.isnan(value):
            return None
        return value / 100 if self._own["unit"] == "%" else float(value)


def sweep_in(atlas: Atlas, name: str, *, probe: str = PROBE) -> Sweep | None:
    """The sweep of this name that a probe left in the atlas; None where there is none."""
    facts = atlas.provenance.get("probes", {}).get(probe, {}).get("sweeps", {}).get(name)
    if facts is None:
        return None
    for stack in atlas.stacks:
        rows = tuple(row for row in atlas.table(probe, stack=stack) if row["sweep"] == name)
        if rows:
            return Sweep(str(atlas.provenance["model"]), atlas.shape(stack), facts, rows)
    return None


def beside(atlas: Atlas, found: Ablations) -> Atlas:
    """The atlas with a second sweep of a kind, which leaves the first one in its place."""
    atlas = found.atlas_for(atlas)
    stack = next(iter(found.arrays()))
    facts = {"data": found.baseline.data, "sweeps": {found.origin.sweep: found.facts()}}
    return atlas.with_probe(UNIFORM, {}, facts=facts, table={stack: found.table()}, examples={})


def _less(value: float | None) -> float | None:
    return None if value is None else -value
