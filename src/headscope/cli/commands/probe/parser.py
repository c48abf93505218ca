"""`headscope probe parser`: how much syntax all heads together hold."""

from pathlib import Path
from typing import Annotated

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.commands.probe.run import tell
from headscope.cli.session import session

EXAMPLE = "Example: headscope probe parser demo --train train.conllu --dev dev.conllu --test test.conllu"

GIGABYTE = 1 << 30


@shared.with_common
def parser(
    model: shared.ModelName,
    *,
    train: Annotated[list[Path], shared.option("What the probes learn from.", "FILE.conllu...")],
    test: Annotated[list[Path], shared.option("What all parsers are scored on.", "FILE.conllu...")],
    dev: Annotated[
        list[Path] | None,
        shared.option(
            "What decides when learning stops. Without it: every tenth document of --train, held out.",
            "FILE.conllu...",
        ),
    ] = None,
    vectors: Annotated[
        str,
        shared.option(
            "Word vectors: a GloVe or word2vec text file, or the model's own input embeddings.", "FILE|model"
        ),
    ] = "model",
    output: shared.Output = None,
    stack: shared.Stack = None,
    seed: Annotated[int, shared.seed("learning")] = 0,
    max_epochs: Annotated[int, shared.option("Most rounds over --train.", "N", least=1)] = 30,
    cache_limit: Annotated[
        float,
        shared.option(
            "Most disk space for the attention of --train; what does not fit is computed again in every "
            "round.",
            "GB",
            least=0,
            most=1e6,
        ),
    ] = 4.0,
    annotate: shared.Annotate = None,
    common: shared.Common,
) -> None:
    """Train parsers on all heads together.

    With attention alone, and with attention and words, beside their baselines in one table.
    """
    with session(common, output, inputs=[*train, *test, *(dev or [])]) as run:
        result = hs.parser_table(
            run.load(model),
            train=shared.treebank(train, annotate),
            dev=shared.treebank(dev, annotate) if dev else None,
            test=shared.treebank(test, annotate),
            vectors=vectors if vectors == "model" else Path(vectors),
            stack=stack,
            seed=seed,
            max_epochs=max_epochs,
            cache_limit=int(cache_limit * GIGABYTE),
            **common.probe_options,
        )
        tell(run, result)
