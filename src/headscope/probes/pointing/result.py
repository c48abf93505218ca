"""What heads that point are found to do: means by label, and the best head of each label."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headscope.atlas import Results
from headscope.probes.halves import HALVES, SCORE, SELECT
from headscope.probes.means import CaseMeans, Place
from headscope.probes.pointing.cases import ALL
from headscope.probes.pointing.tally import BASELINE, PointingTally
from headscope.probes.result import ProbeResult, Row, sampling_columns
from headscope.stats.intervals import share_interval
from headscope.types import Coords, HeadId, LabelledArray, StackName


@dataclass(frozen=True)
class Choice:
    """The head that was best for a label on the part it was chosen on."""

    head: HeadId
    direction: int
    share: float
    cases: int

    @property
    def place(self) -> tuple[int, int, int]:
        """Its cell: direction, layer and head."""
        return self.direction, self.head.layer, self.head.head


def choose(scores: CaseMeans, label: str) -> Choice | None:
    """The best head and direction; None for a label without cases."""
    if not scores.count(label):
        return None
    means = scores.mean(label)  # (direction, layer, head)
    direction, layer, head = (int(place) for place in np.unravel_index(means.argmax(), means.shape))
    return Choice(HeadId(layer, head), direction, float(means[direction, layer, head]), scores.count(label))


@dataclass(frozen=True)
class Quantity:
    """What is averaged over cases: the names of its arrays, by label and over all, and what it is in words."""

    by_label: str
    overall: str
    words: str


@dataclass(frozen=True)
class Count:
    """How many cases a quantity is averaged over: how the name of its array ends, and what it is in words."""

    array: str
    quantity: str
    words: str


@dataclass(frozen=True)
class PointingResult(ProbeResult):
    """Every head's means by label, and the best head of each, chosen on one part and scored on another."""

    label_name: ClassVar[str]
    directions: ClassVar[tuple[str, ...]]
    unit: ClassVar[str]
    """What a text is, in the plural."""
    arrays_begin: ClassVar[str]
    """How the names of the arrays begin."""
    quantities: ClassVar[Mapping[str, Quantity]]
    """By their name in the tally and the table; heads are chosen by the first one, which is accuracy by default."""
    counts: ClassVar[Mapping[str, Count]] = {"cases": Count("count", "accuracy", "how many cases")}
    """Numbers of cases, by their column in the table."""
    baseline_dim: ClassVar[str | None] = "rule"

    tallies: Mapping[StackName, PointingTally]
    baseline_labels: tuple[str, ...] | tuple[int, ...]
    chosen: str
    """What the best heads were chosen on, in words."""
    scores_all: bool
    """Whether arrays cover both halves (one file, split) or only what was scored (two files)."""

    def __init_subclass__(cls) -> None:
        """What rows, directions, texts and arrays are called, as the description says."""
        super().__init_subclass__()
        if cls.description is not None:
            name, every_head = cls.description.name, cls.description.every_head
            cls.label_name, cls.unit = cls.description.label, cls.description.texts
            cls.directions = cls.description.directions
            cls.arrays_begin = name if every_head is None else every_head.start
            guesses = Quantity(f"{name}_accuracy", f"{name}_overall", "share of right guesses")
            cls.quantities = cls.__dict__.get("quantities") or {"accuracy": guesses}

    def whole(self, stack: StackName, quantity: str) -> CaseMeans:
        """The means of a quantity over all that arrays are about."""
        halves = self.tallies[stack].means[quantity]
        whole = halves[SCORE].empty()
        for half in HALVES if self.scores_all else (SCORE,):
            whole.merge(halves[half])
        return whole

    def labels(self, stack: StackName) -> list[str]:
        """The labels, the most frequent first."""
        means = self.whole(stack, self.counts["cases"].quantity)
        return sorted(set(means.labels) - {ALL}, key=lambda label: (-means.count(label), label))

    def arrays(self) -> Results:
        """The means with their errors, and how many cases and documents they are over, by stack."""
        return {stack: self._arrays(stack) for stack in self.tallies}

    def _arrays(self, stack: StackName) -> dict[str, LabelledArray]:
        grid = self.tallies[stack].grid
        labels = self.labels(stack)
        kind = self.label_name.replace("_", " ")
        own: Coords = {self.label_name: labels}
        cells: Coords = {"direction": self.directions, **grid.coords}
        means = {name: self.whole(stack, name) for name in (*self.quantities, BASELINE)}
        arrays: dict[str, LabelledArray] = {}
        overall: dict[str, LabelledArray] = {}
        for name, quantity in self.quantities.items():
            words = f"{quantity.words} by {kind}"
            arrays |= means[name].labelled(
                quantity.by_label, labels, {**own, **cells}, words, texts=self.unit
            )
            words = f"{quantity.words} over all cases"
            overall |= means[name].labelled(quantity.overall, ALL, cells, words, texts=self.unit)
        scores = means[next(iter(self.quantities))]
        numbers: dict[str, tuple[Callable[[str], float], str]] = {
            count.array: (means[count.quantity].count, f"{count.words} each {kind} has")
            for count in self.counts.values()
        }
        numbers["documents"] = (scores.documents_of, f"in how many documents each {kind} has cases")
        numbers["units"] = (
            lambda label: scores.sampling(label).effective,
            f"how many documents or texts of equal size the errors of each {kind} are over",
        )
        for ending, (number_of, words) in numbers.items():
            values = np.array([number_of(label) for label in labels])
            arrays[f"{self.arrays_begin}_{ending}"] = LabelledArray.of(values, own, words)
        arrays |= overall
        if self.baseline_dim is not None:
            arrays |= means[BASELINE].labelled(
                f"{self.arrays_begin}_baseline",
                labels,
                {**own, self.baseline_dim: self.baseline_labels},
                f"share of right guesses by {kind}, without looking at attention",
                texts=self.unit,
            )
        return arrays

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for all cases and one for each label: the best head, its interval, and the baselines."""
        name = self.stack_of(self.tallies, stack)
        return [self._row(self.tallies[name], label) for label in (ALL, *self.labels(name))]

    def best(self, label: str = ALL, *, stack: str | None = None) -> Choice | None:
        """The head chosen for a label; None when what it was chosen on has no such case."""
        return choose(self.tallies[self.stack_of(self.tallies, stack)].scores[SELECT], label)

    def _row(self, tally: PointingTally, label: str) -> Row:
        value, *others = self.quantities
        scored = tally.scores[SCORE]
        choice = choose(tally.scores[SELECT], label)
        place = None if choice is None else choice.place
        row: Row = {self.label_name: label}
        for column, count in self.counts.items():
            row[column] = tally.means[count.quantity][SCORE].count(label)
        row |= {
            "head": None if choice is None else str(choice.head),
            "direction": None if choice is None else self.directions[choice.direction],
        }
        for name in others:
            means = tally.means[name][SCORE]
            row[name] = float(means.mean(label)[place]) if place and means.count(label) else None
        row |= self.value_columns(scored, label, place, names=(value, "low", "high"))
        row |= {
            f"chosen_{value}": None if choice is None else choice.share,
            "chosen_cases": 0 if choice is None else choice.cases,
        }
        row |= sampling_columns(scored.sampling(label), self.unit)
        return row | self.baseline_columns(tally, label)

    @staticmethod
    def interval(mean: float, error: float, cases: int, units: float) -> tuple[float, float]:
        """The 95 % interval of what heads are scored by: a share."""
        return share_interval(mean, error, cases, units)

    def value_columns(
        self, means: CaseMeans, label: str, place: Place | None, *, names: tuple[str, str, str]
    ) -> Row:
        """A mean and the ends of its interval, as columns of these names; None where they are not known."""
        cases = means.count(label)
        if place is None or not cases:
            return dict.fromkeys(names)
        mean, error = float(means.mean(label)[place]), float(means.stderr(label)[place])
        ends = self.interval(mean, error, cases, means.sampling(label).effective)
        return dict(zip(names, (mean, *(None if np.isnan(end) else end for end in ends)), strict=True))

    def baseline_columns(self, tally: PointingTally, label: str) -> Row:
        """What stands beside the best head: every rule, scored on what the head was scored on."""
        row: Row = {}
        for place, rule in enumerate(self.baseline_labels):
            names = (f"{rule}", f"{rule}_low", f"{rule}_high")
            row |= self.value_columns(tally.baseline[SCORE], label, (place,), names=names)
        return row
