"""What one head knows of syntax, coreference and semantic roles, beside what needs no attention."""

from collections.abc import Iterator

import numpy as np

from headscope.atlas import Atlas
from headscope.figures.probe_words import direction_name, row_name
from headscope.figures.scores import FEW_CASES, Score, best_heads
from headscope.figures.slices import Choice
from headscope.views.head_arrays import HeadArray, HeadArrays
from headscope.views.numbers import plain
from headscope.views.shapes import RelationScore

MOST = 16
SURE = 1.96
"""Standard errors to either end of a 95 % interval."""

_POINTING = {
    "dependency": ("dependency_accuracy", "dependency_count", "relation"),
    "coreference": ("coreference_accuracy", "coreference_count", "mention_class"),
}
"""Shares of right guesses, how many cases there were, and what they are by."""


def relations(atlas: Atlas, stack: str, arrays: HeadArrays) -> list[RelationScore]:
    """Every relation with cases enough, in the head's better direction; those most above their baseline first.

    `arrays` are the stack's, taken at this head.
    """
    found = [*_guesses(atlas, stack, arrays), *_roles(arrays)]
    return sorted(found, key=lambda one: -((one.accuracy or 0.0) - (one.baseline or 0.0)))[:MOST]


def _guesses(atlas: Atlas, stack: str, arrays: HeadArrays) -> Iterator[RelationScore]:
    for probe, (name, counts, dim) in _POINTING.items():
        shares = arrays.get(name)
        if shares is None or set(shares.dims) != {dim, "direction"}:
            continue
        errors = arrays.get(f"{name}_stderr")
        baselines = {
            row.label: row.best_baseline
            for row in best_heads(atlas, probe, stack=stack)
            if row.best_baseline is not None
        }
        for label in map(str, shares.labels[dim]):
            cases = int(arrays[counts].number(**{dim: label})) if counts in arrays else None
            way = _better(shares, **{dim: label})
            if way is None or (cases is not None and cases < FEW_CASES):
                continue
            error = None if errors is None else errors.number(**{dim: label, "direction": way})
            share = shares.number(**{dim: label, "direction": way})
            low, high = _interval(share, error)
            best = baselines.get(label)
            yield RelationScore(
                relation=row_name(probe, label),
                accuracy=plain(share),
                low=None if low is None else max(0.0, low),
                high=None if high is None else min(1.0, high),
                baseline=None if best is None else plain(best.value),
                baseline_name=_baseline_name(best),
                probe=probe,
                direction=direction_name(way),
                cases=cases,
            )


def _baseline_name(best: Score | None) -> str:
    if best is None:
        return ""
    return f"{best.name} ({best.detail})" if best.detail else best.name


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
        yield RelationScore(
            relation=role,
            accuracy=plain(share),
            low=low,
            high=high,
            baseline=plain(control.number(**place)),
            baseline_name="other words as far apart",
            probe="relations",
            direction=direction_name(way),
            what="attention between predicate and argument",
            cases=cases,
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
