"""Two models read the same batches, and every layer of one is laid beside that of the other."""

import os
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from time import perf_counter
from typing import Literal

from torch import Tensor

from headscope.atlas import Atlas
from headscope.capture import Capture, survey
from headscope.capture.observe import edits_of
from headscope.comparison.alike import check_shapes, check_tokenizers
from headscope.comparison.kinds import KindChange, kind_change
from headscope.comparison.reading import SharedReader
from headscope.comparison.result import Comparison, StackComparison
from headscope.comparison.same_input import SameInput
from headscope.comparison.sums import GIVERS, StackSums
from headscope.comparison.weights import weight_change
from headscope.errors import OptionError, TextError
from headscope.models import Model, load
from headscope.models.stacks import Place
from headscope.probes.features.probe import FeaturesProbe
from headscope.probes.features.result import FeaturesResult
from headscope.probes.result import Source
from headscope.run.progress import RunProgress, progress_bar, silent
from headscope.run.watch import Watch, in_halves
from headscope.text.annotated.treebank import Treebank
from headscope.text.batching import bucketed
from headscope.text.corpus import Corpus, Text, as_corpus
from headscope.text.encode import EncodedInput
from headscope.text.items import TextPair
from headscope.types import AttentionBatch, StackName

ModelName = Model | str | os.PathLike[str]


def compare(
    model_a: ModelName,
    model_b: ModelName,
    texts: Corpus | TextPair | Iterable[Text],
    *,
    max_length: int = 128,
    limit: int | None = None,
    batch_size: int | Literal["auto"] = "auto",
    k: int = 4,
    seed: int = 0,
    treebank: Treebank | None = None,
    progress: bool = False,
) -> Comparison:
    """What every head of `model_b` does differently from the same head of `model_a`, such as before fine-tuning.

    Both read the same texts (those of `analyze`), so they must share tokenizer and shape. The heads' `k` kinds are
    those of `model_a`; with a `treebank` attention to linguistic features is compared too.
    """
    started = perf_counter()
    captures = [_survey(model) for model in (model_a, model_b)]
    first, second = (capture.model for capture in captures)
    check_tokenizers(first, second)
    check_shapes(*captures)
    _check(captures, max_length=max_length, limit=limit, batch_size=batch_size)
    features = None if treebank is None else FeaturesProbe(first, against=second, progress=progress)
    run = _Run(captures, SameInput.both_ways(*captures))
    reader = _read(run, as_corpus(texts), max_length, limit, batch_size=batch_size, progress=progress)
    scored = None if features is None or treebank is None else features.score(treebank)
    weights = weight_change(*captures)
    stacks = {
        stack: StackComparison(sums, weights.by_stack[stack], _kinds(run, stack, k=k, seed=seed), seed)
        for stack, sums in run.stacks.items()
    }
    options: dict[str, object] = {
        "against": first.name,
        "against_weights_hash": f"sha256:{first.weights_hash}",
        "max_length": max_length,
        "limit": limit,
        "k": k,
        "seed": seed,
        "treebank": None if treebank is None else treebank.name,
    }
    edits = edits_of(first.network)
    options |= {"against_edits": list(edits)} if edits else {}
    notes = (*_notes(first, second, reader, stacks), *weights.notes, *_feature_notes(scored))
    source = _source(run, reader, options, notes, perf_counter() - started)
    return Comparison(second, source, first, stacks, scored)


def _source(
    run: "_Run", reader: SharedReader, options: dict[str, object], notes: tuple[str, ...], duration: float
) -> Source:
    return Source(
        data=reader.corpus.name,
        data_hash=reader.digest.hexdigest(),
        annotator=None,
        texts=run.texts,
        documents=reader.documents,
        tokens=run.tokens,
        texts_cut=reader.cut,
        skipped=0,
        options=options,
        duration=duration,
        notes=notes,
    )


def _read(
    run: "_Run",
    corpus: Corpus,
    max_length: int,
    limit: int | None,
    *,
    batch_size: int | Literal["auto"],
    progress: bool,
) -> SharedReader:
    """Show all texts to both models; what was read."""
    encoders = [watch.encoder(max_length) for watch in run.watches]
    reader = SharedReader(corpus, encoders[0], encoders[1], limit)
    sizes = [watch.texts_at(batch_size) for watch in run.watches]
    name = " and ".join(watch.model.name for watch in run.watches)
    with progress_bar(f"{name} on {corpus.name}") if progress else nullcontext(silent) as tell:
        for batch in bucketed(
            reader, texts_at=lambda length: min(size(length) for size in sizes), longest=max_length
        ):
            in_halves(batch, run.add)
            tell(RunProgress(run.texts, reader.expected(run.texts)))
    if run.texts == 0:
        raise TextError(f"{corpus.name} holds no text that could be compared")
    return reader


def _survey(model: ModelName) -> Capture:
    return survey(model if isinstance(model, Model) else load(model))


def _check(captures: list[Capture], *, max_length: int, limit: int | None, batch_size: int | str) -> None:
    for capture in captures:
        longest = capture.model.max_length
        if longest is not None and max_length > longest:
            raise OptionError(
                f"max_length {max_length} is more than the {longest} tokens {capture.model.name} takes; give "
                f"--max-length {longest} (max_length={longest}) or less"
            )
    if limit is not None and limit < 1:
        raise OptionError(f"limit must be at least 1, not {limit}")
    if batch_size != "auto" and (not isinstance(batch_size, int) or batch_size < 1):
        raise OptionError(f"batch_size must be auto or at least 1, not {batch_size!r}")


class _Run:
    """The sums of a comparison, and how batches are added to them."""

    def __init__(self, captures: list[Capture], same_input: dict[str, SameInput]) -> None:
        self.grids = captures[1].stacks.grids
        self.watches = [Watch(capture, holds_all=True) for capture in captures]
        self.same_input = same_input
        self.stacks = self._empty()
        self.texts = self.tokens = 0

    def add(self, texts: list[EncodedInput]) -> None:
        """Show a batch to both models, and count."""
        held: dict[tuple[StackName, int], AttentionBatch] = {}
        # A batch is counted apart and merged when it is whole, so that one that fails half-way leaves no trace.
        part = self._empty()

        def hold(stack: StackName, seen: AttentionBatch) -> None:
            held[stack, seen.layer] = seen

        def see(stack: StackName, seen: AttentionBatch) -> None:
            first = held[stack, seen.layer]
            attention = first.attention.to(seen.attention.device, seen.attention.dtype)
            part[stack].update(AttentionBatch(seen.layer, attention, seen.queries, seen.keys), seen)
            hold(stack, seen)

        for watch, giver, look in zip(self.watches, GIVERS, (hold, see), strict=True):
            batch = watch.batch(texts)
            if giver not in self.same_input:
                watch.run(batch, look)
                continue
            with self.same_input[giver].recording() as calls:
                watch.run(batch, look)
            self.same_input[giver].run(batch, calls, partial(_beside, part, held, giver))
        for stack, sums in self.stacks.items():
            sums.merge(part[stack])
        self.texts += batch.texts
        self.tokens += batch.tokens

    def _empty(self) -> dict[StackName, StackSums]:
        return {grid.stack: StackSums.zeros(grid, same_input=bool(self.same_input)) for grid in self.grids}


def _beside(
    part: dict[StackName, StackSums],
    held: dict[tuple[StackName, int], AttentionBatch],
    giver: str,
    place: Place,
    weights: Tensor,
) -> None:
    """Count a layer of the giver's, and of the other model on the same input."""
    own = held[place.stack, place.layer]
    other = AttentionBatch.observed(place.layer, weights, own.queries, own.keys)
    part[place.stack].same_input[giver].update(own, other)


def _kinds(run: _Run, stack: StackName, *, k: int, seed: int) -> KindChange | None:
    """The kinds of a stack's heads in both models; None for cross attention, which has no distances."""
    by_name = {measure.first.name: measure for measure in run.stacks[stack].measures}
    found = by_name.get("distance_features")
    if found is None:
        return None
    atlases = [
        Atlas.build({stack: measure.result()}, provenance={}) for measure in (found.first, found.second)
    ]
    return kind_change(*atlases, stack=stack, k=k, seed=seed)


def _notes(
    first: Model,
    second: Model,
    reader: SharedReader,
    stacks: dict[StackName, StackComparison],
) -> Iterator[str]:
    if first.weights_hash == second.weights_hash:
        yield f"{first.name} and {second.name} have the same weights"
    if reader.cut:
        yield (
            f"{reader.cut} of {reader.read} texts were longer than {reader.encoders[0].max_length} tokens and lost "
            "their end; raise --max-length (max_length=) to keep more"
        )
    if any(not found.sums.same_input for found in stacks.values()):
        yield (
            "what each layer's own weights change could not be told apart from what the layers below hand it: the "
            "attention of these two models cannot be run on the same input"
        )
    for stack, found in stacks.items():
        of = f"{stack}: " if len(stacks) > 1 else ""
        if found.kinds is not None and not found.kinds.kinds.separation.is_clear:
            reasons = "; ".join(found.kinds.kinds.separation.reasons)
            yield f"{of}the kinds of {first.name} are not well separated ({reasons}), so a change of kind means little"


def _feature_notes(features: FeaturesResult | None) -> tuple[str, ...]:
    return () if features is None else features.source.notes
