"""`headscope probe parser`: parsers trained on the attention of all heads together, and their baselines."""

from pathlib import Path
from typing import Annotated

from headscope.cli import options as shared
from headscope.cli import usage
from headscope.cli.results import tell
from headscope.cli.session import session

GIGABYTE = 1 << 30


@shared.with_common
def parser(
    model: shared.ModelName,
    *,
    train: list[Path],
    test: list[Path],
    dev: list[Path] | None = None,
    vectors: str = "model",
    limit: Annotated[int | None, shared.limit("sentences of each file", least=2)] = None,
    output: shared.Output = None,
    stack: shared.Stack = None,
    seed: Annotated[int, shared.seed("training")] = 0,
    max_epochs: int = 30,
    cache_limit: float = 4.0,
    annotate: shared.Annotate = None,
    weigh: shared.Weigh = "looked",
    common: shared.Common,
) -> None:
    """Train parsers on all heads together.

    One parser sees attention alone, one attention and words; their baselines are in the same table.

    Options:
        train FILE.conllu...: Train on these sentences.
        test FILE.conllu...: Score all parsers on these.
        dev FILE.conllu...: Stop training by the score on these; by default every tenth document of --train, held out.
        vectors FILE|model: Word vectors: a GloVe or word2vec text file, or the model's own input embeddings.
        max_epochs N>=1: Maximum epochs over --train.
        cache_limit GB>=0<=1000000: Maximum disk space for the attention of --train; the rest is recomputed every epoch.
    """
    from headscope_papers import parser_table  # loads torch, which --help does without

    with session(common, output, inputs=[*train, *test, *(dev or [])]) as run:
        result = parser_table(
            run.load(model),
            train=shared.treebank(train, annotate),
            dev=shared.treebank(dev, annotate) if dev else None,
            test=shared.treebank(test, annotate),
            vectors=vectors if vectors == "model" else Path(vectors),
            stack=stack,
            seed=seed,
            max_epochs=max_epochs,
            cache_limit=int(cache_limit * GIGABYTE),
            limit=limit,
            weigh=weigh,
            **common.probe_options,
        )
        tell(run, result)


app = usage.single(
    "parser",
    parser,
    "headscope probe parser demo --train train.conllu --dev dev.conllu --test test.conllu",
)
