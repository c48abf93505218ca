"""`headscope known`: heads of known kinds in a decoder."""

from typing import Annotated

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.results import tell
from headscope.cli.session import session


@shared.with_common(without=shared.ENGINE)
def known(
    model: shared.ModelName,
    *,
    text: shared.TextFiles = None,
    output: shared.Output = None,
    needle: str | None = None,
    made: int = 20,
    length: int | None = None,
    trials: int = 10,
    needle_length: int | None = None,
    limit: shared.Limit = None,
    max_length: shared.MaxLength = 128,
    seed: Annotated[int, shared.seed("the random tokens")] = 0,
    common: shared.Common,
) -> None:
    """Find heads of known kinds in a decoder.

    Previous token, duplicate token, induction, the sink on the first token, copying and copy suppression, each beside a
    control: on random tokens, and with --text on natural text. With --needle also retrieval.
    """
    with session(common, output, inputs=text or []) as run:
        result = hs.known(
            run.load(model),
            hs.read_text(*text) if text else None,
            needle=needle,
            made=made,
            length=length,
            trials=trials,
            needle_length=needle_length,
            limit=limit,
            max_length=max_length,
            seed=seed,
            **common.run_options,
        )
        tell(run, result)
