"""`headscope uses`: whether the model uses what its heads find."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.results import print_tables, result_facts, source_line
from headscope.cli.session import session

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.usage import UsesResult


@shared.with_common(without=shared.ENGINE)
def uses(
    model: shared.ModelName,
    *,
    treebank: list[Path],
    relation: list[str],
    pairs: Path | None = None,
    head: list[str] | None = None,
    best: int = 3,
    output: shared.Output = None,
    limit: Annotated[int | None, shared.limit("sentences")] = None,
    annotate: shared.Annotate = None,
    seed: Annotated[int, shared.seed("random heads")] = 0,
    common: shared.Common,
) -> None:
    """Test whether the model uses a relation that heads find.

    Removes one edge, dependent to governor, in one head, and measures what the score loses: beside another edge as far
    and as strong in the same head, and beside the same edge in random heads of the layer. Heads are chosen on one half
    of the treebank and tested on the other.
    """
    inputs = [*treebank, *([pairs] if pairs else [])]
    with session(common, output, inputs=inputs) as run:
        result = hs.uses(
            run.load(model),
            shared.treebank(treebank, annotate),
            relation,
            pairs=pairs,
            heads=head or [],
            best=best,
            atlas=run.existing,
            limit=limit,
            seed=seed,
            **common.probe_options,
        )
        run.keep(result)
        run.tell(
            result,
            lambda result: {**result_facts(result), "sentences": [use.text for use in result.uses]},
            _print,
        )


def _print(page: "Page", result: "UsesResult") -> None:
    page.say(*(use.text for use in result.uses))
    page.say(f"{result.model.name} on {source_line(result.source)}")
    page.say(result.intervals(), detail=True)
    print_tables(page, result, result.grid.stack)
