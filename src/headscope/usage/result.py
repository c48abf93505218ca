"""What was lost without edges: every head and relation tested, case by case and over sentences."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from headscope.atlas import Results
from headscope.facts.analyses.uses import DESCRIPTION, Use
from headscope.facts.findings.know import object_of
from headscope.probes.pointing.dependency import DESCRIPTION as DEPENDENCY
from headscope.probes.result import ProbeResult, Row
from headscope.stats.correction import adjusted, units_needed
from headscope.stats.paired import PairedChange, paired_change
from headscope.types import Array, Coords, HeadGrid, HeadId, LabelledArray


@dataclass(frozen=True)
class Found:
    """How well a head finds a relation, and which way it looks."""

    relation: str
    head: HeadId
    direction: str
    accuracy: float
    finds: bool


@dataclass(frozen=True)
class Lost:
    """What one head's edges are worth: for every case what the score lost, (case,) each; nan where there is no edge."""

    found: Found
    score: str
    sentence: Array  # (case,) the number of its sentence
    change: Array
    control: Array
    random: Array

    @property
    def known(self) -> Array:
        """(case,) True for those that count: all three could be measured."""
        return np.isfinite(self.change) & np.isfinite(self.control) & np.isfinite(self.random)

    def by_sentence(self, values: Array) -> Array:
        """(sentence,) the mean over the cases of each sentence that count."""
        numbers, places = np.unique(self.sentence[self.known], return_inverse=True)
        cases = np.bincount(places, minlength=len(numbers))
        means: Array = np.bincount(places, values[self.known], len(numbers)) / cases
        return means

    @cached_property
    def beside_control(self) -> PairedChange:
        """What is lost, less the control edge, over sentences."""
        return _paired(self.by_sentence(self.change - self.control))

    @cached_property
    def beside_random(self) -> PairedChange:
        """What is lost, less the same edge in random heads, over sentences."""
        return _paired(self.by_sentence(self.change - self.random))


def _paired(values: Array) -> PairedChange:
    if not len(values):
        return PairedChange(*[float("nan")] * 5)
    others = (values.sum() - values) / max(1, len(values) - 1)
    return paired_change(float(values.mean()), others)


@dataclass(frozen=True)
class UsesResult(ProbeResult):
    """Whether the model uses what heads find."""

    description = DESCRIPTION

    grid: HeadGrid
    lost: Sequence[Lost]

    @cached_property
    def uses(self) -> list[Use]:
        """Every head and relation, with its verdict."""
        p_values = adjusted([lost.beside_control.p for lost in self.lost], "holm")
        tests = len(self.lost)
        return [self._use(lost, float(p), tests) for lost, p in zip(self.lost, p_values, strict=True)]

    @staticmethod
    def _use(lost: Lost, p_value: float, tests: int) -> Use:
        change, control, random = (
            lost.by_sentence(part) for part in (lost.change, lost.control, lost.random)
        )
        beside, beyond, found = lost.beside_control, lost.beside_random, lost.found
        mean = [float(part.mean()) if len(part) else float("nan") for part in (change, control, random)]
        return Use(
            relation=found.relation,
            does=object_of(DEPENDENCY, found.relation) or f"finds {found.relation}",
            head=str(found.head),
            direction=found.direction,
            accuracy=found.accuracy,
            finds=found.finds,
            score=lost.score,
            cases=int(lost.known.sum()),
            sentences=len(change),
            tests=tests,
            needed=units_needed(tests, "holm"),
            change=mean[0],
            control=mean[1],
            difference=beside.value,
            low=beside.low,
            high=beside.high,
            p_value=p_value,
            random=mean[2],
            beyond=beyond.value,
            beyond_low=beyond.low,
            beyond_high=beyond.high,
        )

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for every head and relation that was tested."""
        self.stack_of([self.grid.stack], stack)
        rows = [{**asdict(use), "verdict": use.verdict, "why": use.why} for use in self.uses]
        return [
            {
                name: None if isinstance(value, float) and np.isnan(value) else value
                for name, value in row.items()
            }
            for row in rows
        ]

    def in_brief(self) -> str:
        """A sentence for every head."""
        return "\n".join(use.text for use in self.uses)

    def intervals(self) -> str:
        """What intervals are over, in words."""
        return f"over sentences, paired; p after Holm's correction for {len(self.lost)} tests"

    def arrays(self) -> Results:
        """`uses_change`, `_control`, `_difference`, `_random`, `uses_p` (relation, layer, head); nan if untested."""
        relations = list(dict.fromkeys(use.relation for use in self.uses))
        coords: Coords = {"relation": relations, **self.grid.coords}
        words = {
            "change": "log probability that the score loses without the edge",
            "control": "the same without another edge as far and as strong, in the same head and sentence",
            "difference": "uses_change less uses_control, sentence by sentence",
            "random": "the same as uses_change in random other heads of the layer",
            "p": "p of uses_difference over sentences, after Holm's correction",
        }
        shape = (len(relations), *self.grid.shape)
        numbers = {name: np.full(shape, np.nan) for name in (*words, "difference_stderr")}
        for use, lost in zip(self.uses, self.lost, strict=True):
            place = (relations.index(use.relation), lost.found.head.layer, lost.found.head.head)
            for name in words:
                numbers[name][place] = use.p_value if name == "p" else getattr(use, name)
            numbers["difference_stderr"][place] = lost.beside_control.stderr
        words["difference_stderr"] = "standard error over sentences of uses_difference"
        arrays = {
            f"uses_{name}": LabelledArray.of(values, coords, words[name], "1" if name == "p" else "nats")
            for name, values in numbers.items()
        }
        return {self.grid.stack: arrays}
