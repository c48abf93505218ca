"""`headscope match`: which head of one model is which head of another."""

from typing import TYPE_CHECKING, Annotated, Any

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.results import source_facts, source_line, stack_rows
from headscope.cli.session import session

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.comparison import Matching

_NEAREST = 10


@shared.with_common(without=("revision", *shared.ENGINE))
def match(
    model_a: str,
    model_b: str,
    *,
    texts: shared.Texts,
    output: shared.Output = None,
    max_length: shared.MaxLength = 128,
    limit: Annotated[int | None, shared.limit("segments or pairs", least=4)] = None,
    seed: Annotated[int, shared.seed("the untrained network")] = 0,
    common: shared.Common,
) -> None:
    """Pair the heads of two models one to one.

    Pairs heads by the mean Jensen-Shannon divergence of their attention on the same texts, with two controls: the
    distance to an untrained network (floor) and how well both halves of the texts agree (ceiling). OUT.nc is an atlas
    of MODEL_B.
    """
    with session(common, output, inputs=texts.files) as run:
        result = hs.match(
            common.load(model_a),
            run.load(model_b),
            texts.read(),
            max_length=max_length,
            limit=limit,
            seed=seed,
            **common.run_options,
        )
        run.keep(result)
        run.tell(result, _facts, _print)


def _facts(result: "Matching") -> dict[str, Any]:
    return {
        "model_a": result.model_a.name,
        "model_b": result.model.name,
        **source_facts(result.source, "documents", "skipped"),
        "summaries": [
            {"stack": stack, **summary.counts, "sentences": list(summary.sentences)}
            for stack, summary in ((stack, result.summary(stack=stack)) for stack in result.stacks)
        ],
        "rows": stack_rows(result, result.table),
    }


def _print(page: "Page", result: "Matching") -> None:
    for stack in result.stacks:
        page.say(*result.summary(stack=stack).sentences)
        rows = result.table(stack=stack)
        telling = [number < _NEAREST for number in range(len(rows))]
        title = f"The nearest pairs; A is {result.model_a.name}, B is {result.model.name}"
        page.rows(result.description.tables[0].columns, rows, title=title, telling=telling)
    page.say(f"\non {source_line(result.source)}")
