"""How much of each head its names explain when the syntactic head and the dependents are among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import perf_counter
from typing import Self

import torch
from torch import Tensor

from headscope.atlas import Results
from headscope.attention import LayerReductions, StackReads
from headscope.errors import TextError
from headscope.facts.analyses.explained import GOLD
from headscope.facts.description import described_in
from headscope.facts.vocabulary import template_name
from headscope.measures.explained import ExplainedWithSyntax
from headscope.measures.templates import SYNTAX
from headscope.models import ModelName, loaded
from headscope.passes.options import BatchSize
from headscope.probes.features.classes import FeatureText
from headscope.probes.observe import Account, Observer, Tally
from headscope.probes.result import ProbeResult, Row, largest
from headscope.text.annotated.treebank import Treebank
from headscope.types import HeadGrid, HeadId, LayerAttention, StackName, TokenBatch

DESCRIPTION = described_in(__file__)


@dataclass(eq=False)
class _GoldTally(Tally[FeatureText]):
    """The measure on one stack, with the syntactic heads of the words of each batch."""

    grid: HeadGrid

    def __post_init__(self) -> None:
        self.measure = ExplainedWithSyntax.empty(self.grid)

    def begin(self, items: Sequence[FeatureText], present: Tensor, tokens: TokenBatch) -> None:
        """Give every token the syntactic head of its word."""
        self._tokens = with_heads(tokens, [item.sentence.heads for item in items])
        rows = self.measure.wanted(self._tokens, self._tokens, moved=False)
        self._layers = LayerReductions(self.grid.layers, StackReads({"attention": ()}, tuple(rows)))

    def update(self, seen: LayerAttention) -> None:
        """Collect one layer of the batch; with the last, count it."""
        tokens = self._tokens
        self._layers.add(replace(seen, queries=tokens, keys=tokens))
        if seen.layer == self.grid.layers - 1:
            batches = self._layers.batches(tokens, tokens, causal=self.grid.causal)
            self.measure.update(batches["attention"])

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        self.measure.merge(other.measure)


def with_heads(tokens: TokenBatch, heads: Sequence[Sequence[int]]) -> TokenBatch:
    """The tokens with the word of each one's syntactic head; `heads` has, for each text, that of every word."""
    most = max((len(one) for one in heads), default=0) + 1
    by_word = torch.full((len(heads), most), -1, device=tokens.word.device)
    for text, own in enumerate(heads):
        by_word[text, : len(own)] = torch.tensor(own, device=by_word.device)
    word = tokens.word.where(tokens.word >= 0, most - 1)  # the last for tokens without a word
    return replace(tokens, governor=by_word.gather(1, word), _derived={})


@dataclass(frozen=True)
class ExplainedResult(ProbeResult):
    """Shares, weights, control and ceiling of every head, as `explained_gold` and the like."""

    description = DESCRIPTION

    measures: Mapping[StackName, ExplainedWithSyntax]

    def arrays(self) -> Results:
        """The arrays of the measure `explained` under the name `explained_gold`."""
        return {
            stack: {name.replace("explained", GOLD, 1): array for name, array in measure.result().items()}
            for stack, measure in self.measures.items()
        }

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each template of syntax: the head in whose mixture it has most weight."""
        arrays = self.arrays()[self.stack_of(self.measures, stack)]
        weights = arrays[f"{GOLD}_weight"]
        rows: list[Row] = []
        for name in SYNTAX:
            values = weights.values[..., list(weights.coords["template"]).index(name)]  # (layer, head)
            if (best := largest(values)) is not None:
                numbers = {"explained": GOLD, "control": f"{GOLD}_control"}
                row: Row = {"template": template_name(name), "head": str(HeadId(*best))}
                row |= {"weight": float(values[best]), "cases": self.source.texts}
                rows.append(row | {key: float(arrays[array].values[best]) for key, array in numbers.items()})
        return rows


def explained_with_syntax(
    model: ModelName,
    treebank: Treebank,
    *,
    limit: int | None = None,
    max_length: int | None = None,
    batch_size: BatchSize = "auto",
    progress: bool = False,
) -> ExplainedResult:
    """How much of every head names explain on the sentences of a treebank, syntactic heads and dependents among them.

    The measure `explained` with two templates more, fitted by the same least squares on half of the sentences.
    """
    started = perf_counter()
    observer = Observer(loaded(model), max_length=max_length, batch_size=batch_size, progress=progress)
    tallies = {grid.stack: _GoldTally(grid) for grid in observer.grids}
    account = Account()
    texts = (FeatureText(sentence, number) for number, sentence in enumerate(islice(treebank, limit)))
    account.seen = observer.observe(
        account.of(texts),
        {stack: [tally] for stack, tally in tallies.items()},
        name=treebank.name,
        share=lambda: treebank.progress,
        limit=limit,
    )
    if not account.seen.texts:
        raise TextError(f"{treebank.name} holds no sentence that could be looked at")
    options = {"max_length": observer.max_length, "limit": limit}
    duration = perf_counter() - started
    source = account.source(treebank, options=options, duration=duration, notes=())
    return ExplainedResult(observer.model, source, {stack: tally.measure for stack, tally in tallies.items()})
