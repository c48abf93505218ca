"""`headscope explain`: why a head does what it does."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.cli.tables.explanation import print_head
from headscope.cli.tables.source import source_facts, source_line, stack_rows

if TYPE_CHECKING:
    from headscope.explanation import Explanation

EXAMPLE = "Example: headscope explain demo --head 2.5 --text articles.txt --limit 40 -o atlas.nc"


@shared.with_common
def explain(
    model: shared.ModelName,
    *,
    head: Annotated[
        list[str],
        shared.option(
            "layer.head from 0, such as 7.4; 7.* or 'layer 7' for a layer, all for all; decoder:2.3 where "
            "there are several stacks.",
            "HEAD...",
            "--head",
            shown=False,
        ),
    ],
    text: Annotated[list[Path], shared.option("Text or pairs, as for analyze.", "FILE...", "--text")],
    output: shared.Output = None,
    limit: Annotated[int | None, shared.limit("segments or pairs", least=2)] = None,
    max_length: shared.MaxLength = 128,
    seed: Annotated[int, shared.seed("the random neurons to compare with")] = 0,
    common: shared.Common,
) -> None:
    """Say why heads do what they do.

    How few products of query and key neurons carry a head's score, which neurons tell the query's own sentence and
    [SEP] from other keys, and what of its pattern is left when embeddings are replaced by their mean.
    """
    with session(common, output, inputs=text) as run:
        corpus = hs.read_text(*text)
        result = hs.explain(
            run.load(model), head, corpus, max_length=max_length, limit=limit, seed=seed, **common.run_options
        )
        run.keep(result, notes=result.source.notes)
        run.tell(result, _facts, _print, then="show pattern_left")


def _facts(result: "Explanation") -> dict[str, Any]:
    return {
        "model": result.model.name,
        **source_facts(result.source, "skipped"),
        "replaceable": list(result.replaceable),
        "heads": stack_rows(result, result.table),
    }


def _print(console: Console, result: "Explanation") -> None:
    console.print(
        f"{result.model.name} on {source_line(result.source)}; ± is the standard error over texts",
        soft_wrap=True,
    )
    for stack in result.arrays():
        for row in result.heads(stack=stack):
            console.print()
            print_head(console, row, stack=stack if len(result.stacks.grids) > 1 else None)
