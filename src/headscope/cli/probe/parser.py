"""`headscope probe parser`: how much syntax all heads together hold."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import headscope as hs
from headscope.cli.options import ModelName
from headscope.cli.probe.columns import count, percent, percent_interval, signed, words
from headscope.cli.probe.common import Common, with_common
from headscope.cli.probe.options import Annotate, Output, Stack, treebank
from headscope.cli.probe.session import Session

if TYPE_CHECKING:
    from headscope.probes.result import ProbeResult

EXAMPLE = "Example: headscope probe parser demo --train train.conllu --dev dev.conllu --test test.conllu"

COLUMNS = [
    words("parser", "parser"),
    percent("UAS %", "uas"),
    percent_interval("95 % interval", "low", "high"),
    count("words", "cases"),
    percent("UAS % but roots", "uas_headed"),
    signed("offset", "offset"),
    percent("UAS % on dev", "dev_uas"),
    count("epochs", "epochs"),
]
GIGABYTE = 1 << 30


@with_common
def parser(
    model: ModelName,
    *,
    train: Annotated[
        list[Path],
        typer.Option(metavar="FILE.conllu...", show_default=False, help="What the probes learn from."),
    ],
    test: Annotated[
        list[Path],
        typer.Option(metavar="FILE.conllu...", show_default=False, help="What all parsers are scored on."),
    ],
    dev: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.conllu...",
            help="What decides when learning stops. Without it: every tenth document of --train, held out.",
        ),
    ] = None,
    vectors: Annotated[
        str,
        typer.Option(
            metavar="FILE|model",
            help="Word vectors: a GloVe or word2vec text file, or the model's own input embeddings.",
        ),
    ] = "model",
    output: Output = None,
    stack: Stack = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Where learning starts from.")
    ] = 0,
    max_epochs: Annotated[int, typer.Option(min=1, metavar="N", help="Most rounds over --train.")] = 30,
    cache_limit: Annotated[
        float,
        typer.Option(
            min=0,
            max=1e6,
            metavar="GB",
            help="Most disk space for the attention of --train; what does not fit is computed again in every round.",
        ),
    ] = 4.0,
    annotate: Annotate = None,
    common: Common,
) -> None:
    """Train parsers on all heads together.

    With attention alone, and with attention and words, beside their baselines in one table.
    """
    given = [*train, *test, *(dev or [])]
    session = Session(model, output, given, common)

    def run(loaded: "hs.Model") -> "ProbeResult":
        return hs.parser_table(
            loaded,
            train=treebank(train, annotate),
            dev=treebank(dev, annotate) if dev else None,
            test=treebank(test, annotate),
            vectors=vectors if vectors == "model" else Path(vectors),
            stack=stack,
            seed=seed,
            max_epochs=max_epochs,
            cache_limit=int(cache_limit * GIGABYTE),
            **common.probe_options,
        )

    session.run(run, COLUMNS)
