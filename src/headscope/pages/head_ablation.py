"""What a task loses or gains without one head, and how sure that is."""

from collections.abc import Collection
from typing import Any

import numpy as np

from headscope.atlas import Atlas
from headscope.facts.head_arrays import HeadArrays, stack_arrays
from headscope.facts.sweeps import edit_words, is_higher_better, metric_words, unit_words
from headscope.facts.titles import AtlasWords
from headscope.pages.shapes import Bar, Chart, Section
from headscope.stats.correction import CORRECTIONS, SIGNIFICANT, Correction, adjusted
from headscope.stats.paired import least_p


def ablation_effects(atlas: Atlas, arrays: HeadArrays, words: AtlasWords) -> list[Section]:
    """The effect on every metric; `arrays` are those of the head's stack, taken at the head."""
    array = arrays.get("ablation_change")
    metrics = [] if array is None else [str(metric) for metric in array.labels["metric"]]
    sweep = words.sweep
    groups: dict[str, list[Bar]] = {}
    for metric in metrics:
        parts = (str(sweep.get("data", "")), edit_words(sweep), unit_words(sweep, metric).strip(" ()"))
        groups.setdefault(" · ".join(filter(None, parts)), []).append(_effect(arrays, sweep, metric))
    if not groups:
        return []
    about = "Change of the task's score with its 95 % interval, by the test of the sweep; orange is worse."
    pale = {metric for metric in metrics if _significant(arrays, metric) is False}
    return [
        Section(
            key="ablation",
            title="When it is switched off",
            charts=[Chart(title=title, bars=bars) for title, bars in groups.items()],
            about=" ".join(filter(None, (about, pale_words(atlas, sweep, pale)))),
        )
    ]


def _effect(arrays: HeadArrays, sweep: dict[str, Any], metric: str) -> Bar:
    change, low, high = (
        arrays.number(f"ablation_change{end}", metric=metric) for end in ("", "_low", "_high")
    )
    significant = _significant(arrays, metric)
    higher_is_better = is_higher_better(sweep, metric)
    return Bar(
        label=metric_words(metric) if higher_is_better else f"{metric_words(metric)} (lower is better)",
        value=change,
        low=low,
        high=high,
        pale=significant is False,
        note="" if significant is None else "significant" if significant else "not significant",
        worse=change < 0 if higher_is_better else change > 0,
    )


def _significant(arrays: HeadArrays, metric: str) -> bool | None:
    """Whether the sweep's test found an effect; None where it was not tested."""
    value = arrays.number("ablation_significant", metric=metric)
    return value > 0.5 if np.isfinite(value) else None


def pale_words(atlas: Atlas, sweep: dict[str, Any], metrics: Collection[str]) -> str:
    """Why the effects on these metrics are not significant: tested how, and whether any edit could have been."""
    correction = _correction(sweep.get("correction"))
    if not metrics or correction is None:
        return "Pale: not significant after correction for all edits." if metrics else ""
    if correction == "none":
        return f"Pale: not significant (p ≥ {SIGNIFICANT}, not corrected)."
    tested = {metric: edits_tested(atlas, metric) for metric in metrics}
    edits = max(tested.values())
    after = f"after correction for {edits} tests" if edits > 1 else "after correction for all edits"
    could = [_possible(edits, correction, sweep.get("documents")) for edits in tested.values()]
    if all(possible is False for possible in could):
        return f"The texts are too few for any edit to be significant {after}; bars are pale for that."
    return f"Pale: not significant {after}."


def edits_tested(atlas: Atlas, metric: str) -> int:
    """How many heads, of all stacks, have a p value for this metric: as many as it was corrected for."""
    count = 0
    for stack in atlas.stacks:
        tested = stack_arrays(atlas, stack).get("ablation_p")
        if tested is not None and metric in tested.labels.get("metric", []):
            place = tested.labels["metric"].index(metric)
            values = np.take(tested.values, place, axis=tested.dims.index("metric"))
            count += int(np.isfinite(values).sum())
    return count


def _correction(said: object) -> Correction | None:
    return next((known for known in CORRECTIONS if known == said), None)


def _possible(edits: int, correction: Correction | None, documents: object) -> bool | None:
    """Whether the smallest p that so many documents can give would be significant, all edits having it."""
    if not edits or correction is None or not isinstance(documents, int) or documents < 1:
        return None
    return bool(adjusted([least_p(documents)] * edits, correction)[0] < SIGNIFICANT)
