"""What the probes of an atlas found: the best heads of their tables, and every single head."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headscope.atlas import Atlas
from headscope.atlas.files import MOVED
from headscope.errors import AtlasError, OptionError
from headscope.facts.description import Description, EveryHead, description_of, descriptions
from headscope.facts.head_arrays import Choice, HeadArray, HeadArrays, head_arrays, stack_arrays
from headscope.facts.scores import (
    LEAD,
    NOTICEABLE,
    HeadScore,
    Score,
    compared,
    mean_ends,
    row_score,
    share_ends,
    signed,
)
from headscope.remembered import once
from headscope.stats.documents import FEWEST_DOCUMENTS
from headscope.types import Array, HeadId

Place = dict[str, Choice]

_HEAD = ("layer", "head")


def best_heads(atlas: Atlas, probe: str, *, stack: str | None = None) -> list[HeadScore]:
    """The rows of a probe's table that have a score, in the table's order."""
    described = description_of(atlas, probe)
    if not described.value:
        drawn = [name for name, described in descriptions(atlas).items() if described.value]
        raise OptionError(f"there is no chart of {probe!r}; choose from {', '.join(drawn)}")
    rows = [row_score(row, described) for row in atlas.table(probe, stack=stack)]
    return [row for row in rows if row is not None]


def check_probed(atlas: Atlas, probe: str) -> None:
    """Raise AtlasError unless the atlas holds what this probe found."""
    probes = atlas.probes
    if probe not in probes:
        has = f"it has {', '.join(probes)}" if probes else "it has no probe's results"
        looked = probe.removesuffix(MOVED)
        command = looked if looked == probe else f"{looked} --weigh moved"
        raise AtlasError(f"this atlas has no {probe!r} probe; {has}; add it with: headscope probe {command}")


@once
def head_scores(
    atlas: Atlas, stack: str, head: HeadId, *, only: tuple[str, str] | None = None
) -> list[tuple[Description, HeadScore]]:
    """What one head finds, label by label, over all cases and in its better direction; `only` names probe and label.

    Its verdicts are corrected for all heads, labels and directions of the probe: whoever asks has chosen among them.
    """
    arrays = head_arrays(atlas, stack, head)
    return [
        (described, score)
        for described in descriptions(atlas).values()
        if described.every_head is not None and (only is None or described.name == only[0])
        for score in _OneHead(
            described,
            described.every_head,
            arrays,
            head,
            tests_made(atlas, stack, described),
            _rules_known(atlas, stack, described.name),
        ).scores(only and only[1])
    ]


@once
def _rules_known(atlas: Atlas, stack: str, probe: str) -> dict[tuple[object, ...], tuple[Score, ...]]:
    """What rules get right, as far as anybody has asked: it is the same for all heads."""
    return {}


def heads_that_find(atlas: Atlas, stack: str, probe: str, label: str) -> int:
    """How many heads of a stack stand out in a row of a probe."""
    return sum(
        score.stands_out
        for layer, head in np.argwhere(_ahead(atlas, stack, description_of(atlas, probe), label)).tolist()
        for _, score in head_scores(atlas, stack, HeadId(layer, head), only=(probe, label))
    )


def _ahead(atlas: Atlas, stack: str, described: Description, label: str) -> Array:
    """(layer, head) whether the head may stand out: in some direction it is far enough above its best baseline.

    Most heads are not, and their intervals need not be computed.
    """
    every, arrays = described.every_head, stack_arrays(atlas, stack)
    names = () if every is None else (every.value or every.array, every.baseline)
    rows = [
        arrays[name].sel(**{described.label: label})
        for name in names
        if name in arrays and label in arrays[name].labels.get(described.label, ())
    ]
    if len(rows) < 2 or not set(_HEAD) <= set(rows[0].dims):
        return np.zeros((0, 0), bool)
    scores, baselines = rows
    # Each direction of a head has its own control; of rules the best counts.
    is_control = set(baselines.dims) <= {*_HEAD, "direction"}
    best, baseline = _extreme(scores, np.fmax), _extreme(baselines, np.fmin if is_control else np.fmax)
    return np.asarray(best - baseline >= _least_lead(described))


def _extreme(array: HeadArray, extreme: np.ufunc) -> Array:
    """(layer, head), or a single number where it is not about heads: the largest or smallest that is known."""
    kept = [dim for dim in _HEAD if dim in array.dims]
    values = array.transpose(*kept, *(dim for dim in array.dims if dim not in kept)).values.astype(float)
    return np.asarray(extreme.reduce(values, axis=tuple(range(len(kept), values.ndim)), initial=np.nan))


def _least_lead(described: Description) -> float:
    """How far above its baselines any head of all must be to matter."""
    return NOTICEABLE if described.is_difference else LEAD


def tests_made(atlas: Atlas, stack: str, described: Description) -> int:
    """How many numbers of single heads a probe left that were held against something."""
    every = described.every_head
    array = None if every is None else stack_arrays(atlas, stack).get(every.array)
    return 1 if array is None else max(1, int(np.isfinite(array.values).sum()))


@dataclass(frozen=True)
class _Sample:
    """How many cases a label has, and how many documents or texts its errors are over; None where not known."""

    cases: int | None
    units: float | None


@dataclass(frozen=True)
class _OneHead:
    """One head in the arrays of one probe."""

    described: Description
    every: EveryHead
    arrays: HeadArrays
    head: HeadId
    tests: int
    """How many numbers of all heads were held against something."""
    rules: dict[tuple[object, ...], tuple[Score, ...]]
    """Filled by the first head that asks."""

    def scores(self, only: str | None = None) -> Iterator[HeadScore]:
        """A score for every label for which the head has a number, or for one of them."""
        array, label_dim = self.arrays.get(self.every.array), self.described.label
        if array is None or set(array.dims) - {"direction"} != {label_dim}:
            return
        for label in map(str, array.labels[label_dim]):
            if only not in (None, label):
                continue
            place: Place = {label_dim: label}
            sample = self._sample(place)
            direction = _better(array, place) if "direction" in array.dims else None
            cell = place if direction is None else {**place, "direction": direction}
            score, rules = self._beside(cell, sample)
            if np.isfinite(score.value):
                few = self.described.few_cases
                corrected = compared(*self._beside(cell, sample, self.tests), sample.cases, few_cases=few)
                yield HeadScore(
                    label,
                    sample.cases,
                    self.head,
                    direction,
                    score,
                    rules,
                    few_cases=few,
                    least_lead=_least_lead(self.described),
                    corrected=corrected,
                )

    def _beside(self, cell: Place, sample: _Sample, comparisons: int = 1) -> tuple[Score, tuple[Score, ...]]:
        """The head's score and those of its baselines, with intervals that hold for so many comparisons at once."""
        shown, error = self.every.value or self.every.array, self.every.array
        score = self._score(self.every.value_name, shown, cell, sample, error=error, comparisons=comparisons)
        return score, self._baselines(cell, sample, comparisons)

    def _sample(self, place: Place) -> _Sample:
        cases, units, documents = (
            self.arrays.number(f"{self.every.start}_{name}{self.every.ending}", **place)
            for name in ("count", "units", "documents")
        )
        if not np.isfinite(
            units
        ):  # an atlas of an older headscope, which does not say how unequal documents are
            units = documents if documents >= FEWEST_DOCUMENTS else np.nan
        return _Sample(int(cases) if np.isfinite(cases) else None, units if np.isfinite(units) else None)

    def _score(
        self,
        name: str,
        array: str,
        cell: Place,
        sample: _Sample,
        *,
        error: str,
        detail: str = "",
        comparisons: int = 1,
    ) -> Score:
        """A number of the head and the ends of its interval, by the standard error of the array `error`."""
        value, stderr = self.arrays.number(array, **cell), self.arrays.number(f"{error}_stderr", **cell)
        text = self.described.arrays.get(self.every.array)
        ends = None
        if text is None or text.kind != "guesses":
            ends = mean_ends(value, stderr, sample.units, comparisons=comparisons)
        elif sample.cases is not None:
            ends = share_ends(value, stderr, sample.cases, sample.units, comparisons=comparisons)
        low, high = ends or (None, None)
        unit = self.described.units.get(str(cell[self.described.label]), "")
        return Score(name, value, low, high, detail, unit)

    def _baselines(self, cell: Place, sample: _Sample, comparisons: int) -> tuple[Score, ...]:
        """What rules get right of the same cases, the best first, or the head's own control."""
        array = self.arrays.get(self.every.baseline)
        if array is None:
            return ()
        if set(array.dims) <= set(cell):
            # The interval of the score is that of its difference to the control, so the control has none.
            value = array.number(**{dim: cell[dim] for dim in array.dims})
            unit = self.described.units.get(str(cell[self.described.label]), "")
            return (Score(self.every.baseline_name, value, unit=unit),)
        whose = None if self.arrays.is_common(self.every.baseline) else self.head
        key = (whose, cell[self.described.label], sample, comparisons)
        if key not in self.rules:
            self.rules[key] = self._ranked(array, cell, sample, comparisons)
        return self.rules[key]

    def _ranked(self, array: HeadArray, cell: Place, sample: _Sample, comparisons: int) -> tuple[Score, ...]:
        """What each rule gets right, the best first, or the best only."""
        name = self.every.baseline
        by_label = {baseline.label: baseline.name for baseline in self.described.baselines}
        label_dim, best_only = self.described.label, "" in by_label
        [rule_dim] = [dim for dim in array.dims if dim != label_dim] if len(array.dims) == 2 else [label_dim]
        place: Place = {label_dim: cell[label_dim]}
        rules = [
            (self.arrays.number(name, **{**place, rule_dim: rule}), rule) for rule in array.labels[rule_dim]
        ]
        known = sorted((pair for pair in rules if np.isfinite(pair[0])), key=lambda pair: -pair[0])
        return tuple(
            self._score(
                by_label.get("", "") or by_label.get(str(rule), str(rule)),
                name,
                {**place, rule_dim: rule},
                sample,
                error=name,
                detail=signed(int(rule)) if best_only else "",
                comparisons=comparisons,
            )
            for _, rule in (known[:1] if best_only else known)
        )


def _better(array: HeadArray, place: Place) -> str | None:
    """The direction with the larger number; None when there is none."""
    directions = [str(direction) for direction in array.labels["direction"]]
    numbers = {direction: array.number(direction=direction, **place) for direction in directions}
    known = [direction for direction in directions if np.isfinite(numbers[direction])]
    return max(known, key=lambda direction: numbers[direction]) if known else None
