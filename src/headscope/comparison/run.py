"""Two models read the same batches, and every layer of one is laid beside that of the other."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from time import perf_counter

from torch import Tensor

from headscope.accumulator import Counted
from headscope.atlas import Atlas
from headscope.capture import Capture, survey
from headscope.comparison.kinds import KindChange, kind_change
from headscope.comparison.result import Comparison, StackComparison
from headscope.comparison.same_input import SameInput
from headscope.comparison.sums import GIVERS, StackSums
from headscope.comparison.weights import weight_change
from headscope.errors import OptionError, TextError
from headscope.kinds.features import MEASURE as FEATURES
from headscope.models import Model, ModelName, loaded
from headscope.models.stacks import Place
from headscope.probes.features.probe import FeaturesProbe
from headscope.probes.result import Source, compared_with
from headscope.run.one_pass import run_pass, whole
from headscope.run.options import BatchSize, check_run_options
from headscope.run.reader import Reader, ReadText
from headscope.run.watch import Watch
from headscope.text.annotated.treebank import Treebank
from headscope.text.batching import bucketed
from headscope.text.corpus import Corpus, Text, as_corpus
from headscope.text.encode import TextEncoder
from headscope.text.items import TextPair
from headscope.types import AttentionBatch, StackName


def compare(
    model_a: ModelName,
    model_b: ModelName,
    texts: Corpus | TextPair | Iterable[Text],
    *,
    max_length: int = 128,
    limit: int | None = None,
    batch_size: BatchSize = "auto",
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
    captures = [survey(loaded(model)) for model in (model_a, model_b)]
    first, second = (capture.model for capture in captures)
    _check_tokenizers(first, second)
    _check_shapes(*captures)
    check_run_options(first, second, max_length=max_length, limit=limit, batch_size=batch_size)
    features = None if treebank is None else FeaturesProbe(first, against=second, progress=progress)
    both = _Both(captures)
    reader = Reader(as_corpus(texts), both.watches[0].encoder(max_length), limit)
    sums = run_pass(
        whole(_same_tokens(reader, both.watches[1].encoder(max_length))),
        both.sums(),
        both.count,
        batches=both.batches(batch_size, max_length),
        title=f"{first.name} and {second.name} on {reader.corpus.name}" if progress else None,
        expected=reader.expected,
    )
    if not reader.read:
        raise TextError(f"{reader.corpus.name} holds no text that could be compared")
    scored = None if features is None or treebank is None else features.score(treebank)
    weights = weight_change(*captures)
    stacks = {
        stack: StackComparison(own, weights.by_stack[stack], _kinds(own, stack, k=k, seed=seed), seed)
        for stack, own in sums.value.items()
    }
    options = {
        **compared_with(first),
        "max_length": max_length,
        "limit": limit,
        "k": k,
        "seed": seed,
        "treebank": None if treebank is None else treebank.name,
    }
    of_features = () if scored is None else scored.source.notes
    notes = (*_notes(first, second, reader, stacks), *weights.notes, *of_features)
    source = Source.of_corpus(reader, options=options, duration=perf_counter() - started, notes=notes)
    return Comparison(second, source, first, stacks, scored)


_Sums = Counted[Mapping[StackName, StackSums]]
"""All that is counted in all stacks."""


class _Both:
    """How texts go through both models."""

    def __init__(self, captures: list[Capture]) -> None:
        self.grids = captures[1].stacks.grids
        self.watches = [Watch(capture, holds_all=True) for capture in captures]
        self.same_input = SameInput.both_ways(*captures)

    def sums(self) -> _Sums:
        """Nothing counted yet."""
        same_input = bool(self.same_input)
        return Counted({grid.stack: StackSums.zeros(grid, same_input=same_input) for grid in self.grids})

    def batches(
        self, batch_size: BatchSize, longest: int
    ) -> Callable[[Iterable[ReadText]], Iterator[list[ReadText]]]:
        """What groups texts into batches that suit both."""
        sizes = [watch.texts_at(batch_size) for watch in self.watches]
        return partial(bucketed, texts_at=lambda length: min(size(length) for size in sizes), longest=longest)

    def count(self, sums: _Sums, texts: list[ReadText]) -> None:
        """Show a batch to both models, and count."""
        held: dict[tuple[StackName, int], AttentionBatch] = {}

        def hold(stack: StackName, seen: AttentionBatch) -> None:
            held[stack, seen.layer] = seen

        def see(stack: StackName, seen: AttentionBatch) -> None:
            first = held[stack, seen.layer]
            attention = first.attention.to(seen.attention.device, seen.attention.dtype)
            sums.value[stack].update(AttentionBatch(seen.layer, attention, seen.queries, seen.keys), seen)
            hold(stack, seen)

        def beside(giver: str, place: Place, weights: Tensor) -> None:
            own = held[place.stack, place.layer]
            other = AttentionBatch.observed(place.layer, weights, own.queries, own.keys)
            sums.value[place.stack].same_input[giver].update(own, other)

        for watch, giver, look in zip(self.watches, GIVERS, (hold, see), strict=True):
            batch = watch.batch([text.encoded for text in texts])
            if giver not in self.same_input:
                watch.run(batch, look)
                continue
            with self.same_input[giver].recording() as calls:
                watch.run(batch, look)
            self.same_input[giver].run(batch, calls, partial(beside, giver))


def _kinds(sums: StackSums, stack: StackName, *, k: int, seed: int) -> KindChange | None:
    """The kinds of a stack's heads in both models; None for cross attention, which has no distances."""
    for measure in sums.measures:
        if measure.first.name == FEATURES:
            both = (measure.first, measure.second)
            atlases = [Atlas.build({stack: own.result()}, provenance={}) for own in both]
            return kind_change(*atlases, stack=stack, k=k, seed=seed)
    return None


def _notes(
    first: Model, second: Model, reader: Reader, stacks: dict[StackName, StackComparison]
) -> Iterator[str]:
    if first.weights_hash == second.weights_hash:
        yield f"{first.name} and {second.name} have the same weights"
    if note := reader.cut_note():
        yield note
    if any(not compared.sums.same_input for compared in stacks.values()):
        yield (
            "what each layer's own weights change could not be told apart from what the layers below hand it: the "
            "attention of these two models cannot be run on the same input"
        )
    for stack, compared in stacks.items():
        of = f"{stack}: " if len(stacks) > 1 else ""
        if compared.kinds is not None and not compared.kinds.kinds.separation.is_clear:
            reasons = "; ".join(compared.kinds.kinds.separation.reasons)
            yield f"{of}the kinds of {first.name} are not well separated ({reasons}), so a change of kind means little"


# Whether the heads of two models can be compared one by one.


def _check_tokenizers(first: Model, second: Model) -> None:
    """Raise OptionError unless both have the same vocabulary: maps of different tokens cannot be laid side by side."""
    mine, theirs = first.tokenizer.get_vocab(), second.tokenizer.get_vocab()
    if mine == theirs:
        return
    differing = next(token for token in [*mine, *theirs] if mine.get(token) != theirs.get(token))
    raise OptionError(
        f"{first.name} ({len(mine):,} entries) and {second.name} ({len(theirs):,} entries) have different tokenizers, "
        f"such as at {differing!r}, so their attention maps are over different tokens; compare models that share one, "
        "or what does not depend on tokens: headscope probe features A --against B --treebank FILE"
    )


def _check_shapes(first: Capture, second: Capture) -> None:
    """Raise OptionError unless both have the same stacks, layers and heads."""
    if first.stacks.grids == second.stacks.grids:
        return
    shapes = [
        ", ".join(f"{grid.stack} of {grid.layers} layers x {grid.heads} heads" for grid in stacks.grids)
        for stacks in (first.stacks, second.stacks)
    ]
    raise OptionError(
        f"{first.model.name} ({shapes[0]}) and {second.model.name} ({shapes[1]}) differ in shape, so no head of one "
        "is the counterpart of a head of the other; what can still be compared are shares and layer means: run "
        "headscope analyze and headscope types on each, or headscope patterns A B --text FILE"
    )


def _same_tokens(reader: Reader, second: TextEncoder) -> Iterator[ReadText]:
    """The texts as they come; raises OptionError for one that the `second` encoder turns into other tokens.

    The same vocabulary does not make the same tokenizer: one may keep capitals, or leave out a [SEP].
    """
    for text in reader:
        if second.encode(text.pair) != text.encoded:
            raise OptionError(
                f"the two models' tokenizers split text {text.number} (counted from 0) of {reader.corpus.name} into "
                f"different tokens, so their attention maps cannot be compared: {text.pair.first[:40]!r}"
            )
        yield text
