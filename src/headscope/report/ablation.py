"""Ablations on the page: what a task loses without heads, layers and kinds of heads; and what is found."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from headscope.figures.ablation import (
    ablation_grid,
    edit_words,
    is_higher_better,
    layer_changes,
    list_size,
    metric_of,
    metric_words,
    pruning_curve,
    type_changes,
    unit_words,
)
from headscope.figures.grid import grid_size
from headscope.report.finding import Finding, Subject
from headscope.report.grids import array_of, key_of
from headscope.report.pictures import Picture, picture
from headscope.report.section import Part, Section, Table
from headscope.report.wording import count, heads_list
from headscope.types import HeadId

LAYERS_SIZE = (6.8, 3.2)
CURVE_SIZE = (6.4, 3.4)
MOST_ROWS = 24

TASKS = {
    "qa": "answering questions",
    "classification": "classifying texts",
    "regression": "scoring texts",
    "mlm": "predicting masked tokens",
    "lm": "predicting the next token",
}

_ARRAYS = {
    "heads": "ablation_change",
    "layers": "layer_change",
    "types": "type_change",
    "pairs-of-types": "type_pair_change",
    "sentence-masks": "sentence_mask_change",
    "cumulative": "pruning_curve",
}
_TITLES = {
    "heads": "Every head alone",
    "layers": "Every layer",
    "types": "Kinds of heads",
    "pairs-of-types": "Pairs of kinds",
    "sentence-masks": "Attention within and between sentences",
    "cumulative": "Ever more heads",
}


def ablation_section(subject: Subject, _: int) -> Section:
    """A part for each sweep that was made."""
    sweeps = _sweeps(subject)
    return Section(
        "ablation",
        "Ablation: what a task loses",
        "Heads were edited while the model did a task, each edit held against the untouched model on the same "
        "examples. Changes come with 95 % intervals over independent texts; significant are those that remain so when "
        "the number of edits of the sweep is allowed for. No change on these examples does not mean that a head does "
        "nothing: others may do the same.",
        parts=[_part(subject, sweep, sweeps[sweep]) for sweep in _ARRAYS if sweep in sweeps],
    )


def uniform_section(subject: Subject, _: int) -> Section:
    """The sweeps over heads that look evenly instead, which were kept beside those of heads removed."""
    sweeps = subject.probes["ablation_uniform"]["sweeps"]
    table = subject.atlas.table("ablation_uniform", stack=subject.stack)
    return Section(
        "ablation-uniform",
        "Ablation: heads that look evenly",
        "The same with heads that look evenly at all tokens instead of nowhere. A kind that does little harm removed "
        "and much harm here stands in the way once it looks everywhere.",
        parts=[
            Part(
                _TITLES[sweep],
                _introduction(sweep, told),
                tables=[_table([row for row in table if row["sweep"] == sweep], told)],
            )
            for sweep, told in sweeps.items()
        ],
    )


def ablation(subject: Subject) -> Iterator[Finding]:
    """The heads and layers that a task needs."""
    sweeps = _sweeps(subject)
    if "heads" in sweeps:
        yield _about_heads(subject, sweeps["heads"])
    if "layers" in sweeps:
        yield _about_layers(subject, sweeps["layers"])
    if "types" in sweeps:
        yield _about_kinds(subject, sweeps["types"])


def _sweeps(subject: Subject) -> dict[str, dict[str, Any]]:
    told = subject.probes.get("ablation", {}).get("sweeps", {})
    return {
        sweep: facts
        for sweep, facts in (told.items() if isinstance(told, dict) else ())
        if sweep in _ARRAYS and isinstance(facts, dict) and subject.has(_ARRAYS[sweep])
    }


def _part(subject: Subject, sweep: str, told: dict[str, Any]) -> Part:
    array = array_of(subject, _ARRAYS[sweep])
    metric = metric_of(array, None)
    rows = [row for row in subject.atlas.table("ablation", stack=subject.stack) if row.get("sweep") == sweep]
    small = bool(rows) and sweep != "cumulative" and (len(rows) <= MOST_ROWS or "edit" in array.dims)
    return Part(
        _TITLES[sweep],
        _introduction(sweep, told),
        [_picture(subject, sweep, metric, told)],
        [_table(rows, told)] if small else [],
    )


def _introduction(sweep: str, told: dict[str, Any]) -> str:
    scores = ", ".join(
        f"{metric_words(name)} {value:.{told['metrics'][name]['digits']}f}"
        for name, value in told["baseline"].items()
    )
    text = (
        f"{count(int(told['examples']), 'example')} of {told['data']} "
        f"({count(int(told['documents']), 'independent text')}), {TASKS.get(told['task'], told['task'])}. "
        f"Untouched: {scores}."
    )
    if told.get("types_from"):
        text += f" Kinds were sorted on {told['types_from']}."
    if sweep == "sentence-masks":
        text += " Attention was removed from each kind, from all kinds but one, and from as many random heads; no head "
        text += "was pruned."
    if sweep == "cumulative" and told.get("ordered_by"):
        text += f" The order goes by {told['ordered_by']}."
        if "same examples" in told["ordered_by"]:
            text += " That they are the same flatters the curve."
    return text


def _picture(subject: Subject, sweep: str, metric: str, told: dict[str, Any]) -> Picture:
    draw, size, caption = _drawing(subject, sweep, metric, told)
    return picture(
        draw,
        size=size,
        title=f"{_TITLES[sweep]}: {metric_words(metric)}",
        caption=caption,
        key=key_of(subject, f"ablation-{sweep}"),
        is_wide=sweep != "heads",
    )


def _drawing(
    subject: Subject, sweep: str, metric: str, told: dict[str, Any]
) -> tuple[Callable[[Axes], object], tuple[float, float], str]:
    atlas, stack = subject.atlas, subject.stack
    bars = "Orange is worse, blue better, grey not significant; whiskers are 95 % intervals."
    if sweep == "heads":
        shape = array_of(subject, "ablation_change").sel(metric=metric).transpose("layer", "head").shape
        return (
            lambda ax: ablation_grid(atlas, metric=metric, stack=stack, ax=ax),
            grid_size(*shape),
            f"The change of {metric_words(metric)} with a single head {edit_words(told)}: orange is worse, blue "
            "better. Framed cells are significant.",
        )
    if sweep == "layers":
        return (
            lambda ax: layer_changes(atlas, metric=metric, stack=stack, ax=ax),
            LAYERS_SIZE,
            f"The change of {metric_words(metric)} with all heads of a layer {edit_words(told)}. {bars}",
        )
    if sweep == "cumulative":
        return (
            lambda ax: pruning_curve(atlas, metric=metric, stack=stack, ax=ax),
            CURVE_SIZE,
            f"{metric_words(metric)} with ever more heads {edit_words(told)}. The band spans the random orders.",
        )
    edits = array_of(subject, _ARRAYS[sweep]).sizes["edit"]
    return (
        lambda ax: type_changes(atlas, sweep=sweep, metric=metric, stack=stack, ax=ax),  # type: ignore[arg-type]
        list_size(edits),
        f"The change of {metric_words(metric)}. {bars}",
    )


def _table(rows: list[dict[str, Any]], told: dict[str, Any]) -> Table:
    metrics = list(told["metrics"])
    columns = ["Edit", "Heads"]
    for metric in metrics:
        columns += [metric_words(metric), "Change", "95 % interval"]
    return Table(
        "Every edit; * is significant",
        tuple(columns),
        tuple(_cells(row, told["metrics"]) for row in rows),
        is_figures=True,
    )


def _cells(row: dict[str, Any], metrics: dict[str, Any]) -> tuple[str, ...]:
    cells = [str(row["name"]), str(len(row["heads"]))]
    for name, facts in metrics.items():
        digits = int(facts["digits"])
        low, high = row["interval"][name]
        star = " *" if row["significant"][name] else ""
        cells += [
            f"{row['values'][name]:z.{digits}f}",
            f"{row['change'][name]:+z.{digits}f}{star}",
            "-" if low is None or math.isnan(low) else f"{low:z.{digits}f} to {high:z.{digits}f}",
        ]
    return tuple(cells)


def _about_heads(subject: Subject, told: dict[str, Any]) -> Finding:
    changes = array_of(subject, "ablation_change")
    metric = metric_of(changes, None)
    values = changes.sel(metric=metric).transpose("layer", "head").values
    sure = (
        array_of(subject, "ablation_significant").sel(metric=metric).transpose("layer", "head").values > 0.5
    )
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
            array_of(subject, "ablation_change_stderr").transpose("layer", "head", "metric"),
        )
    )
    number = _change(value, metric, told)
    found = (
        f"{count(len(chosen), 'head')} of {values.size} change {metric_words(metric)} significantly when "
        f"{edit_words(told)}: {heads_list(chosen)}."
        if chosen
        else f"No single head of {values.size} changes {metric_words(metric)} significantly when {edit_words(told)}."
    )
    text = (
        f"{found} The most is lost with head {worst}: {number} ({TASKS.get(told['task'], told['task'])}, "
        f"{count(int(told['examples']), 'example')})."
    )
    return Finding(
        subject.stack, "Ablation", text, tuple(chosen[:5]) or (worst,), value, error, _unit(metric, told)
    )


def _about_layers(subject: Subject, told: dict[str, Any]) -> Finding:
    changes = array_of(subject, "layer_change")
    metric = metric_of(changes, None)
    values = changes.sel(metric=metric).values
    errors = array_of(subject, "layer_change_stderr").sel(metric=metric).values
    sure = array_of(subject, "layer_significant").sel(metric=metric).values > 0.5
    harm = -values if is_higher_better(told, metric) else values
    worst = int(np.argmax(harm))
    text = (
        f"With all heads of a layer {edit_words(told)}, {metric_words(metric)} loses most for layer {worst}: "
        f"{_change(float(values[worst]), metric, told)}. {int(sure.sum())} of {count(len(values), 'layer')} "
        "matter significantly."
    )
    return Finding(
        subject.stack, "Ablation", text, (), float(values[worst]), float(errors[worst]), _unit(metric, told)
    )


def _about_kinds(subject: Subject, told: dict[str, Any]) -> Finding:
    changes = array_of(subject, "type_change")
    metric = metric_of(changes, None)
    by_kind = changes.sel(
        metric=metric, edit=[kind for kind in told["types"] if kind in changes["edit"].values]
    )
    values = by_kind.values
    worst = int(np.argmax(-values if is_higher_better(told, metric) else values))
    kind = str(by_kind["edit"].values[worst])
    error = array_of(subject, "type_change_stderr").sel(metric=metric, edit=kind).item()
    sure = array_of(subject, "type_significant").sel(metric=metric, edit=by_kind["edit"]).values > 0.5
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
        subject.stack, "Ablation", text, (), float(values[worst]), float(error), _unit(metric, told)
    )


def _change(value: float, metric: str, told: dict[str, Any]) -> str:
    digits = int(told["metrics"][metric]["digits"])
    unit = unit_words(told, metric).strip(" ()")
    return f"{value:+z.{digits}f} {unit}".rstrip()


def _unit(metric: str, told: dict[str, Any]) -> str:
    return unit_words(told, metric).strip(" ()") or "1"
