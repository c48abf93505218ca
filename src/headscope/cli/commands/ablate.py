"""`headscope ablate`: edit heads, layers or kinds of heads, and see what each does to a task."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.cli.tables import print_table
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.ablation import Ablations
    from headscope.ablation.result import Ablation
    from headscope.tasks import Metric

EXAMPLE = "Example: headscope ablate demo-qa --task qa --data questions.json --sweep layers -o atlas.nc"

SHOWN = 10
MOST_IN_FULL = 30


@shared.with_common
def ablate(
    model: shared.ModelName,
    *,
    task: shared.TaskName,
    data: shared.TaskData,
    sweep: Annotated[
        Literal["heads", "layers", "types", "pairs-of-types", "sentence-masks", "cumulative"],
        shared.option(
            "Each head alone; each layer; each kind of head, and all but each; every two kinds; attention "
            "within or between sentences removed from each kind, and from all but each; ever more heads."
        ),
    ] = "heads",
    edit: Annotated[
        Literal["zero", "uniform", "mean"],
        shared.option(
            "Heads look nowhere; look evenly at all tokens; give their mean output over the same data."
        ),
    ] = "zero",
    atlas: Annotated[
        Path | None,
        shared.option(
            "Where kinds of heads are looked up, and for cumulative what to order by; what it lacks is found "
            "on the data.",
            "ATLAS",
        ),
    ] = None,
    output: shared.Output = None,
    limit: Annotated[int | None, shared.examples_limit(", spread evenly over them")] = None,
    k: Annotated[
        int,
        shared.option("How many kinds heads are sorted into, where --atlas has none.", "N", "--k", least=2),
    ] = 4,
    order: Annotated[
        Literal["importance", "effect", "random"],
        shared.option(
            "For cumulative: heads of least gradient importance first, or of least effect alone, beside "
            "random orders; or random orders only."
        ),
    ] = "importance",
    random_orders: Annotated[int, shared.option("For cumulative: how many random orders.", "N", least=1)] = 5,
    steps: Annotated[int, shared.option("For cumulative: points of a curve.", "N", least=1)] = 10,
    correction: Annotated[
        Literal["holm", "benjamini-hochberg", "none"],
        shared.option("How p values allow for the number of edits; see the guide."),
    ] = "holm",
    renormalise: Annotated[
        bool,
        shared.option(
            "For sentence-masks: scale the attention that is left up again.", None, "--renormalise"
        ),
    ] = False,
    max_length: shared.TaskMaxLength = None,
    stride: shared.Stride = None,
    common: shared.Common,
) -> None:
    """Edit heads and measure what a task loses.

    Every edit is held against the untouched model on the same examples: the change of the task's metrics, a 95 %
    interval, and whether it is significant among so many edits. Layers below an edited one run once.
    """
    _check_used(common.context, sweep)
    shared.check_stride(stride, task)
    with session(common, output, inputs=data) as run:
        kinds = None if atlas is None else hs.open(atlas)
        loaded = run.load(model)
        given = {"max_length": max_length, "stride": stride}
        options = {name: value for name, value in given.items() if value is not None}
        made = hs.task_for(task, list(data), loaded, **options)
        result = hs.ablate(
            hs.with_head(loaded, made.head, allow_pickle=common.allow_pickle),
            made,
            sweep=sweep,
            how=edit,
            atlas=kinds,
            k=k,
            order=order,
            limit=limit,
            correction=correction,
            renormalise=renormalise,
            random_orders=random_orders,
            steps=steps,
            **common.run_options,
        )
        run.keep(result)
        run.tell(result, _facts, _print)


KINDS = ("types", "pairs-of-types", "sentence-masks")
USED_BY = {
    "order": ("cumulative",),
    "random_orders": ("cumulative",),
    "steps": ("cumulative",),
    "renormalise": ("sentence-masks",),
    "edit": ("heads", "layers", "types", "pairs-of-types", "cumulative"),
    "k": KINDS,
    "atlas": (*KINDS, "cumulative"),
}
"""The sweeps that an option does something in."""


def _check_used(context: typer.Context, sweep: str) -> None:
    """Refuse an option that the sweep would ignore."""
    for name, sweeps in USED_BY.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and sweep not in sweeps:
            option = f"--{name.replace('_', '-')}"
            raise OptionError(f"{option} is for --sweep {' or '.join(sweeps)}; {sweep} does not use it")


def _facts(found: "Ablations") -> dict[str, Any]:
    """What a script wants to know."""
    return {"model": found.model.name, "sweep": found.origin.sweep, **found.facts(), "edits": found.table()}


def _print(console: Console, found: "Ablations") -> None:
    facts = found.facts()
    console.print(
        f"{found.model.name}, {facts['task']} on {facts['data']}: {facts['examples']:,} examples of "
        f"{facts['documents']:,} independent text{'' if facts['documents'] == 1 else 's'}, {facts['duration_s']:.1f} s",
        soft_wrap=True,
    )
    told = []
    for metric in found.metrics:
        low, high = facts["baseline_interval"][metric.name]
        value = facts["baseline"][metric.name]
        told.append(
            f"{metric.name} {_number(value, metric)} ({_number(low, metric)} to {_number(high, metric)})"
        )
    console.print(f"untouched: {', '.join(told)}", soft_wrap=True)
    if facts["types_from"]:
        kinds = ", ".join(f"{len(heads)} {name}" for name, heads in facts["types"].items())
        console.print(f"kinds of heads, from {facts['types_from']}: {kinds}", soft_wrap=True)
    if facts["ordered_by"]:
        console.print(f"order: {facts['ordered_by']}, least first", soft_wrap=True)
    console.print()
    chosen, title = _chosen(found)
    console.print(title, style="bold", soft_wrap=True)
    header = [
        "edit",
        "heads",
        *(column for metric in found.metrics for column in (metric.name, "change", "95 %")),
    ]
    print_table(console, header, [_row(found, one) for one in chosen])
    console.print()
    console.print(_verdict(found), soft_wrap=True)


def _chosen(found: "Ablations") -> tuple[Sequence["Ablation"], str]:
    """All edits of kinds and curves; of many heads, those that change the task's main metric most."""
    how = found.origin.how
    if len(found.edits) <= MOST_IN_FULL or found.kinds or found.curve is not None:
        return found.edits, f"edits ({how}); * is significant"
    names = [metric.name for metric in found.metrics]
    main = "f1" if names[:2] == ["em", "f1"] else names[0]

    def size(one: "Ablation") -> tuple[float, float]:
        return abs(one.changes[main].value), abs(one.changes[names[-1]].value)

    ranked = [one for one in sorted(found.edits, key=size, reverse=True) if size(one) != (0, 0)][:SHOWN]
    return (
        ranked,
        f"the {len(ranked)} of {len(found.edits)} edits ({how}) that change {main} most; * is significant",
    )


def _row(found: "Ablations", one: "Ablation") -> list[str]:
    cells = [one.edit.name, str(len(one.edit.heads))]
    for metric in found.metrics:
        change = one.changes[metric.name]
        mark = " *" if found.is_significant(metric.name, one.edit.name) else ""
        cells += [
            _number(one.values[metric.name], metric),
            f"{change.value:+z.{metric.digits}f}{mark}",
            "-"
            if math.isnan(change.low)
            else f"{_number(change.low, metric)} to {_number(change.high, metric)}",
        ]
    return cells


def _number(value: float, metric: "Metric") -> str:
    return f"{value:z.{metric.digits}f}"


def _verdict(found: "Ablations") -> str:
    parts = []
    for metric in found.metrics:
        count = sum(found.is_significant(metric.name, one.edit.name) for one in found.edits)
        parts.append(f"{count} of {len(found.edits)} for {metric.name}")
    how = "without correction" if found.correction == "none" else f"after correction ({found.correction})"
    return f"significant changes {how}: {', '.join(parts)}"
