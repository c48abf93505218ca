"""`headscope writes`: what heads write into the output of a decoder."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.results import print_result, result_facts
from headscope.cli.session import session

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.types import HeadId
    from headscope.writing import WritesResult


@shared.with_common(without=shared.ENGINE)
def writes(
    model: shared.ModelName,
    *,
    text: list[Path],
    head: list[str] | None = None,
    output: shared.Output = None,
    limit: shared.Limit = None,
    max_length: shared.MaxLength = 128,
    common: shared.Common,
) -> None:
    """Measure what heads write into the output.

    Reports every head's direct effect on the logits of the token it attends to, of the token that comes next and of the
    current token, each against a control, and copying and composition scores from the weights.
    """
    from headscope.types import HeadId  # loads numpy, which --help does without

    wanted = [HeadId.parse(name) for name in head or []]
    with session(common, output, inputs=text) as run:
        loaded = run.load(model)
        result = hs.writes(
            loaded, hs.read_text(*text), limit=limit, max_length=max_length, **common.run_options
        )
        run.keep(result)
        run.tell(
            result,
            lambda result: {**result_facts(result), "written": [_tokens(result, head) for head in wanted]},
            lambda page, result: _print(page, result, wanted),
        )


def _tokens(result: "WritesResult", head: "HeadId") -> dict[str, Any]:
    raised, lowered = result.tokens(head)
    return {
        "head": str(head),
        "raised": [vars(token) for token in raised],
        "lowered": [vars(token) for token in lowered],
    }


def _print(page: "Page", result: "WritesResult", heads: "Sequence[HeadId]") -> None:
    print_result(page, result)
    for head in heads:
        raised, lowered = result.tokens(head)
        copies = result.weights.copying
        page.say(
            f"\nHead {head}"
            + ("" if copies is None else f", copying from its weights {copies[head.layer, head.head]:+.2f}"),
            f"raises  {', '.join(f'{token.token!r} {token.effect:+.2f}' for token in raised)}",
            f"lowers  {', '.join(f'{token.token!r} {token.effect:+.2f}' for token in lowered)}",
        )
