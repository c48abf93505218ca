"""`headscope importance`: what a task's loss says of attention, by gradients."""

from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.cli.tables import print_table
from headscope.cli.tables.columns import shown
from headscope.cli.tables.source import source_facts, source_line, stack_rows

if TYPE_CHECKING:
    from headscope.importance import Agreement, ImportanceResult

EXAMPLE = "Example: headscope importance demo --task mlm --data articles.txt --limit 100 -o atlas.nc"

SHOWN_HEADS = 10


@shared.with_common
def importance(
    model: shared.ModelName,
    *,
    task: shared.TaskName,
    data: shared.TaskData,
    output: shared.Output = None,
    limit: Annotated[int | None, shared.examples_limit()] = None,
    max_length: shared.TaskMaxLength = None,
    stride: shared.Stride = None,
    common: shared.Common,
) -> None:
    """Weigh heads by the gradient of a task's loss.

    The size of the gradient with respect to attention weights by what is looked at, attention times gradient, and how
    fast the loss changes as each head is turned down. Where the atlas has ablations, how well both agree.
    """
    shared.check_stride(stride, task)
    with session(common, output, inputs=data) as run:
        loaded = run.load(model)
        # Loads torch and transformers, which --help does without.
        from headscope.importance import agreement
        from headscope.tasks import TASKS

        options = {"max_length": max_length, "stride": stride}
        headed = hs.with_head(loaded, TASKS.get(task).head, allow_pickle=common.allow_pickle)
        made = hs.task_for(
            task, data, headed, **{name: value for name, value in options.items() if value is not None}
        )
        result = hs.gradient_importance(headed, made, limit=limit, **common.run_options)
        atlas = result.to_atlas(run.existing)
        if output is not None:
            atlas.save(output)
        run.notes.extend(result.source.notes)
        found = agreement(atlas)
        run.tell(
            result,
            lambda result: _facts(result, found),
            lambda console, result: _print(console, atlas, result, found),
        )


def _facts(result: "ImportanceResult", found: "list[Agreement]") -> dict[str, Any]:
    return {
        "model": result.model.name,
        **source_facts(result.source),
        "loss": result.loss,
        "loss_stderr": result.loss_stderr,
        "layers": stack_rows(result, result.table),
        "heads": stack_rows(result, result.heads),
        "agreement": [vars(agreement) for agreement in found],
    }


def _print(console: Console, atlas: "hs.Atlas", result: "ImportanceResult", found: "list[Agreement]") -> None:
    source = result.source
    loss = f"loss {result.loss:.3f} ± {result.loss_stderr:.3f}"
    console.print(
        f"{result.model.name}, {source.options['task']} on {source_line(source)}; {loss}", soft_wrap=True
    )
    for stack in result.arrays():
        console.print()
        if len(result.arrays()) > 1:
            console.print(stack, style="bold")
        _print_stack(console, atlas, result, stack)
    if found:
        console.print()
    for one in found:
        about = f"{one.edit}; {one.metric} {one.change}" + ("" if one.same_data else "; other data")
        console.print(
            f"importance and ablation ({about}): Spearman's {one.rho:.2f} over {one.heads} heads of the {one.stack}, "
            f"95 % interval {one.low:.2f} to {one.high:.2f}, p {one.p:.2g}",
            soft_wrap=True,
        )


def _print_stack(console: Console, atlas: "hs.Atlas", result: "ImportanceResult", stack: str) -> None:
    from headscope.facts.vocabulary import key_name
    from headscope.facts.wording import readable

    rows = result.table(stack=stack)
    roles = [role for role, cell in rows[0].items() if isinstance(cell, dict)]
    roles = [role for role in roles if any(row[role]["gradient"] is not None for row in rows)]
    units = result.arrays()[stack]["gradient"].units
    most = max(row[role]["gradient"] or 0.0 for row in rows for role in roles)
    factor, unit = readable(most, units)
    console.print(
        f"mean |dLoss/dA| by what is looked at, {unit}, ± standard error over texts", soft_wrap=True
    )
    cells = [
        [str(row["layer"]), *(_shown(row[role]["gradient"], row[role]["stderr"], factor) for role in roles)]
        for row in rows
    ]
    print_table(console, ["layer", *(key_name(atlas, stack, role) for role in roles)], cells)
    heads = result.heads(stack=stack)
    factor, unit = readable(heads[0]["importance"], units)
    console.print(f"\nmost important heads, {unit}, ± standard error over texts", soft_wrap=True)
    cells = [[row["head"], _shown(row["importance"], row["stderr"], factor)] for row in heads[:SHOWN_HEADS]]
    print_table(console, ["head", "importance"], cells)


def _shown(value: float | None, stderr: float | None, factor: float) -> str:
    scaled = (None if number is None else factor * number for number in (value, stderr))
    return shown(*scaled, decimals=2)
