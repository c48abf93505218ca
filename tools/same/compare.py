"""How two recordings differ: verdicts first, then numbers, then lines; each with the largest difference."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from tools.same.recording import Recording, Values
from tools.same.verdicts import Verdict

SHOWN = 8
"""How many differences of one kind are printed; the rest are counted."""


def differences(old: Recording, new: Recording, *, tolerance: float) -> list[str]:
    """One line a difference, none where both are the same; a tolerance of 0 asks for the same bits."""
    return [
        *shortened("verdict", verdict_differences(old.verdicts, new.verdicts, tolerance)),
        *shortened("array", array_differences(old.arrays, new.arrays, tolerance)),
        *shortened("lines", line_differences(old.lines, new.lines, tolerance)),
    ]


def verdict_differences(old: Sequence[Verdict], new: Sequence[Verdict], tolerance: float) -> Iterator[str]:
    """Claims that came or went, outcomes that changed, numbers that moved; in this order."""
    before, after = numbered(old), numbered(new)
    for claim in before.keys() - after.keys():
        yield f"gone: {told(before[claim])}"
    for claim in after.keys() - before.keys():
        yield f"new: {told(after[claim])}"
    both = [(before[claim], after[claim]) for claim in before if claim in after]
    for was, now in both:
        if was.outcome != now.outcome:
            yield f"changed: {told(was)} -> {told(now)}"
    for was, now in both:
        moved = [
            f"{name} {a:.10g} -> {b:.10g}"
            for name, a, b in zip(Verdict._fields[5:11], was[5:11], now[5:11], strict=True)
            if not close(a, b, tolerance)
        ]
        if moved and was.outcome == now.outcome:
            yield f"moved: {' | '.join(filter(None, was.claim))}: {', '.join(moved)}"


def numbered(table: Sequence[Verdict]) -> dict[tuple[Any, ...], Verdict]:
    """Rows by their claim; rows with the same claim are told apart by their order."""
    rows: dict[tuple[Any, ...], Verdict] = {}
    counts: dict[tuple[str, ...], int] = {}
    for verdict in table:
        counts[verdict.claim] = counts.get(verdict.claim, 0) + 1
        rows[*verdict.claim, counts[verdict.claim]] = verdict
    return rows


def told(verdict: Verdict) -> str:
    """A verdict on one line."""
    numbers = zip(Verdict._fields[5:11], verdict[5:11], strict=True)
    known = [f"{name} {value:.6g}" for name, value in numbers if not math.isnan(value)]
    return f"{' | '.join(filter(None, verdict.claim))} [{verdict.outcome or '-'}] {', '.join(known)}"


def array_differences(old: dict[str, Values], new: dict[str, Values], tolerance: float) -> Iterator[str]:
    """Arrays that came or went, that have another shape or other labels, or other numbers."""
    for name in old.keys() - new.keys():
        yield f"gone: {name}"
    for name in new.keys() - old.keys():
        yield f"new: {name}"
    for name in [name for name in old if name in new]:
        was, now = old[name], new[name]
        if was.shape != now.shape:
            yield f"{name}: shape {was.shape} -> {now.shape}"
        elif was.dtype.kind in "fc" or now.dtype.kind in "fc":
            yield from number_differences(name, was.astype(np.float64), now.astype(np.float64), tolerance)
        elif (was.astype(str) != now.astype(str)).any():
            count = int((was.astype(str) != now.astype(str)).sum())
            yield f"{name}: {count} of {was.size} values differ"


def number_differences(name: str, was: Values, now: Values, tolerance: float) -> Iterator[str]:
    """Where numbers differ by more than the tolerance of the larger one, or of a millionth of the largest of all."""
    missing = np.isnan(was) != np.isnan(now)
    if missing.any():
        yield f"{name}: nan in other places ({int(missing.sum())} of {was.size})"
        return
    finite = np.abs(np.concatenate([was.ravel(), now.ravel()]))
    largest = finite[np.isfinite(finite)].max(initial=0.0)
    apart = np.abs(was - now)
    allowed = tolerance * np.maximum(np.maximum(np.abs(was), np.abs(now)), 0.1 * largest)
    wrong = ~((was == now) | np.isnan(was) | (apart <= allowed))
    if wrong.any():
        place = np.unravel_index(np.argmax(np.where(wrong, apart, -1)), was.shape)
        at = ", ".join(map(str, place))
        yield f"{name}[{at}]: {was[place]:.9g} -> {now[place]:.9g}; {int(wrong.sum())} of {was.size} differ"


def line_differences(old: dict[str, Any], new: dict[str, Any], tolerance: float) -> Iterator[str]:
    """Tables, examples, quoted sentences and provenance: what came, went or changed."""
    for name in old.keys() - new.keys():
        yield f"gone: {name}"
    for name in new.keys() - old.keys():
        yield f"new: {name}"
    for name in [name for name in old if name in new]:
        yield from within(name, old[name], new[name], tolerance)


def within(place: str, was: Any, now: Any, tolerance: float) -> Iterator[str]:
    """The differences of two pieces of JSON, each with its place."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in was.keys() | now.keys():
            if key not in was or key not in now:
                yield f"{place}.{key}: only in the {'new' if key in now else 'old'}"
            else:
                yield from within(f"{place}.{key}", was[key], now[key], tolerance)
    elif isinstance(was, list) and isinstance(now, list):
        if len(was) != len(now):
            yield f"{place}: {len(was)} -> {len(now)} entries"
        for number, pair in enumerate(zip(was, now, strict=False)):
            yield from within(f"{place}[{number}]", *pair, tolerance)
    elif isinstance(was, float) and isinstance(now, int | float):
        if not close(was, float(now), tolerance):
            yield f"{place}: {was!r} -> {now!r}"
    elif was != now:
        yield f"{place}: {was!r} -> {now!r}"


def close(a: float, b: float, tolerance: float) -> bool:
    """Whether two numbers are the same, up to the tolerance."""
    return (math.isnan(a) and math.isnan(b)) or math.isclose(
        a, b, rel_tol=tolerance, abs_tol=0.01 * tolerance
    )


def shortened(kind: str, found: Iterator[str]) -> Iterator[str]:
    """The first differences of a kind, and how many more there are."""
    every = list(found)
    yield from (f"{kind} {difference}" for difference in every[:SHOWN])
    if len(every) > SHOWN:
        yield f"{kind}: {len(every) - SHOWN} more"
