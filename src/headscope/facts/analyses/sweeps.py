"""The sweeps of an ablation, described once: which there are, and what their tasks, metrics, edits and rows are called.

Command line, report, pictures, pages and findings all show a sweep by its `SweepFacts`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from headscope.atlas import Atlas
from headscope.errors import AtlasError, OptionError
from headscope.facts.head_arrays import stack_arrays
from headscope.facts.subject import Subject
from headscope.facts.wording import count
from headscope.remembered import once
from headscope.stats.correction import CORRECTIONS, Correction, units_needed
from headscope.types import Array

Number = TypeVar("Number", float, Array)

ABLATION = "ablation"
"""What an atlas keeps sweeps under."""

FAMILY = ("change", "change_stderr", "change_low", "change_high", "p", "adjusted_p", "significant")
"""How the names of a sweep's arrays end."""


@dataclass(frozen=True)
class SweepKind:
    """One way to go through a model's heads."""

    start: str
    """How the names of its arrays begin."""
    title: str
    edited: str
    """What is edited in it, for a title; {} is what is done."""
    endings: tuple[str, ...] = FAMILY

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of its arrays, the foremost first."""
        return tuple(f"{self.start}_{ending}" for ending in self.endings)


SWEEP_KINDS = {
    "heads": SweepKind("ablation", "Every head alone", "a single head {}"),
    "layers": SweepKind("layer", "Every layer", "all heads of a layer {}"),
    "types": SweepKind("type", "Kinds of heads", "kinds of heads {}"),
    "pairs-of-types": SweepKind("type_pair", "Pairs of kinds", "kinds of heads {}"),
    "sentence-masks": SweepKind(
        "sentence_mask", "Attention within and between sentences", "attention removed"
    ),
    "cumulative": SweepKind(
        "pruning", "Ever more heads", "ever more heads {}", ("curve", "change_low", "change_high")
    ),
}

_LABELS = {"em": "EM", "f1": "F1"}
CHANGE_UNITS = {"%": "points", "nats": "nats"}
_EDITED = {"zero": "removed", "uniform": "made even", "mean": "replaced by its mean"}


def random_set(heads: int, draw: int) -> str:
    """What so many random heads are called."""
    return f"{heads} random head{'' if heads == 1 else 's'} ({draw + 1})"


@dataclass(frozen=True)
class MetricFacts:
    """A task's metric: what it is called, how its numbers are written, and which way is better."""

    name: str
    unit: str = ""
    digits: int = 2
    higher_is_better: bool = True

    @property
    def label(self) -> str:
        """Its name as papers write it."""
        return _LABELS.get(self.name, self.name)

    @property
    def change_unit(self) -> str:
        """The unit of a change; nothing for a number without one."""
        return CHANGE_UNITS.get(self.unit, "")

    def with_unit(self, words: str, unit: str | None = None) -> str:
        """The words, with the unit of a change in brackets where there is one."""
        unit = self.change_unit if unit is None else unit
        return f"{words} ({unit})" if unit else words

    def harm(self, change: Number) -> Number:
        """How much worse a change makes it; less than 0 where it makes it better."""
        return -change if self.higher_is_better else change

    def written(self, value: float) -> str:
        """A value with as many decimals as mean something."""
        return f"{value:z.{self.digits}f}"

    def change(self, value: float) -> str:
        """A change with its sign."""
        return f"{value:+z.{self.digits}f}"

    def change_with_unit(self, value: float) -> str:
        """The same and its unit."""
        return f"{self.change(value)} {self.change_unit}".rstrip()

    def interval(self, low: float | None, high: float | None) -> str:
        """Both ends of an interval; - where it is not known."""
        if low is None or high is None or math.isnan(low):
            return "-"
        return f"{self.written(low)} to {self.written(high)}"


@dataclass(frozen=True)
class SweepFacts:
    """One sweep, as its result and an atlas tell it."""

    name: str
    facts: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]] = ()
    """An edit each; see `Ablations.table`."""
    tests: Mapping[str, int] | None = None
    """How many edits were tested, by metric: as many as p values were corrected for."""

    @property
    def kind(self) -> SweepKind:
        """What goes for all sweeps of this name."""
        return SWEEP_KINDS[self.name]

    @cached_property
    def metrics(self) -> dict[str, MetricFacts]:
        """The task's metrics, the most important one first."""
        return {name: MetricFacts(name, **about) for name, about in self.facts.get("metrics", {}).items()}

    def metric(self, name: str | None = None) -> MetricFacts:
        """The metric of that name; by default F1 for questions, else the first."""
        known = list(self.metrics)
        if name is None:
            name = "f1" if known[:2] == ["em", "f1"] else known[0]
        if name not in known:
            raise OptionError(f"there is no metric {name!r} in this atlas; choose from {', '.join(known)}")
        return self.metrics[name]

    def about(self, name: str) -> MetricFacts:
        """The metric of that name, also where the atlas has its numbers and tells nothing of it."""
        return self.metrics.get(name) or MetricFacts(name)

    @property
    def done(self) -> str:
        """What was done to heads, as a participle."""
        return _EDITED.get(str(self.facts.get("edit")), "edited")

    @property
    def edited(self) -> str:
        """What was edited, and what was done to it: the end of a title."""
        return self.kind.edited.format(self.done)

    @property
    def task(self) -> str:
        """What the model does in the task."""
        return str(self.facts.get("does") or self.facts["task"])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of `cells`."""
        return ("edit", "heads", *(title for metric in self.metrics for title in (metric, "change", "95 %")))

    def cells(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """An edit as text: how many heads, and of every metric its value, change (* is significant) and interval."""
        cells = [str(row["name"]), str(len(row["heads"]))]
        for name, metric in self.metrics.items():
            star = " *" if row["significant"][name] else ""
            cells += [
                metric.written(row["values"][name]),
                metric.change(row["change"][name]) + star,
                metric.interval(*row["interval"][name]),
            ]
        return tuple(cells)

    @property
    def correction(self) -> Correction | None:
        """How p values were corrected; None where that is not known."""
        return next((known for known in CORRECTIONS if known == self.facts.get("correction")), None)

    def texts_needed(self, metric: str) -> int | None:
        """The fewest independent texts with which an edit could be significant; None where that is not known."""
        tests = (self.tests or {}).get(metric, 0)
        return units_needed(tests, self.correction) if tests and self.correction is not None else None

    def could_show(self, metric: str) -> bool | None:
        """Whether an edit could have been significant with so few texts; None where that is not known."""
        texts, needed = self.facts.get("documents"), self.texts_needed(metric)
        return None if needed is None or not isinstance(texts, int) or texts < 1 else texts >= needed

    def too_few_texts(self, metric: str) -> str:
        """Why no edit can be significant, and how many texts it takes; nothing where one can."""
        if self.could_show(metric) is not False:
            return ""
        tests, texts = (self.tests or {})[metric], count(int(self.facts["documents"]), "independent text")
        return (
            f"{texts} cannot make any of {count(tests, 'edit')} significant, whatever they do: that takes "
            f"{self.texts_needed(metric)}"
        )

    @property
    def sentences(self) -> list[str]:
        """What was done on what, how the unedited model does, and how many edits changed anything."""
        facts = self.facts
        scores = [
            f"{self.about(name).label} {self.about(name).written(value)}{self._interval(name)}"
            for name, value in facts["baseline"].items()
        ]
        sentences = [
            f"{count(int(facts['examples']), 'example')} of {facts['data']} "
            f"({count(int(facts['documents']), 'independent text')}), {self.task}.",
            f"Untouched: {', '.join(scores)}.",
        ]
        if facts.get("types_from"):
            kinds = ", ".join(f"{len(heads)} {name}" for name, heads in facts["types"].items())
            sentences.append(f"Kinds of heads, sorted on {facts['types_from']}: {kinds}.")
        if self.name == "sentence-masks":
            sentences.append(
                "Attention was removed from each kind, from all kinds but one, and from as many random heads; no head "
                "was pruned."
            )
        if facts.get("ordered_by"):
            flatters = "; that they are the same flatters the curve" if "same" in facts["ordered_by"] else ""
            sentences.append(f"Order: {facts['ordered_by']}, least first{flatters}.")
        return [*sentences, *([self.verdict] if self.rows else [])]

    @property
    def verdict(self) -> str:
        """How many edits changed each metric significantly, or that none could."""
        if why := self.too_few_texts(self.metric().name):
            return f"{why}."
        counts = [
            f"{sum(row['significant'][name] for row in self.rows)} of {len(self.rows)} for {metric.label}"
            for name, metric in self.metrics.items()
        ]
        how = "without correction" if self.correction == "none" else f"after correction ({self.correction})"
        return f"Significant changes {how}: {', '.join(counts)}."

    def _interval(self, metric: str) -> str:
        ends = self.facts.get("baseline_interval", {}).get(metric)
        return f" ({self.about(metric).interval(*ends)})" if ends else ""


def sweeps_of(subject: Subject) -> dict[str, SweepFacts]:
    """Every sweep over this stack, by its name and in the order of `SWEEP_KINDS`."""
    sweeps = subject.probes.get(ABLATION, {}).get("sweeps", {})
    return {
        name: sweep_facts(subject.atlas, name, stack=subject.stack)
        for name, kind in SWEEP_KINDS.items()
        if isinstance(sweeps, dict) and isinstance(sweeps.get(name), dict) and subject.has(kind.arrays[0])
    }


@once
def sweep_facts(atlas: Atlas, name: str, *, stack: str | None = None, probe: str = ABLATION) -> SweepFacts:
    """A sweep that an atlas has, with the rows of one stack, the first by default."""
    sweeps = atlas.probes.get(probe, {}).get("sweeps", {})
    if not sweeps.get(name):
        raise AtlasError(
            f"this atlas has no sweep of {name}; make one with: headscope ablate MODEL --sweep {name}"
        )
    rows = [row for row in atlas.table(probe, stack=stack) if row.get("sweep") == name]
    return SweepFacts(name, sweeps[name], rows, _tests(atlas, name))


def head_sweep(atlas: Atlas) -> SweepFacts:
    """The sweep over single heads; one that knows nothing where there is none."""
    try:
        return sweep_facts(atlas, "heads")
    except AtlasError:
        return SweepFacts("heads", {})


def _tests(atlas: Atlas, name: str) -> dict[str, int]:
    """By metric, how many edits of all stacks have a p value."""
    tests: dict[str, int] = {}
    array = f"{SWEEP_KINDS[name].start}_p"
    for p_values in (
        stack_arrays(atlas, stack)[array] for stack in atlas.stacks if array in atlas.stack(stack)
    ):
        for metric in map(str, p_values.labels["metric"]):
            values = p_values.sel(metric=metric).values
            tested = int(np.isfinite(values).sum()) or values.size  # of a single text, none has one
            tests[metric] = tests.get(metric, 0) + tested
    return tests
