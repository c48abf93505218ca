"""`headscope explain`: why a head does what it does."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.results import source_facts, source_line, stack_rows
from headscope.cli.session import session

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.explanation import Explanation
    from headscope.facts.analyses.explanations import Carried, HeadExplanation, Replaced, Separated
    from headscope.facts.description import Column


@shared.with_common(without=shared.ENGINE)
def explain(
    model: shared.ModelName,
    *,
    head: list[str],
    text: list[Path],
    output: shared.Output = None,
    limit: Annotated[int | None, shared.limit("segments or pairs", least=2)] = None,
    max_length: shared.MaxLength = 128,
    seed: Annotated[int, shared.seed("the random neurons of the control")] = 0,
    weigh: Literal["looked", "moved"] = "looked",
    common: shared.Common,
) -> None:
    """Explain what makes a head's pattern.

    Reports how few products of query and key neurons carry a head's score, which neurons distinguish the query's own
    sentence and [SEP] from other keys, and what remains of the pattern when embeddings are replaced by their mean.
    """
    with session(common, output, inputs=text) as run:
        corpus = hs.read_text(*text)
        result = hs.explain(
            run.load(model),
            head,
            corpus,
            max_length=max_length,
            limit=limit,
            seed=seed,
            weigh=weigh,
            **common.run_options,
        )
        run.keep(result)
        run.tell(result, _facts, _print, then="show pattern_left")


def _facts(result: "Explanation") -> dict[str, Any]:
    return {
        "model": result.model.name,
        **source_facts(result.source, "skipped"),
        "replaceable": list(result.replaceable),
        "heads": stack_rows(result, result.table),
    }


def _print(page: "Page", result: "Explanation") -> None:
    """A head in a few sentences each; with --full also the numbers behind them."""
    page.say(
        result.in_brief(),
        f"{result.model.name} on {source_line(result.source)}; ± is the standard error over texts",
    )
    for stack in result.arrays():
        of_stack = f" of the {stack}" if len(result.stacks.grids) > 1 else ""
        for row in result.heads(stack=stack):
            page.say(f"\nHead {row.head}{of_stack}", bold=True)
            _print_head(page, row)


def _print_head(page: "Page", row: "HeadExplanation") -> None:
    """What carries the score, what it tells apart, and what of the pattern is left."""
    from headscope.facts.analyses.explanations import CARRIES, LEFT, SEPARATES, columns_of
    from headscope.facts.wording import amount

    page.say(*row.words)
    page.say(
        f"Both halves of the texts agree on {row.alike} of the best {len(row.best)} neurons.", detail=True
    )
    if row.bias is not None and row.bias.value is not None:
        bias = amount(row.bias.value, row.bias.stderr, units="", digits=3)
        page.say(f"The bias for position alone carries {bias} of its score.")
    compared = [part for part in row.left if part.js.value is not None]
    tables: dict[str, tuple[Sequence[Column], Sequence[Carried | Separated | Replaced]]] = {
        f"What carries the score: the best of {row.neurons} products of query and key neurons": (
            CARRIES,
            row.carries,
        ),
        "What the score separates: AUC, 0.5 is chance; 95 % intervals for all neurons at once": (
            SEPARATES,
            row.told,
        ),
        "What is left of the pattern with embeddings replaced by their mean: 1 is all, 0 is even attention": (
            LEFT,
            compared,
        ),
    }
    for title, (columns, parts) in tables.items():
        page.rows(columns, [columns_of(part) for part in parts], title=title, detail=True)
