"""What one head finds, label by label, over all cases: its share, its interval and the rules beside it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headscope.facts.head_arrays import HeadArray, HeadArrays
from headscope.facts.probe_names import NEAREST, OFFSET, RULES, SAME_WORD
from headscope.facts.scores import HeadScore, Score, mean_ends, share_ends, signed
from headscope.facts.slices import Choice
from headscope.stats.documents import FEWEST_DOCUMENTS
from headscope.types import HeadId

GUESSES = "share of right guesses"
ATTENTION = "attention between predicate and argument"

Place = dict[str, Choice]


@dataclass(frozen=True)
class _Pointing:
    """A probe that guesses: what its labels are, and what the rules are that guess without attention."""

    probe: str
    dim: str
    rule_dim: str


_POINTING = (
    _Pointing("dependency", "relation", "offset"),
    _Pointing("coreference", "mention_class", "rule"),
)
_RULES = {"nearest": NEAREST, "head_match": SAME_WORD, "rules": RULES}


def head_scores(arrays: HeadArrays, head: HeadId) -> list[tuple[str, HeadScore]]:
    """The probe and the head's score for every label, in its better direction; `arrays` are taken at this head."""
    guesses = [(names.probe, row) for names in _POINTING for row in _guesses(arrays, head, names)]
    return [*guesses, *(("relations", row) for row in _roles(arrays, head))]


def _guesses(arrays: HeadArrays, head: HeadId, names: _Pointing) -> Iterator[HeadScore]:
    name = f"{names.probe}_accuracy"
    shares = arrays.get(name)
    if shares is None or set(shares.dims) != {names.dim, "direction"}:
        return
    for label in map(str, shares.labels[names.dim]):
        place: Place = {names.dim: label}
        way = _better(shares, place)
        if way is None:
            continue
        sample = _sample(arrays, names.probe, place)
        score = Score(GUESSES, *_share(arrays, name, {**place, "direction": way}, sample))
        yield HeadScore(label, sample.cases, head, way, score, _rules(arrays, names, place, sample))


@dataclass(frozen=True)
class _Sample:
    """How many cases a label has, and how many documents or texts its errors are over; None where not known."""

    cases: int | None
    units: float | None


def _sample(arrays: HeadArrays, start: str, place: Place) -> _Sample:
    cases, units, documents = (
        arrays.number(f"{start}_{name}", **place) for name in ("count", "units", "documents")
    )
    if not np.isfinite(units):  # an atlas of an older headscope, which does not say how unequal documents are
        units = documents if documents >= FEWEST_DOCUMENTS else np.nan
    return _Sample(int(cases) if np.isfinite(cases) else None, units if np.isfinite(units) else None)


def _share(
    arrays: HeadArrays, array: str, place: Place, sample: _Sample
) -> tuple[float, float | None, float | None]:
    """A share of right guesses and the ends of its interval."""
    value, error = arrays.number(array, **place), arrays.number(f"{array}_stderr", **place)
    ends = None if sample.cases is None else share_ends(value, error, sample.cases, sample.units)
    return (value, *(ends or (None, None)))


def _rules(arrays: HeadArrays, names: _Pointing, place: Place, sample: _Sample) -> tuple[Score, ...]:
    """What rules that look at no attention get right of the same cases; of many offsets the best."""
    array = arrays.get(f"{names.probe}_baseline")
    if array is None or set(array.dims) != {names.dim, names.rule_dim}:
        return ()
    scores = []
    for rule in array.labels[names.rule_dim]:
        is_offset = names.rule_dim == "offset"
        name = OFFSET if is_offset else _RULES.get(str(rule), str(rule))
        detail = signed(int(rule)) if is_offset else ""
        share = _share(arrays, f"{names.probe}_baseline", {**place, names.rule_dim: rule}, sample)
        scores.append(Score(name, *share, detail))
    known = sorted((score for score in scores if np.isfinite(score.value)), key=lambda score: -score.value)
    return tuple(known[:1] if names.rule_dim == "offset" else known)


def _roles(arrays: HeadArrays, head: HeadId) -> Iterator[HeadScore]:
    difference = arrays.get("relation_difference")
    if difference is None or "relation_attention" not in arrays or "relation_control" not in arrays:
        return
    for role in map(str, difference.labels["role"]):
        way = _better(difference, {"role": role})
        if way is None:
            continue
        sample = _sample(arrays, "relation", {"role": role})
        place: Place = {"role": role, "direction": way}
        attention, control, error = (
            arrays.number(f"relation_{name}", **place)
            for name in ("attention", "control", "difference_stderr")
        )
        # The interval is that of the difference, laid around what is shown: so the control has none of its own.
        ends = mean_ends(attention, error, sample.units)
        score = Score(ATTENTION, attention, *(ends or (None, None)))
        yield HeadScore(role, sample.cases, head, way, score, (Score("other words as far apart", control),))


def _better(array: HeadArray, place: Place) -> str | None:
    """The direction with the larger number; None when there is none."""
    ways = [str(way) for way in array.labels["direction"]]
    numbers = {way: array.number(direction=way, **place) for way in ways}
    known = [way for way in ways if np.isfinite(numbers[way])]
    return max(known, key=lambda way: numbers[way]) if known else None
