"""What a task loses or gains without one head, and how sure that is."""

import math
from collections.abc import Collection

from headscope.atlas import Atlas
from headscope.facts.analyses.sweeps import MetricFacts, SweepFacts, head_sweep
from headscope.facts.head_arrays import HeadArrays
from headscope.pages.shapes.head import Bar, Chart, Section
from headscope.stats.correction import SIGNIFICANT


def ablation_effects(atlas: Atlas, arrays: HeadArrays) -> list[Section]:
    """The effect on every metric; `arrays` are those of the head's stack, taken at the head."""
    array, sweep = arrays.get("ablation_change"), head_sweep(atlas)
    metrics = [] if array is None else [sweep.about(str(metric)) for metric in array.labels["metric"]]
    groups: dict[str, list[Bar]] = {}
    for metric in metrics:
        parts = (str(sweep.facts.get("data", "")), sweep.done, metric.change_unit)
        groups.setdefault(" · ".join(filter(None, parts)), []).append(_effect(arrays, metric))
    if not groups:
        return []
    about = "Change of the task's score with its 95 % interval, by the test of the sweep; orange is worse."
    pale = {metric.name for metric in metrics if _significant(arrays, metric.name) is False}
    return [
        Section(
            key="ablation",
            title="When it is switched off",
            charts=[Chart(title=title, bars=bars) for title, bars in groups.items()],
            about=" ".join(filter(None, (about, _pale_words(sweep, pale)))),
        )
    ]


def _effect(arrays: HeadArrays, metric: MetricFacts) -> Bar:
    change, low, high = (
        arrays.number(f"ablation_change{end}", metric=metric.name) for end in ("", "_low", "_high")
    )
    significant = _significant(arrays, metric.name)
    return Bar(
        label=metric.label if metric.higher_is_better else f"{metric.label} (lower is better)",
        value=change,
        low=low,
        high=high,
        pale=significant is False,
        note="" if significant is None else "significant" if significant else "not significant",
        worse=metric.harm(change) > 0,
    )


def _significant(arrays: HeadArrays, metric: str) -> bool | None:
    """Whether the sweep's test found an effect; None where it was not tested."""
    value = arrays.number("ablation_significant", metric=metric)
    return value > 0.5 if math.isfinite(value) else None


def _pale_words(sweep: SweepFacts, metrics: Collection[str]) -> str:
    """Why the effects on these metrics are not significant: tested how, and whether any edit could have been."""
    if not metrics:
        return ""
    if sweep.correction == "none":
        return f"Faint: not significant (p ≥ {SIGNIFICANT}, not corrected)."
    reasons = [sweep.too_few_texts(metric) for metric in sorted(metrics)]
    if all(reasons):
        return f"Faint: {reasons[0]}."
    tests = max((sweep.tests or {}).get(metric, 0) for metric in metrics)
    tested = sweep.correction is not None and tests > 1
    return f"Faint: not significant after correction for {f'{tests} tests' if tested else 'all edits'}."
