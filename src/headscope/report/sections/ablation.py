"""Ablations on the page: what a task loses without heads, layers and kinds of heads."""

from collections.abc import Callable
from functools import partial

from matplotlib.axes import Axes

from headscope.facts.analyses.sweeps import SweepFacts, sweep_facts, sweeps_of
from headscope.facts.head_arrays import HeadArray
from headscope.facts.subject import Subject
from headscope.figures.ablation import (
    LISTED,
    ablation_grid,
    layer_changes,
    list_size,
    pruning_curve,
    type_changes,
)
from headscope.figures.grid import grid_size
from headscope.report.pictures import Picture, stack_picture
from headscope.report.section import Part, Section, Table

UNIFORM = "ablation_uniform"
LAYERS_SIZE = (6.8, 3.2)
CURVE_SIZE = (6.4, 3.4)
MOST_ROWS = 24

_DRAW: dict[str, Callable[..., Axes]] = {
    "heads": ablation_grid,
    "layers": layer_changes,
    "cumulative": pruning_curve,
    **{sweep: partial(type_changes, sweep=sweep) for sweep in LISTED},
}
_BARS = "Orange is worse, blue better, grey not significant; whiskers are 95 % intervals."
_KEYS = {
    "heads": "Orange is worse, blue better. Framed cells are significant.",
    "cumulative": "The band spans the random orders.",
}


def ablation_section(subject: Subject) -> Section:
    """A part for each sweep that was made."""
    return Section(
        "ablation",
        "What does the model lose without heads?",
        "Heads were edited while the model did a task, and each edit was compared with the unedited model on the same "
        "examples. Intervals are 95 % over independent texts; a change is significant after correction for all edits "
        "of the sweep. No change does not mean that a head does nothing: other heads may do the same.",
        parts=[_part(subject, sweep) for sweep in sweeps_of(subject).values()],
    )


def uniform_section(subject: Subject) -> Section:
    """The sweeps over heads that look evenly instead, which were kept beside those of heads removed."""
    sweeps = [
        sweep_facts(subject.atlas, name, stack=subject.stack, probe=UNIFORM)
        for name in subject.probes[UNIFORM]["sweeps"]
    ]
    return Section(
        "ablation-uniform",
        "What does it lose when heads look evenly?",
        "The same sweeps with heads that look evenly at all tokens instead of being removed. A kind whose removal "
        "does little harm can do much harm when it looks everywhere.",
        parts=[Part(sweep.kind.title, " ".join(sweep.sentences), tables=[_table(sweep)]) for sweep in sweeps],
    )


def _part(subject: Subject, sweep: SweepFacts) -> Part:
    is_list = "edit" in subject.array(sweep.kind.arrays[0]).dims
    has_table = sweep.rows and sweep.name != "cumulative" and (is_list or len(sweep.rows) <= MOST_ROWS)
    return Part(
        sweep.kind.title,
        " ".join(sweep.sentences),
        [_picture(subject, sweep)],
        [_table(sweep)] if has_table else [],
    )


def _picture(subject: Subject, sweep: SweepFacts) -> Picture:
    metric = sweep.metric()
    what = f"{metric.label} with" if sweep.name == "cumulative" else f"The change of {metric.label} with"
    return stack_picture(
        subject,
        _DRAW[sweep.name],
        metric=metric.name,
        size=_size(subject.array(sweep.kind.arrays[0])),
        title=f"{sweep.kind.title}: {metric.label}",
        caption=f"{what} {sweep.edited}. {_KEYS.get(sweep.name, _BARS)}",
        is_wide=sweep.name != "heads",
    )


def _size(array: HeadArray) -> tuple[float, float]:
    """Inches for the picture of a sweep."""
    if "edit" in array.dims:
        return list_size(array.sizes["edit"])
    if "head" in array.dims:
        return grid_size(array.sizes["layer"], array.sizes["head"])
    return CURVE_SIZE if "pruned" in array.dims else LAYERS_SIZE


def _table(sweep: SweepFacts) -> Table:
    return Table(
        "Every edit; * is significant",
        tuple(
            sweep.metrics[title].label if title in sweep.metrics else title.capitalize()
            for title in sweep.columns
        ),
        tuple(sweep.cells(row) for row in sweep.rows),
        is_figures=True,
    )
