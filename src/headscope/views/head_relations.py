"""What one head knows of syntax, coreference and semantic roles, beside what needs no attention."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headscope.figures.probe_words import direction_name, row_name
from headscope.figures.scores import COLUMNS, FEW_CASES
from headscope.figures.slices import Choice
from headscope.views.head_arrays import HeadArray, HeadArrays
from headscope.views.numbers import SURE, plain
from headscope.views.shapes import RelationScore

MOST = 16


@dataclass(frozen=True)
class _Pointing:
    """The arrays of a probe that guesses: shares of right guesses, cases, and what is guessed without attention."""

    shares: str
    counts: str
    dim: str
    """What the guesses are by."""
    baselines: str
    rule: str
    """What the baselines are by besides."""


_POINTING = {
    "dependency": _Pointing(
        "dependency_accuracy", "dependency_count", "relation", "dependency_baseline", "offset"
    ),
    "coreference": _Pointing(
        "coreference_accuracy", "coreference_count", "mention_class", "coreference_baseline", "rule"
    ),
}


def relations(arrays: HeadArrays) -> list[RelationScore]:
    """The relations where the head is above a simple rule, in its better direction; furthest above first.

    `arrays` are the stack's, taken at this head. The rule is the best one on the same cases as the head's own share.
    """
    found = [one for one in _asked(arrays) if _above(one) is None or (_above(one) or 0.0) > 0]
    return sorted(found, key=lambda one: -(_above(one) or 0.0))[:MOST]


def relations_tested(arrays: HeadArrays) -> int:
    """How many relations had cases enough."""
    return sum(1 for _ in _asked(arrays))


def _asked(arrays: HeadArrays) -> Iterator[RelationScore]:
    yield from _guesses(arrays)
    yield from _roles(arrays)


def _above(one: RelationScore) -> float | None:
    """How far above the rule; None when there is no rule."""
    return None if one.accuracy is None or one.baseline is None else one.accuracy - one.baseline


def _guesses(arrays: HeadArrays) -> Iterator[RelationScore]:
    for probe, names in _POINTING.items():
        shares, dim = arrays.get(names.shares), names.dim
        if shares is None or set(shares.dims) != {dim, "direction"}:
            continue
        errors = arrays.get(f"{names.shares}_stderr")
        for label in map(str, shares.labels[dim]):
            cases = int(arrays[names.counts].number(**{dim: label})) if names.counts in arrays else None
            way = _better(shares, **{dim: label})
            if way is None or (cases is not None and cases < FEW_CASES):
                continue
            error = None if errors is None else errors.number(**{dim: label, "direction": way})
            share = shares.number(**{dim: label, "direction": way})
            low, high = _interval(share, error)
            baseline, rule = _best_rule(probe, arrays.get(names.baselines), names, label)
            yield RelationScore(
                relation=row_name(probe, label),
                accuracy=plain(share),
                low=None if low is None else max(0.0, low),
                high=None if high is None else min(1.0, high),
                baseline=baseline,
                baseline_name=rule,
                probe=probe,
                direction=direction_name(way),
                cases=cases,
                clear=_is_clear(low, baseline),
            )


def _best_rule(probe: str, array: HeadArray | None, names: _Pointing, label: str) -> tuple[float | None, str]:
    """What the best rule that looks at no attention gets right of the same cases, and its name."""
    if array is None or set(array.dims) != {names.dim, names.rule}:
        return None, ""
    found = {rule: array.number(**{names.dim: label, names.rule: rule}) for rule in array.labels[names.rule]}
    known = [rule for rule in found if np.isfinite(found[rule])]
    if not known:
        return None, ""
    best = max(known, key=lambda rule: found[rule])
    return plain(found[best]), _rule_name(probe, best)


def _rule_name(probe: str, rule: Choice) -> str:
    columns = COLUMNS[probe].baselines
    if probe == "dependency":
        offset = f"{int(rule):+d}".replace("-", "\N{MINUS SIGN}")
        return f"{next(iter(columns))} ({offset})"
    return next((name for name, (column, *_) in columns.items() if column == rule), str(rule))


def _is_clear(low: float | None, baseline: float | None) -> bool:
    return low is not None and baseline is not None and low > baseline


def _roles(arrays: HeadArrays) -> Iterator[RelationScore]:
    attention, control = arrays.get("relation_attention"), arrays.get("relation_control")
    difference = arrays.get("relation_difference")
    if attention is None or control is None or difference is None:
        return
    errors = arrays.get("relation_difference_stderr")
    for role in map(str, difference.labels["role"]):
        cases = int(arrays["relation_count"].number(role=role)) if "relation_count" in arrays else None
        way = _better(difference, role=role)
        if way is None or (cases is not None and cases < FEW_CASES):
            continue
        place: dict[str, Choice] = {"role": role, "direction": way}
        share = attention.number(**place)
        # The interval is that of the difference, laid around what is shown.
        low, high = _interval(share, None if errors is None else errors.number(**place))
        baseline = plain(control.number(**place))
        yield RelationScore(
            relation=role,
            accuracy=plain(share),
            low=low,
            high=high,
            baseline=baseline,
            baseline_name="other words as far apart",
            probe="relations",
            direction=direction_name(way),
            what="attention between predicate and argument",
            cases=cases,
            clear=_is_clear(low, baseline),
        )


def _better(array: HeadArray, **labels: Choice) -> str | None:
    """The direction with the larger number; None when there is none."""
    ways = [str(way) for way in array.labels["direction"]]
    numbers = {way: array.number(direction=way, **labels) for way in ways}
    known = [way for way in ways if np.isfinite(numbers[way])]
    return max(known, key=lambda way: numbers[way]) if known else None


def _interval(value: float, stderr: float | None) -> tuple[float | None, float | None]:
    if stderr is None or not np.isfinite(stderr):
        return None, None
    return plain(value - SURE * stderr), plain(value + SURE * stderr)
