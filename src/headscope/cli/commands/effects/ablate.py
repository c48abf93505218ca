"""`headscope ablate`: edit heads, layers or kinds of heads, and see what each does to a task."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.ablation import Ablations
    from headscope.cli.page import Page
    from headscope.facts.analyses.sweeps import SweepFacts

SHOWN = 10
MOST_IN_FULL = 30


@shared.with_common
def ablate(
    model: shared.ModelName,
    *,
    task: shared.TaskName,
    data: shared.TaskData,
    sweep: Literal["heads", "layers", "types", "pairs-of-types", "sentence-masks", "cumulative"] = "heads",
    edit: Literal["zero", "uniform", "mean"] = "zero",
    atlas: Path | None = None,
    output: shared.Output = None,
    limit: Annotated[int | None, shared.examples_limit(", spread evenly over them")] = None,
    k: int = 4,
    order: Literal["importance", "effect", "random"] = "importance",
    random_orders: int = 5,
    steps: int = 10,
    correction: Literal["holm", "benjamini-hochberg", "none"] = "holm",
    renormalise: bool = False,
    max_length: shared.TaskMaxLength = None,
    stride: shared.Stride = None,
    common: shared.Common,
) -> None:
    """Edit heads and measure what a task loses.

    Compares every edit with the unedited model on the same examples: the change of each metric, its 95 % confidence
    interval, and whether it is significant after correction for all edits.
    """
    _check_used(common.context, sweep)
    with session(common, output, inputs=data) as run:
        kinds = None if atlas is None else hs.open(atlas)
        headed, made = run.load_task(model, task, data, max_length=max_length, stride=stride)
        result = hs.ablate(
            headed,
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


def _facts(result: "Ablations") -> dict[str, Any]:
    """What a script wants to know."""
    return {
        "model": result.model.name,
        "sweep": result.origin.sweep,
        **result.facts(),
        "edits": result.table(),
    }


def _print(page: "Page", result: "Ablations") -> None:
    sweep = result.described()
    brief = result.in_brief()
    page.say(brief, f"{result.model.name}, {result.baseline.task}, {result.source.duration:.1f} s")
    page.say(*(sentence for sentence in sweep.sentences if sentence.removesuffix(".") not in brief))
    rows, title = _chosen(sweep)
    page.table(sweep.columns, [sweep.cells(row) for row in rows], title=title)


def _chosen(sweep: "SweepFacts") -> tuple[Sequence[Mapping[str, Any]], str]:
    """All edits of kinds and curves; of many heads, those that change the task's main metric most."""
    how = sweep.facts["edit"]
    if len(sweep.rows) <= MOST_IN_FULL or sweep.name not in ("heads", "layers"):
        return sweep.rows, f"edits ({how}); * is significant"
    main, last = sweep.metric().name, list(sweep.metrics)[-1]

    def size(row: Mapping[str, Any]) -> tuple[float, float]:
        return abs(row["change"][main]), abs(row["change"][last])

    ranked = [row for row in sorted(sweep.rows, key=size, reverse=True) if size(row) != (0, 0)][:SHOWN]
    return (
        ranked,
        f"the {len(ranked)} of {len(sweep.rows)} edits ({how}) that change {main} most; * is significant",
    )
