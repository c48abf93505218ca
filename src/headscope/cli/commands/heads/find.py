"""`headscope find`: which head looks along arrows between words."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.results import print_tables, source_facts, source_line, stack_rows
from headscope.cli.session import session

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.search import Search


@shared.with_common(without=shared.ENGINE)
def find(
    model: shared.ModelName,
    *,
    arrows: list[Path],
    output: shared.Output = None,
    permutations: int = 1000,
    seed: Annotated[int, shared.seed("the random targets")] = 0,
    common: shared.Common,
) -> None:
    """Find the head that looks along arrows you draw between words.

    Ranks heads by their attention along the arrows minus that to other words at the same distance, with p values
    corrected for all heads. "No head does this" is a possible answer.
    """
    with session(common, output, inputs=arrows) as run:
        result = hs.find(
            run.load(model),
            hs.read_arrows(*arrows),
            permutations=permutations,
            seed=seed,
            **common.probe_options,
        )
        run.keep(result)
        run.tell(result, _facts, _print)


def _facts(result: "Search") -> dict[str, Any]:
    return {
        "model": result.model.name,
        **source_facts(result.source),
        "answers": [
            {
                "stack": stack,
                "head": None if found.best is None else str(found.best),
                "sentences": list(result.answer(stack=stack).sentences),
                "held_out": dict(zip(("score", "low", "high"), found.held_out, strict=True)),
            }
            for stack, found in result.stacks.items()
        ],
        "rows": stack_rows(result, result.heads),
    }


def _print(page: "Page", result: "Search") -> None:
    for stack in result.stacks:
        page.say(*result.answer(stack=stack).sentences)
        print_tables(page, result, stack)
    page.say(f"\n{result.model.name} on {source_line(result.source)}")
