"""`headscope importance`: what a task's loss says of attention, by gradients."""

from typing import TYPE_CHECKING, Annotated, Any

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.results import source_facts, source_line, stack_rows
from headscope.cli.session import session

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.importance import ImportanceResult


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
    """Rank heads by the gradient of a task's loss.

    Reports the gradient with respect to attention weights by kind of key, attention times gradient, and how fast the
    loss changes as each head is turned down. Where the atlas has ablations, says whether both agree.
    """
    with session(common, output, inputs=data) as run:
        headed, made = run.load_task(model, task, data, max_length=max_length, stride=stride)
        result = hs.gradient_importance(headed, made, limit=limit, **common.run_options)
        # Loads numpy, which --help does without.
        from headscope.atlas import update

        atlas = update(output, result.to_atlas) if output is not None else result.to_atlas()
        run.notes.extend(result.source.notes)
        run.tell(
            result,
            lambda result: _facts(result, atlas),
            lambda page, result: _print(page, result, atlas),
        )


def _facts(result: "ImportanceResult", atlas: "hs.Atlas") -> dict[str, Any]:
    # Loads scipy, which --help does without.
    from headscope.facts.analyses.importance import agreement

    return {
        "model": result.model.name,
        **source_facts(result.source),
        "loss": result.loss,
        "loss_stderr": result.loss_stderr,
        "layers": stack_rows(result, result.table),
        "heads": stack_rows(result, result.heads),
        "agreement": [vars(agreed) for agreed in agreement(atlas)],
    }


def _print(page: "Page", result: "ImportanceResult", atlas: "hs.Atlas") -> None:
    from headscope.facts.analyses.importance import agreement, head_table, layer_table

    source, several = result.source, len(result.arrays()) > 1
    loss = f"loss {result.loss:.3f} ± {result.loss_stderr:.3f}"
    page.say(
        result.in_brief(), f"{result.model.name}, {source.options['task']} on {source_line(source)}; {loss}"
    )
    for agreed in agreement(atlas):
        page.say(f"{f'In the {agreed.stack}: ' if several else ''}{agreed}")
    for stack in result.arrays():
        if several:
            page.say(f"\n{stack}", bold=True)
        for table in (head_table(atlas, stack), layer_table(atlas, stack)):
            page.table(table.columns, table.rows, title=table.caption, detail=table.columns[0] == "layer")
