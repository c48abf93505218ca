"""The same head elsewhere: heads of two models paired one to one by how they look at the same texts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from headscope.accumulator import Counted, Sums
from headscope.comparison.alike import check_tokenizers, read_alike, told_alike
from headscope.comparison.divergence import layers_divergence
from headscope.comparison.match_result import Matching, StackMatch
from headscope.errors import OptionError, TextError
from headscope.measures.base import TextMean
from headscope.models import Model, ModelName, loaded
from headscope.models.untrained import untrained
from headscope.passes.options import BatchSize, check_limit, check_run_options
from headscope.passes.provenance import Source
from headscope.passes.reader import Reader, ReadText
from headscope.probes.result import compared_with
from headscope.text.corpus import Corpus, Text, as_corpus
from headscope.text.items import TextPair
from headscope.trace import Capture, survey
from headscope.trace.watch import Watch
from headscope.types import HeadGrid, LayerAttention, StackName

FEWEST_TEXTS = 4
_WHY = "both halves of the texts need two"


def match(
    model_a: ModelName,
    model_b: ModelName,
    texts: Corpus | TextPair | Iterable[Text],
    *,
    max_length: int = 128,
    limit: int | None = None,
    batch_size: BatchSize = "auto",
    seed: int = 0,
    progress: bool = False,
) -> Matching:
    """Pair the heads of two models one to one, such as two seeds, two checkpoints or two sizes.

    Pairs have the smallest mean Jensen-Shannon divergence on the same texts (those of `analyze`), by the Hungarian
    method; so both need the same tokenizer, but not the same shape. Beside the distance stands that to the nearest head
    of an untrained network (`seed`) shaped as `model_b`, and whether each half of the texts alone gives the same pair.
    """
    started = perf_counter()
    first, second = map(loaded, (model_a, model_b))
    check_tokenizers(first, second)
    check_limit(limit, least=FEWEST_TEXTS, why=_WHY)
    check_run_options(first, second, max_length=max_length, limit=limit, batch_size=batch_size)
    three = _Three([survey(model) for model in (first, second, untrained(second, seed=seed))])
    reader = Reader(as_corpus(texts), three.watches[0].encoder(max_length), limit)
    who = f"{first.name} and {second.name}" if progress else None
    sums = read_alike(reader, three.watches, three.sums(), three.count, batch_size=batch_size, who=who).value
    if reader.read < FEWEST_TEXTS:
        raise TextError(
            f"{reader.corpus.name} holds {reader.read} texts, and at least {FEWEST_TEXTS} are needed: {_WHY}"
        )
    options = {**compared_with(first), "max_length": max_length, "limit": limit, "seed": seed}
    duration, notes = perf_counter() - started, tuple(_notes(first, second, reader, sums.values()))
    source = Source.of_corpus(reader, options=options, duration=duration, notes=notes)
    return Matching(second, source, first, {stack: own.result() for stack, own in sums.items()})


@dataclass
class _StackSums(Sums):
    """Distances of all pairs of heads in one stack."""

    grid_a: HeadGrid
    grid_b: HeadGrid
    halves: tuple[TextMean, TextMean]  # (head of A, head of B)
    untrained: TextMean  # (head of A, head of the untrained network)

    @classmethod
    def zeros(cls, grid_a: HeadGrid, grid_b: HeadGrid) -> "_StackSums":
        """Nothing seen yet."""
        one, other, third = (TextMean.zeros(grid_a.size, grid_b.size) for _ in range(3))
        return cls(grid_a, grid_b, (one, other), third)

    @property
    def leaves_first(self) -> bool:
        """Whether the first token is left out, as `head_distance` does in a decoder."""
        return self.grid_a.causal and self.grid_b.causal

    def result(self) -> StackMatch:
        """What the sums come to."""
        both = self.halves[0].empty()
        for half in self.halves:
            both.merge(half)
        return StackMatch(
            self.grid_a,
            self.grid_b,
            both.mean(),
            both.stderr(),
            np.stack([half.mean() for half in self.halves]),
            self.untrained.mean(),
            self.untrained.stderr(),
            int(both.texts.max()),
        )


_Sums = Counted[dict[StackName, _StackSums]]


class _Three:
    """How texts go through both models and an untrained one."""

    def __init__(self, captures: list[Capture]) -> None:
        self.watches = [Watch(capture, holds_all=True) for capture in captures]
        grids_a, grids_b = ({grid.stack: grid for grid in one.stacks.grids} for one in captures[:2])
        self.grids = {stack: (grids_a[stack], grids_b[stack]) for stack in grids_a if stack in grids_b}
        if not self.grids:
            names = [
                f"{capture.model.name} ({', '.join(grid.stack for grid in capture.stacks.grids)})"
                for capture in captures[:2]
            ]
            raise OptionError(
                f"{' and '.join(names)} have no stack in common, so their heads cannot be paired; match two encoders, "
                "or two decoders"
            )

    def sums(self) -> _Sums:
        """Nothing counted yet."""
        return Counted({stack: _StackSums.zeros(*grids) for stack, grids in self.grids.items()})

    def count(self, sums: _Sums, texts: list[ReadText]) -> None:
        """Show a batch to all, and count the distances between their heads."""
        first, second, untrained_maps = (_held(watch, texts) for watch in self.watches)
        for stack, own in sums.value.items():
            distance, floor = (
                layers_divergence(first[stack], other[stack], leaves_first=own.leaves_first)
                for other in (second, untrained_maps)
            )
            for half, mean in enumerate(own.halves):
                chosen = [place for place, text in enumerate(texts) if text.number % 2 == half]
                mean.add(distance[chosen], applies=distance[chosen].isfinite())
            own.untrained.add(floor, applies=floor.isfinite())


def _held(watch: Watch, texts: list[ReadText]) -> dict[StackName, list[LayerAttention]]:
    """Every layer's attention on a batch, by stack."""
    held: dict[StackName, list[LayerAttention]] = {}
    batch = watch.batch([text.encoded for text in texts])
    watch.run(batch, lambda stack, seen: held.setdefault(stack, []).append(seen))
    return held


def _notes(first: Model, second: Model, reader: Reader, stacks: Iterable[_StackSums]) -> Iterator[str]:
    if any(own.leaves_first for own in stacks):
        yield "in a decoder the first token is left out of distances: heads rest there that have nothing to do"
    yield from told_alike(first, second, reader)
