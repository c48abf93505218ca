"""`headscope importance`: what a task's loss says of attention, by gradients."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

import headscope as hs
from headscope.cli.console import only_own_notes, print_json, print_notes, status, stdout
from headscope.cli.many_values import ManyValuesCommand
from headscope.cli.options import (
    ATLAS,
    AllowPickle,
    BatchSize,
    Debug,
    Device,
    Dtype,
    Json,
    ModelName,
    Quiet,
    Revision,
    Stride,
    TaskMaxLength,
    batch_size_of,
    check_output,
    check_stride,
    existing_atlas,
)
from headscope.cli.tables import print_table

if TYPE_CHECKING:
    from headscope.importance import Agreement, ImportanceResult

EXAMPLE = "Example: headscope importance demo --task mlm --data articles.txt --limit 100 -o atlas.nc"

SHOWN_HEADS = 10

TaskName = Literal["mlm", "lm", "qa", "classification", "regression"]


class ImportanceCommand(ManyValuesCommand):
    """A command that says in which order it is typed."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What is needed, in order, for the usage line."""
        return ["MODEL", "--task NAME", "--data FILE...", "[OPTIONS]"]


def importance(
    model: ModelName,
    *,
    task: Annotated[
        TaskName,
        typer.Option(
            show_default=False,
            help="Whose loss: masked tokens, the next token, answers to questions, classes or scores of texts.",
        ),
    ],
    data: Annotated[
        list[Path],
        typer.Option(
            "--data",
            metavar="FILE...",
            show_default=False,
            help="Text for mlm and lm, SQuAD's JSON for qa, labelled .tsv or .jsonl for the others.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT.nc",
            help="Write what is found here, or add it to the atlas of the same model that is there.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Take N examples of the data only.")
    ] = None,
    max_length: TaskMaxLength = None,
    stride: Stride = None,
    batch_size: BatchSize = "auto",
    device: Device = "auto",
    dtype: Dtype = "auto",
    revision: Revision = None,
    allow_pickle: AllowPickle = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Weigh heads by the gradient of a task's loss.

    The size of the gradient with respect to attention weights by what is looked at, attention times gradient, and how
    fast the loss changes as each head is turned down. Where the atlas has ablations, how well both agree.
    """
    if output is not None:
        check_output(output, option="-o", kind=ATLAS, inputs=data)
    check_stride(stride, task)
    shown = not (quiet or json)
    with only_own_notes(debug=debug) as notes:
        existing = existing_atlas(output)
        with status(f"loading {model}", shown=shown):
            loaded = hs.load(model, revision=revision, device=device, dtype=dtype, allow_pickle=allow_pickle)
        if existing is not None:
            existing.check_model(loaded.name, loaded.weights_hash)
        result = _run(
            loaded,
            task,
            data,
            limit=limit,
            max_length=max_length,
            stride=stride,
            batch_size=batch_size,
            allow_pickle=allow_pickle,
            shown=shown,
        )
        atlas = result.to_atlas(existing)
        if output is not None:
            atlas.save(output)
    found = _agreement(atlas)
    notes = [*notes, *result.source.notes]
    if json:
        print_json(
            {"output": None if output is None else str(output), **_facts(result, found), "notes": notes}
        )
    elif shown:
        print_notes(notes)
        _print(stdout(), atlas, result, found)
        if output is not None:
            done = "written to" if existing is None else "added to"
            stdout().print(f"\n{done} {output}; next: headscope report {output}", soft_wrap=True)


def _run(
    loaded: "hs.Model",
    task: str,
    data: list[Path],
    *,
    limit: int | None,
    max_length: int | None,
    stride: int | None,
    batch_size: str,
    allow_pickle: bool,
    shown: bool,
) -> "ImportanceResult":
    # Loads torch and transformers, which --help does without.
    from headscope.tasks import TASKS, task_for, with_head
    from headscope.tasks.language import LanguageModelling

    kind = TASKS.get(task)
    options: dict[str, object] = {"max_length": max_length}
    if stride is not None:
        options["stride"] = stride
    if issubclass(kind, LanguageModelling):  # which then reads no further than it needs
        options["limit"] = limit
    headed = with_head(loaded, kind.head, allow_pickle=allow_pickle)
    return hs.gradient_importance(
        headed,
        task_for(task, data, headed, **options),
        limit=limit,
        batch_size=batch_size_of(batch_size),
        progress=shown,
    )


def _agreement(atlas: "hs.Atlas") -> "list[Agreement]":
    from headscope.importance import agreement  # loads torch, which --help does without

    return agreement(atlas)


def _facts(result: "ImportanceResult", found: "list[Agreement]") -> dict[str, Any]:
    """What a script wants to know."""
    source = result.source
    return {
        "model": result.model.name,
        "data": source.data,
        "texts": source.texts,
        "documents": source.documents,
        "tokens": source.tokens,
        "texts_cut": source.texts_cut,
        "skipped": source.skipped,
        "options": dict(source.options),
        "duration": source.duration,
        "loss": result.loss,
        "loss_stderr": result.loss_stderr,
        "layers": [{"stack": stack, **row} for stack in result.arrays() for row in result.table(stack=stack)],
        "heads": [{"stack": stack, **row} for stack in result.arrays() for row in result.heads(stack=stack)],
        "agreement": [vars(one) for one in found],
    }


def _print(console: Console, atlas: "hs.Atlas", result: "ImportanceResult", found: "list[Agreement]") -> None:
    source = result.source
    console.print(
        f"{result.model.name}, {source.options['task']} on {source.data}: {source.texts:,} texts, "
        f"{source.tokens:,} tokens, {source.duration:.1f} s; loss {result.loss:.3f} ± {result.loss_stderr:.3f}",
        soft_wrap=True,
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
    header = ["layer", *(key_name(atlas, stack, role) for role in roles)]
    print_table(
        console,
        header,
        [
            [
                str(row["layer"]),
                *(_shown(row[role]["gradient"], row[role]["stderr"], factor) for role in roles),
            ]
            for row in rows
        ],
    )
    heads = result.heads(stack=stack)
    factor, unit = readable(heads[0]["importance"], units)
    console.print(f"\nmost important heads, {unit}, ± standard error over texts", soft_wrap=True)
    print_table(
        console,
        ["head", "importance"],
        [[row["head"], _shown(row["importance"], row["stderr"], factor)] for row in heads[:SHOWN_HEADS]],
    )


def _shown(value: float | None, stderr: float | None, factor: float) -> str:
    if value is None:
        return "-"
    mean = f"{factor * value:.2f}"
    return mean if stderr is None else f"{mean} ± {factor * stderr:.2f}"
