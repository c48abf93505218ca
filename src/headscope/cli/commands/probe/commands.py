"""The commands of headscope's own probes: each has options of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.results import tell
from headscope.cli.session import session

if TYPE_CHECKING:
    from headscope.probes.result import ProbeResult

SentenceLimit = Annotated[int | None, shared.limit("sentences")]


def scored(
    probe: Any, read: Callable[..., Any], data: list[Path], select: list[Path] | None
) -> "ProbeResult":
    """What the probe scores on the data; best heads are chosen on --select, or on one half for the other."""
    texts = read(data)
    result: ProbeResult = probe.fit(read(select)).score(texts) if select else probe.fit_score(texts)
    return result


@shared.with_common
def dependency(
    model: shared.ModelName,
    *,
    treebank: list[Path],
    select: list[Path] | None = None,
    limit: SentenceLimit = None,
    output: shared.Output = None,
    base_relations: bool = False,
    annotate: shared.Annotate = None,
    faithful: shared.FirstPiece = False,
    weigh: shared.Weigh = "looked",
    common: shared.Common,
) -> None:
    """Find which head tracks which relation.

    Every head guesses the syntactic head of every word, in both directions; fixed offsets are the baseline.
    """
    with session(common, output, inputs=[*treebank, *(select or [])]) as run:
        probe = hs.DependencyProbe(
            run.load(model),
            base_relations=base_relations,
            limit=limit,
            faithful=faithful,
            weigh=weigh,
            **common.probe_options,
        )
        tell(run, scored(probe, lambda paths: shared.treebank(paths, annotate), treebank, select))


@shared.with_common
def coreference(
    model: shared.ModelName,
    *,
    data: list[Path],
    select: list[Path] | None = None,
    limit: Annotated[int | None, shared.limit("windows of text")] = None,
    output: shared.Output = None,
    faithful: shared.FirstPiece = False,
    weigh: shared.Weigh = "looked",
    common: shared.Common,
) -> None:
    """Find which head resolves coreference.

    Every head guesses the antecedent of every mention; rules that use no attention are the baseline.
    """
    with session(common, output, inputs=[*data, *(select or [])]) as run:
        probe = hs.CoreferenceProbe(
            run.load(model), limit=limit, faithful=faithful, weigh=weigh, **common.probe_options
        )
        tell(run, scored(probe, lambda paths: hs.read_coreference(*paths), data, select))


@shared.with_common
def relations(
    model: shared.ModelName,
    *,
    data: list[Path],
    select: list[Path] | None = None,
    limit: SentenceLimit = None,
    output: shared.Output = None,
    paper_filters: bool = False,
    max_words: int | None = None,
    max_argument: int | None = None,
    min_distance: int | None = None,
    modifiers: bool = False,
    faithful: shared.FirstPiece = False,
    weigh: shared.Weigh = "looked",
    common: shared.Common,
) -> None:
    """Find which head links predicates to their arguments.

    Compares attention between a predicate and its arguments with attention to words at the same distance in the same
    sentence.
    """
    with session(common, output, inputs=[*data, *(select or [])]) as run:
        probe = hs.RelationsProbe(
            run.load(model),
            paper_filters=paper_filters,
            max_words=max_words,
            max_argument=max_argument,
            min_distance=min_distance,
            core_only=not modifiers,
            limit=limit,
            faithful=faithful,
            weigh=weigh,
            **common.probe_options,
        )
        tell(run, scored(probe, lambda paths: hs.read_roles(*paths), data, select))


@shared.with_common
def features(
    model: shared.ModelName,
    *,
    treebank: list[Path],
    against: str | None = None,
    limit: SentenceLimit = None,
    output: shared.Output = None,
    annotate: shared.Annotate = None,
    weigh: shared.Weigh = "looked",
    common: shared.Common,
) -> None:
    """Measure attention to kinds of words.

    The kinds are nouns, verbs, pronouns, subjects, objects, negation, [CLS] and [SEP]; attention is from all tokens and
    from [CLS] alone. A change is clear when its interval excludes 0 after correction for all heads and kinds.
    """
    with session(common, output, inputs=treebank) as run:
        loaded, other = run.load(model), None if against is None else run.load(against, own=False)
        probe = hs.FeaturesProbe(loaded, against=other, limit=limit, weigh=weigh, **common.probe_options)
        tell(run, probe.score(shared.treebank(treebank, annotate)))
