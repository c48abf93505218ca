"""The commands of headscope's own probes: each has options of its own."""

from pathlib import Path
from typing import Annotated

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.commands.probe.run import scored, tell
from headscope.cli.session import session

EXAMPLES = {
    "dependency": "headscope probe dependency demo --treebank dev.conllu --select train.conllu -o atlas.nc",
    "coreference": "headscope probe coreference demo --data gum-dev.conllu -o atlas.nc",
    "relations": "headscope probe relations demo --data roles.jsonl -o atlas.nc",
    "features": "headscope probe features demo --treebank dev.conllu --against demo-mrpc -o atlas.nc",
    "parser": "headscope probe parser demo --train train.conllu --dev dev.conllu --test test.conllu",
}
GIGABYTE = 1 << 30


def _chosen_on(half_of: str, metavar: str = "FILE...", *, what: str = "best heads") -> object:
    """`--select`, and what is halved without it."""
    return shared.option(f"What {what} are chosen on. Without it: half of {half_of}.", metavar)


def _flag(help_text: str, name: str) -> object:
    return shared.option(help_text, None, name)


def _left_out(what: str, *, least: int = 1) -> object:
    """A limit beyond which something is left out; none by default."""
    return shared.option(f"Leave out {what}.", "N", least=least, shown=False)


@shared.with_common
def dependency(
    model: shared.ModelName,
    *,
    treebank_files: Annotated[
        list[Path], shared.option("What heads are scored on.", "FILE.conllu...", "--treebank")
    ],
    select: Annotated[
        list[Path] | None,
        _chosen_on("the documents of --treebank", "FILE.conllu...", what="best heads and offsets"),
    ] = None,
    output: shared.Output = None,
    base_relations: Annotated[
        bool, _flag("Count subtypes as their base relation: nmod:poss as nmod.", "--base-relations")
    ] = False,
    annotate: shared.Annotate = None,
    faithful: shared.FirstPiece = False,
    common: shared.Common,
) -> None:
    """Find which head tracks which relation.

    Every head guesses the syntactic head of every word, in both directions, beside fixed offsets.
    """
    with session(common, output, inputs=[*treebank_files, *(select or [])]) as run:
        probe = hs.DependencyProbe(
            run.load(model), base_relations=base_relations, faithful=faithful, **common.probe_options
        )
        tell(run, scored(probe, lambda paths: shared.treebank(paths, annotate), treebank_files, select))


@shared.with_common
def coreference(
    model: shared.ModelName,
    *,
    data: Annotated[
        list[Path],
        shared.option(
            "CoNLL-U with Entity= (CorefUD, GUM), CoNLL-2012 columns, or LitBank's CoNLL; told by content.",
            "FILE...",
        ),
    ],
    select: Annotated[list[Path] | None, _chosen_on("the documents of --data")] = None,
    output: shared.Output = None,
    faithful: shared.FirstPiece = False,
    common: shared.Common,
) -> None:
    """Find which head resolves coreference.

    Every head guesses the antecedent of every mention, beside rules that look at no attention.
    """
    with session(common, output, inputs=[*data, *(select or [])]) as run:
        probe = hs.CoreferenceProbe(run.load(model), faithful=faithful, **common.probe_options)
        tell(run, scored(probe, lambda paths: hs.read_coreference(*paths), data, select))


@shared.with_common
def relations(
    model: shared.ModelName,
    *,
    data: Annotated[
        list[Path],
        shared.option(
            "Semantic roles: PropBank-style .jsonl, or FrameNet 1.7 .xml files or a folder of them.",
            "FILE...",
        ),
    ],
    select: Annotated[list[Path] | None, _chosen_on("--data")] = None,
    output: shared.Output = None,
    paper_filters: Annotated[
        bool,
        _flag(
            "Only what Kovaleva et al. kept: sentences of at most 12 tokens, elements of at most 3, 2 apart.",
            "--paper-filters",
        ),
    ] = False,
    max_words: Annotated[int | None, _left_out("longer sentences", least=2)] = None,
    max_argument: Annotated[int | None, _left_out("longer arguments")] = None,
    min_distance: Annotated[int | None, _left_out("arguments nearer to the predicate")] = None,
    modifiers: Annotated[
        bool, _flag("Also count modifiers: PropBank's ARGM, FrameNet's non-core elements.", "--modifiers")
    ] = False,
    faithful: shared.FirstPiece = False,
    common: shared.Common,
) -> None:
    """Find which head ties predicates to roles.

    Attention between predicates and their arguments, against words at the same distance in the same sentence.
    """
    with session(common, output, inputs=[*data, *(select or [])]) as run:
        probe = hs.RelationsProbe(
            run.load(model),
            paper_filters=paper_filters,
            max_words=max_words,
            max_argument=max_argument,
            min_distance=min_distance,
            core_only=not modifiers,
            faithful=faithful,
            **common.probe_options,
        )
        tell(run, scored(probe, lambda paths: hs.read_roles(*paths), data, select))


@shared.with_common
def features(
    model: shared.ModelName,
    *,
    treebank_files: Annotated[list[Path], shared.option("Parsed sentences.", "FILE.conllu...", "--treebank")],
    against: Annotated[
        str | None,
        shared.option("A second model of the same shape, such as a fine-tuned one, side by side.", "MODEL_B"),
    ] = None,
    output: shared.Output = None,
    annotate: shared.Annotate = None,
    common: shared.Common,
) -> None:
    """Measure attention to kinds of words.

    Nouns, verbs, pronouns, subjects, objects, negation, [CLS] and [SEP]; from all tokens and from [CLS] alone. A change
    is sure when it is after correction for the many heads and classes looked at.
    """
    with session(common, output, inputs=treebank_files) as run:
        loaded, other = run.load(model), None if against is None else common.load(against)
        probe = hs.FeaturesProbe(loaded, against=other, **common.probe_options)
        tell(run, probe.score(shared.treebank(treebank_files, annotate)))


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
