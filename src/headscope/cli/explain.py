"""`headscope explain`: why a head does what it does."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import headscope as hs
from headscope.cli.console import only_own_notes, print_json, print_notes, status, stdout
from headscope.cli.explain_page import print_head
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
    batch_size_of,
    check_output,
    existing_atlas,
)

if TYPE_CHECKING:
    from headscope.explanation import Explanation

EXAMPLE = "Example: headscope explain demo --head 2.5 --text articles.txt --limit 40 -o atlas.nc"


class ExplainCommand(ManyValuesCommand):
    """A command that says in which order it is typed."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What is needed, in order, for the usage line."""
        return ["MODEL", "--head HEAD...", "--text FILE...", "[OPTIONS]"]


def explain(
    model: ModelName,
    *,
    head: Annotated[
        list[str],
        typer.Option(
            "--head",
            metavar="HEAD...",
            show_default=False,
            help="layer.head from 0, such as 7.4; 7.* for a layer, all for all; 'decoder 2.3' where there are several "
            "stacks.",
        ),
    ],
    text: Annotated[
        list[Path],
        typer.Option("--text", metavar="FILE...", show_default=False, help="Text or pairs, as for analyze."),
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
        int | None, typer.Option(min=2, metavar="N", help="Stop after N segments or pairs.")
    ] = None,
    max_length: Annotated[
        int, typer.Option(min=1, metavar="N", help="Most tokens in one segment, special ones included.")
    ] = 128,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the random neurons to compare with.")] = 0,
    batch_size: BatchSize = "auto",
    device: Device = "auto",
    dtype: Dtype = "auto",
    revision: Revision = None,
    allow_pickle: AllowPickle = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Say why heads do what they do.

    How few products of query and key neurons carry a head's score, which neurons tell the query's own sentence and
    [SEP] from other keys, and what of its pattern is left when embeddings are replaced by their mean.
    """
    if output is not None:
        check_output(output, option="-o", kind=ATLAS, inputs=text)
    shown = not (quiet or json)
    with only_own_notes(debug=debug) as notes:
        corpus = hs.read_text(*text)
        existing = existing_atlas(output)
        with status(f"loading {model}", shown=shown):
            loaded = hs.load(model, revision=revision, device=device, dtype=dtype, allow_pickle=allow_pickle)
        if existing is not None:
            existing.check_model(loaded.name, loaded.weights_hash)
        result = hs.explain(
            loaded,
            head,
            corpus,
            max_length=max_length,
            limit=limit,
            batch_size=batch_size_of(batch_size),
            seed=seed,
            progress=shown,
        )
        if output is not None:
            result.to_atlas(existing).save(output)
    notes = [*notes, *result.source.notes]
    if json:
        print_json({"output": None if output is None else str(output), **_facts(result), "notes": notes})
    elif shown:
        print_notes(notes)
        _print(stdout(), result)
        if output is not None:
            done = "written to" if existing is None else "added to"
            stdout().print(f"\n{done} {output}; next: headscope show {output} pattern_left", soft_wrap=True)


def _facts(result: "Explanation") -> dict[str, Any]:
    """What a script wants to know."""
    source = result.source
    return {
        "model": result.model.name,
        "data": source.data,
        "texts": source.texts,
        "documents": source.documents,
        "tokens": source.tokens,
        "texts_cut": source.texts_cut,
        "options": dict(source.options),
        "duration": source.duration,
        "replaceable": list(result.replaceable),
        "heads": [{"stack": stack, **row} for stack in result.arrays() for row in result.table(stack=stack)],
    }


def _print(console: Console, result: "Explanation") -> None:
    source, stacks = result.source, list(result.arrays())
    console.print(
        f"{result.model.name} on {source.data}: {source.texts:,} texts, {source.tokens:,} tokens, "
        f"{source.duration:.1f} s; ± is the standard error over texts",
        soft_wrap=True,
    )
    for stack in stacks:
        for row in result.table(stack=stack):
            console.print()
            print_head(console, row, stack=stack if len(result.stacks.grids) > 1 else None)
