"""What heads that point are found to do: accuracy by label, and the best head of each label."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from headscope.atlas import Results
from headscope.errors import OptionError
from headscope.probes.halves import SCORE, SELECT
from headscope.probes.pointing.accuracy import Accuracy
from headscope.probes.pointing.scoring import ALL, PointingTally
from headscope.probes.result import ProbeResult, Row, sampling_columns
from headscope.stats.intervals import share_interval
from headscope.types import HeadId, LabelledArray, StackName

Coords = dict[str, Sequence[str] | Sequence[int]]


@dataclass(frozen=True)
class Choice:
    """The head that was best for a label on the part it was chosen on."""

    head: HeadId
    direction: int
    share: float
    cases: int


def choose(accuracy: Accuracy, label: str) -> Choice | None:
    """The best head and direction; None for a label without cases."""
    if not accuracy.count(label):
        return None
    shares = accuracy.shares(label)  # (direction, layer, head)
    direction, layer, head = (int(place) for place in np.unravel_index(shares.argmax(), shares.shape))
    return Choice(
        HeadId(layer, head), direction, float(shares[direction, layer, head]), accuracy.count(label)
    )


@dataclass(frozen=True)
class PointingResult(ProbeResult):
    """Every head's accuracy by label, and the best head of each, chosen on one part and scored on another."""

    label_name: ClassVar[str]
    directions: ClassVar[tuple[str, str]]
    baseline_dim: ClassVar[str]
    unit: ClassVar[str] = "sentences"
    """What a text is, in the plural."""

    tallies: Mapping[StackName, PointingTally]
    baseline_labels: tuple[str, ...] | tuple[int, ...]
    chosen: str
    """What the best heads were chosen on, in words."""
    scores_all: bool
    """Whether arrays cover both halves (one file, split) or only what was scored (two files)."""

    def whole(self, stack: StackName) -> tuple[Accuracy, Accuracy]:
        """The accuracy of heads and of baselines on all that arrays are about."""
        tally = self.tallies[stack]
        parts = (SELECT, SCORE) if self.scores_all else (SCORE,)
        heads, baselines = tally.accuracy[SCORE].empty(), tally.baseline[SCORE].empty()
        for half in parts:
            heads.merge(tally.accuracy[half])
            baselines.merge(tally.baseline[half])
        return heads, baselines

    def labels(self, stack: StackName) -> list[str]:
        """The labels, the most frequent first."""
        heads, _ = self.whole(stack)
        return sorted(
            (label for label in heads.labels if label != ALL), key=lambda one: (-heads.count(one), one)
        )

    def arrays(self) -> Results:
        """`<probe>_accuracy` and its kin, by stack."""
        return {stack: self._arrays(stack) for stack in self.tallies}

    def _arrays(self, stack: StackName) -> dict[str, LabelledArray]:
        grid = self.tallies[stack].grid
        heads, baselines = self.whole(stack)
        labels = self.labels(stack)
        cells: Coords = {"direction": self.directions, "layer": range(grid.layers), "head": range(grid.heads)}
        by_label: Coords = {self.label_name: labels, **cells}
        kinds: Coords = {self.label_name: labels, self.baseline_dim: self.baseline_labels}
        what = f"share of right guesses by {self.label_name.replace('_', ' ')}"
        return {
            **self._pair(f"{self.probe}_accuracy", heads, labels, by_label, what),
            f"{self.probe}_count": LabelledArray(
                np.array([heads.count(label) for label in labels], dtype=np.int64),
                (self.label_name,),
                {self.label_name: labels},
                f"how many cases each {self.label_name.replace('_', ' ')} has",
            ),
            **self.documents_array(self.probe, heads, labels),
            **self._pair(
                f"{self.probe}_overall", heads, None, cells, "share of right guesses over all cases"
            ),
            **self._pair(
                f"{self.probe}_baseline", baselines, labels, kinds, f"{what}, without looking at attention"
            ),
        }

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for all cases and one for each label: the best head, its interval, and the baselines."""
        tally = self._tally(stack)
        name = next(name for name, one in self.tallies.items() if one is tally)
        return [self._row(tally, label) for label in (ALL, *self.labels(name))]

    def best(self, label: str = ALL, *, stack: str | None = None) -> Choice | None:
        """The head chosen for a label; None when what it was chosen on has no such case."""
        return choose(self._tally(stack).accuracy[SELECT], label)

    def _tally(self, stack: str | None) -> PointingTally:
        found = {str(name): tally for name, tally in self.tallies.items()}
        if stack is not None and stack not in found:
            raise OptionError(
                f"{self.probe} was not probed in a stack {stack!r}; choose from {', '.join(found)}"
            )
        return found[stack] if stack is not None else next(iter(found.values()))

    def _row(self, tally: PointingTally, label: str) -> Row:
        scored = tally.accuracy[SCORE]
        cases = scored.count(label)
        row: Row = {self.label_name: label, "cases": cases, "head": None, "direction": None}
        choice = choose(tally.accuracy[SELECT], label)
        if choice is not None:
            place = (choice.direction, choice.head.layer, choice.head.head)
            row |= {"head": str(choice.head), "direction": self.directions[choice.direction]}
            row |= _share("accuracy", scored, label, place)
            row |= {"chosen_accuracy": choice.share, "chosen_cases": choice.cases}
        else:
            row |= dict.fromkeys(("accuracy", "low", "high", "chosen_accuracy"), None) | {"chosen_cases": 0}
        row |= sampling_columns(scored.sampling(label), self.unit)
        return row | self.baseline_columns(tally, label)

    def documents_array(
        self, start: str, accuracy: Accuracy, labels: Sequence[str]
    ) -> dict[str, LabelledArray]:
        """In how many documents each label has cases, and what its errors are over."""
        what = self.label_name.replace("_", " ")
        counts = np.array([accuracy.documents_of(label) for label in labels], dtype=np.int64)
        units = np.array([accuracy.sampling(label).effective for label in labels])
        described = {
            f"{start}_documents": (counts, f"in how many documents each {what} has cases"),
            f"{start}_units": (
                units,
                f"how many documents or texts of equal size the errors of each {what} are over",
            ),
        }
        coords: Coords = {self.label_name: labels}
        return {
            name: LabelledArray(values, (self.label_name,), coords, description)
            for name, (values, description) in described.items()
        }

    def _pair(
        self,
        name: str,
        accuracy: Accuracy,
        labels: Sequence[str] | None,
        coords: Coords,
        description: str,
    ) -> dict[str, LabelledArray]:
        """The shares as `name` and their standard errors as `name_stderr`; `labels` None is the row of all cases."""

        def filled(rows: Callable[[str], Any]) -> np.ndarray[Any, Any]:
            if labels is None:
                return np.asarray(rows(ALL))
            return np.stack([rows(label) for label in labels])

        error = (
            f"standard error of {name}, over documents where at least {accuracy.fewest_documents} have cases, else "
            f"over {self.unit}"
        )
        return {
            name: LabelledArray(filled(accuracy.shares), tuple(coords), coords, description),
            f"{name}_stderr": LabelledArray(filled(accuracy.stderr), tuple(coords), coords, error),
        }

    @abstractmethod
    def baseline_columns(self, tally: PointingTally, label: str) -> Row:
        """What stands beside the best head: scores that need no attention."""


def _share(name: str, accuracy: Accuracy, label: str, place: tuple[int, ...], prefix: str = "") -> Row:
    """A share with its interval, as columns of a row; None where there are no cases."""
    cases = accuracy.count(label)
    if not cases:
        return {name: None, f"{prefix}low": None, f"{prefix}high": None}
    share = float(accuracy.shares(label)[place])
    stderr = float(accuracy.stderr(label)[place])
    low, high = share_interval(share, stderr, cases, accuracy.sampling(label).effective)
    return {name: share, f"{prefix}low": low, f"{prefix}high": high}


def share_columns(name: str, accuracy: Accuracy, label: str, place: int) -> Row:
    """A baseline's share and interval: `name`, `name_low`, `name_high`."""
    return _share(name, accuracy, label, (place,), prefix=f"{name}_")
