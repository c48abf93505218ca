"""Two models read the same batches, and every layer of one is laid beside that of the other."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from time import perf_counter

import torch
from torch import Tensor

from headscope.accumulator import Counted
from headscope.atlas import Atlas
from headscope.attention import LayerReductions
from headscope.comparison.alike import check_shapes, check_tokenizers, read_alike, told_alike
from headscope.comparison.kinds import KindChange, kind_change
from headscope.comparison.match_result import Matching
from headscope.comparison.result import Comparison, StackComparison
from headscope.comparison.same_input import SameInput
from headscope.comparison.sums import GIVERS, StackSums
from headscope.comparison.weights import weight_change
from headscope.kinds.features import MEASURE as FEATURES
from headscope.models import Model, ModelName, loaded
from headscope.passes.options import BatchSize, check_run_options
from headscope.passes.provenance import Source
from headscope.passes.reader import Reader, ReadText
from headscope.probes.features.probe import FeaturesProbe
from headscope.probes.result import compared_with
from headscope.text.annotated.treebank import Treebank
from headscope.text.corpus import Corpus, Text, as_corpus
from headscope.text.items import TextPair
from headscope.trace import Capture, survey
from headscope.trace.architecture import Place
from headscope.trace.watch import Watch, sides_of
from headscope.types import HeadId, LayerAttention, StackName, WeighedBy, weigh_option


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
    match: Matching | None = None,
    weigh: WeighedBy = "looked",
    progress: bool = False,
) -> Comparison:
    """What every head of `model_b` does differently from the same head of `model_a`, such as before fine-tuning.

    Both read the same texts (those of `analyze`), so they must share tokenizer and shape. The heads' `k` kinds are
    those of `model_a`; with a `treebank` attention to linguistic features is compared too. With a `match` of the same
    models each head of `model_b` is held against its partner, wherever that stands in `model_a`. By `weigh="moved"`
    what heads move is compared instead of where they look.
    """
    started = perf_counter()
    captures = [survey(loaded(model)) for model in (model_a, model_b)]
    first, second = (capture.model for capture in captures)
    check_tokenizers(first, second)
    check_shapes(*captures)
    check_run_options(first, second, max_length=max_length, limit=limit, batch_size=batch_size)
    partners = {} if match is None else match.partners_of(first, second)
    # Made before the texts are read, so that what it cannot do shows at once.
    features = FeaturesProbe(first, against=second, weigh=weigh, progress=progress) if treebank else None
    both = _Both(captures, partners, weigh)
    reader = Reader(as_corpus(texts), both.watches[0].encoder(max_length), limit)
    who = f"{first.name} and {second.name}" if progress else None
    sums = read_alike(reader, both.watches, both.sums(), both.count, batch_size=batch_size, who=who).value
    scored = features.score(treebank) if features and treebank else None
    weights = weight_change(*captures)
    kinds = {stack: _kinds(own, stack, k=k, seed=seed) for stack, own in sums.items()}
    stacks = {
        stack: StackComparison(own, weights.by_stack[stack], kinds[stack], seed, partners.get(stack, {}))
        for stack, own in sums.items()
    }
    options = {**compared_with(first), "max_length": max_length, "limit": limit, "k": k, "seed": seed}
    options |= {"treebank": treebank.name if treebank else None, **({"matched": True} if match else {})}
    options |= weigh_option(weigh)
    of_features = scored.source.notes if scored else ()
    notes = (*_notes(first, second, reader, stacks, weigh), *weights.notes, *of_features)
    source = Source.of_corpus(reader, options=options, duration=perf_counter() - started, notes=notes)
    return Comparison(second, source, first, stacks, scored)


_Sums = Counted[Mapping[StackName, StackSums]]
"""All that is counted in all stacks."""


class _Both:
    """How texts go through both models."""

    def __init__(
        self,
        captures: list[Capture],
        partners: Mapping[StackName, Mapping[HeadId, HeadId]],
        weigh: WeighedBy,
    ) -> None:
        """`partners`: the head of the first model that each head of the second is held against; none: the same."""
        self.grids = captures[1].stacks.grids
        self.watches = [Watch(capture, holds_all=True, weigh=weigh) for capture in captures]
        self.partners = partners
        # Partners of different layers have no input in common, and what is moved is not seen of a layer run alone.
        alone = not partners and weigh == "looked"
        self.same_input = SameInput.both_ways(*captures) if alone else {}

    def sums(self) -> _Sums:
        """Nothing counted yet."""
        same_input = bool(self.same_input)
        return Counted({grid.stack: StackSums.zeros(grid, same_input=same_input) for grid in self.grids})

    def count(self, sums: _Sums, texts: list[ReadText]) -> None:
        """Show a batch to both models, and count."""
        held: dict[tuple[StackName, int], LayerAttention] = {}
        reduced = {
            grid.stack: [LayerReductions(grid.layers, sums.value[grid.stack].reads) for _ in self.watches]
            for grid in self.grids
        }

        def hold(stack: StackName, seen: LayerAttention) -> None:
            held[stack, seen.layer] = seen

        def see(stack: StackName, seen: LayerAttention) -> None:
            attention = self._beside(held, stack, seen).to(seen.attention.device, seen.attention.dtype)
            first = LayerAttention(seen.layer, attention, seen.queries, seen.keys)
            sums.value[stack].attention.update(first, seen)
            for layers, layer in zip(reduced[stack], (first, seen), strict=True):
                layers.add(layer)
            if self.same_input:
                hold(stack, seen)

        def beside(giver: str, place: Place, weights: Tensor) -> None:
            own = held[place.stack, place.layer]
            other = LayerAttention.observed(place.layer, weights, own.queries, own.keys)
            sums.value[place.stack].same_input[giver].update(own, other)

        for watch, giver, look in zip(self.watches, GIVERS, (hold, see), strict=True):
            batch = watch.batch([text.encoded for text in texts])
            if giver not in self.same_input:
                watch.run(batch, look)
                continue
            with self.same_input[giver].recording() as calls:
                watch.run(batch, look)
            self.same_input[giver].run(batch, calls, partial(beside, giver))
        for grid in self.grids:
            sides = sides_of(batch, grid.stack)
            first, second = (
                layers.batches(*sides, causal=grid.causal)["attention"] for layers in reduced[grid.stack]
            )
            for measure in sums.value[grid.stack].measures:
                measure.update(first, second)

    def _beside(
        self, held: Mapping[tuple[StackName, int], LayerAttention], stack: StackName, seen: LayerAttention
    ) -> Tensor:
        """(text, head, query, key) the first model's maps that a layer's heads of the second are held against."""
        if not self.partners:
            return held[stack, seen.layer].attention
        heads = range(seen.attention.shape[1])
        partners = [self.partners[stack][HeadId(seen.layer, head)] for head in heads]
        return torch.stack([held[stack, one.layer].attention[:, one.head] for one in partners], 1)


def _kinds(sums: StackSums, stack: StackName, *, k: int, seed: int) -> KindChange | None:
    """The kinds of a stack's heads in both models; None for cross attention, which has no distances."""
    for measure in sums.measures:
        if measure.first.name == FEATURES:
            both = (measure.first, measure.second)
            atlases = [Atlas.build({stack: own.result()}, provenance={}) for own in both]
            return kind_change(*atlases, stack=stack, k=k, seed=seed)
    return None


def _notes(
    first: Model,
    second: Model,
    reader: Reader,
    stacks: dict[StackName, StackComparison],
    weigh: WeighedBy,
) -> Iterator[str]:
    yield from told_alike(first, second, reader)
    if any(compared.partners for compared in stacks.values()):
        yield "heads are compared with their partners, weights layer by layer"
    elif weigh == "moved":
        yield "what each layer's own weights change is told of where heads look only (leave out --weigh moved)"
    elif any(not compared.sums.same_input for compared in stacks.values()):
        yield (
            "the effect of each layer's own weights could not be separated from that of its input: the attention of "
            "these two models cannot be run on the same input"
        )
    for stack, compared in stacks.items():
        of = f"{stack}: " if len(stacks) > 1 else ""
        if compared.kinds is not None and not compared.kinds.kinds.separation.is_clear:
            reasons = "; ".join(compared.kinds.kinds.separation.reasons)
            yield f"{of}the kinds of {first.name} are not well separated ({reasons}), so a change of kind means little"
