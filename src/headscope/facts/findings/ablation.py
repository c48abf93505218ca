"""Findings on the heads, layers and kinds of heads that a task needs."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from headscope.facts.findings.finding import Finding
from headscope.facts.scores import Score, Verdict
from headscope.facts.subject import Subject
from headscope.facts.sweeps import (
    edit_words,
    is_higher_better,
    metric_digits,
    metric_of,
    metric_words,
    sweeps_of,
    task_words,
    unit_words,
)
from headscope.facts.wording import count, heads_list, sentence
from headscope.types import HeadId

UNTOUCHED = Score("untouched model", 0.0)


def ablation(subject: Subject) -> Iterator[Finding]:
    """The heads and layers that a task needs."""
    sweeps = sweeps_of(subject)
    if "heads" in sweeps:
        yield _about_heads(subject, sweeps["heads"])
    if "layers" in sweeps:
        yield _about_layers(subject, sweeps["layers"])
    if "types" in sweeps:
        yield _about_kinds(subject, sweeps["types"])


def _about_heads(subject: Subject, told: dict[str, Any]) -> Finding:
    changes = subject.array("ablation_change")
    metric = metric_of(changes, None)
    values = changes.sel(metric=metric).transpose("layer", "head").values
    sure = subject.array("ablation_significant").sel(metric=metric).transpose("layer", "head").values > 0.5
    harm = -values if is_higher_better(told, metric) else values
    order = [
        HeadId(*divmod(int(place), values.shape[1])) for place in np.argsort(-harm, axis=None, kind="stable")
    ]
    worst = order[0]
    chosen = [head for head in order if sure[head.layer, head.head]]
    value, error = (
        float(array.sel(metric=metric).values[worst.layer, worst.head])
        for array in (
            changes.transpose("layer", "head", "metric"),
            subject.array("ablation_change_stderr").transpose("layer", "head", "metric"),
        )
    )
    many = count(len(chosen), "head") if chosen else "No single head"
    changes_it = (
        f"{'change' if chosen else 'changes'} {metric_words(metric)} significantly when {edit_words(told)}"
    )
    parts = sentence(
        f"{many} of {values.size} {changes_it}",
        (": ", *heads_list(chosen)) if chosen else "",
        ". The most is lost with head ",
        worst,
        f": {_change(value, metric, told)} ({task_words(told['task'])}, {count(int(told['examples']), 'example')}).",
    )
    return Finding(
        "Ablation",
        subject.stack,
        parts,
        value,
        error,
        tuple(chosen[:5]) or (worst,),
        _unit(metric, told),
        _interval(subject, "ablation_change", metric=metric, layer=worst.layer, head=worst.head),
        UNTOUCHED,
        _verdict(value, is_sure=bool(sure[worst.layer, worst.head])),
    )


def _about_layers(subject: Subject, told: dict[str, Any]) -> Finding:
    changes = subject.array("layer_change")
    metric = metric_of(changes, None)
    values = changes.sel(metric=metric).values
    errors = subject.array("layer_change_stderr").sel(metric=metric).values
    sure = subject.array("layer_significant").sel(metric=metric).values > 0.5
    harm = -values if is_higher_better(told, metric) else values
    worst = int(np.argmax(harm))
    text = (
        f"With all heads of a layer {edit_words(told)}, {metric_words(metric)} loses most for layer {worst}: "
        f"{_change(float(values[worst]), metric, told)}. {int(sure.sum())} of {count(len(values), 'layer')} "
        "matter significantly."
    )
    return Finding(
        "Ablation",
        subject.stack,
        (text,),
        float(values[worst]),
        float(errors[worst]),
        units=_unit(metric, told),
        interval=_interval(subject, "layer_change", metric=metric, layer=worst),
        control=UNTOUCHED,
        verdict=_verdict(values[worst], is_sure=bool(sure[worst])),
    )


def _about_kinds(subject: Subject, told: dict[str, Any]) -> Finding:
    changes = subject.array("type_change")
    metric = metric_of(changes, None)
    by_kind = changes.sel(
        metric=metric, edit=[kind for kind in told["types"] if kind in changes["edit"].values]
    )
    values = by_kind.values
    worst = int(np.argmax(-values if is_higher_better(told, metric) else values))
    kind = str(by_kind["edit"].values[worst])
    error = subject.array("type_change_stderr").sel(metric=metric, edit=kind).item()
    sure = subject.array("type_significant").sel(metric=metric, edit=by_kind["edit"]).values > 0.5
    size = len(told["types"][kind])
    beside = [f"{size} random head{'' if size == 1 else 's'} ({draw})" for draw in range(1, 10)]
    random = changes.sel(
        metric=metric, edit=[name for name in beside if name in changes["edit"].values]
    ).values
    control = (
        f" As many random heads: {_change(float(random.mean()), metric, told)} in the mean of {len(random)} draws."
        if len(random)
        else ""
    )
    text = (
        f"Of the kinds of heads, {metric_words(metric)} loses most with the {count(len(told['types'][kind]), 'head')} "
        f"called {kind} {edit_words(told)}: {_change(float(values[worst]), metric, told)}. {int(sure.sum())} of "
        f"{count(len(values), 'kind')} matter significantly.{control}"
    )
    return Finding(
        "Ablation",
        subject.stack,
        (text,),
        float(values[worst]),
        float(error),
        units=_unit(metric, told),
        interval=_interval(subject, "type_change", metric=metric, edit=kind),
        control=UNTOUCHED,
        verdict=_verdict(values[worst], is_sure=bool(sure[worst])),
    )


def _interval(subject: Subject, changes: str, **place: Any) -> tuple[float, float] | None:
    """The interval of a change, where the sweep has one."""
    low, high = (
        float(subject.array(f"{changes}_{end}").sel(place)) if subject.has(f"{changes}_{end}") else math.nan
        for end in ("low", "high")
    )
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _verdict(change: float, *, is_sure: bool) -> Verdict:
    """Whether a change is significant, and which way it goes."""
    return "unclear" if not is_sure else "above" if change > 0 else "below"


def _change(value: float, metric: str, told: dict[str, Any]) -> str:
    unit = unit_words(told, metric).strip(" ()")
    return f"{value:+z.{metric_digits(told, metric)}f} {unit}".rstrip()


def _unit(metric: str, told: dict[str, Any]) -> str:
    return unit_words(told, metric).strip(" ()") or "1"
