"""Ablations on the page: what a task loses without heads, layers and kinds of heads."""

import math
from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes

from headscope.facts.subject import Subject
from headscope.facts.sweeps import SWEEP_ARRAYS, edit_words, metric_of, metric_words, sweeps_of, task_words
from headscope.facts.wording import count
from headscope.figures.ablation import (
    ablation_grid,
    layer_changes,
    list_size,
    pruning_curve,
    type_changes,
)
from headscope.figures.grid import grid_size
from headscope.report.pictures import Picture, picture
from headscope.report.section import Part, Section, Table

LAYERS_SIZE = (6.8, 3.2)
CURVE_SIZE = (6.4, 3.4)
MOST_ROWS = 24

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
    sweeps = sweeps_of(subject)
    return Section(
        "ablation",
        "Ablation: what a task loses",
        "Heads were edited while the model did a task, each edit held against the untouched model on the same "
        "examples. Changes come with 95 % intervals over independent texts; significant are those that remain so when "
        "the number of edits of the sweep is allowed for. No change on these examples does not mean that a head does "
        "nothing: others may do the same.",
        parts=[_part(subject, sweep, sweeps[sweep]) for sweep in SWEEP_ARRAYS if sweep in sweeps],
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


def _part(subject: Subject, sweep: str, told: dict[str, Any]) -> Part:
    array = subject.array(SWEEP_ARRAYS[sweep])
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
        f"({count(int(told['documents']), 'independent text')}), {task_words(told['task'])}. "
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
        is_wide=sweep != "heads",
    )


def _drawing(
    subject: Subject, sweep: str, metric: str, told: dict[str, Any]
) -> tuple[Callable[[Axes], object], tuple[float, float], str]:
    atlas, stack = subject.atlas, subject.stack
    bars = "Orange is worse, blue better, grey not significant; whiskers are 95 % intervals."
    if sweep == "heads":
        shape = subject.array("ablation_change").sel(metric=metric).transpose("layer", "head").shape
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
    edits = subject.array(SWEEP_ARRAYS[sweep]).sizes["edit"]
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
