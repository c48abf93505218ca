"""How much of each head its names explain when the syntactic head and the dependents are among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import perf_counter
from typing import Self

import numpy as np
import torch
from torch import Tensor

from headscope.atlas import Results
from headscope.errors import TextError
from headscope.facts.analyses.explained import GOLD
from headscope.facts.description import ArrayText, Column, Description, Table
from headscope.facts.vocabulary import template_name
from headscope.measures.explained import ExplainedWithSyntax
from headscope.measures.templates import SYNTAX
from headscope.models import ModelName, loaded
from headscope.probes.features.classes import FeatureText
from headscope.probes.observe import Account, Observer, Tally
from headscope.probes.result import ProbeResult, Row, Source
from headscope.run.options import BatchSize
from headscope.text.annotated.treebank import Treebank
from headscope.types import AttentionBatch, HeadGrid, HeadId, StackName, TokenBatch

DESCRIPTION = Description(
    GOLD,
    title="How much of each head do its names explain, with syntax among them?",
    question="The measure explained on the sentences of a treebank: a mixture of named patterns, the syntactic head "
    "and the dependents among them, fitted on half of the sentences and held against the other half. The table "
    "names the head in whose mixture each has most weight.",
    subject="what names explain",
    group="Explained, with syntax",
    label="template",
    labels="templates",
    tables=(
        Table(
            (
                Column("template", "pattern"),
                Column("head", "most in head"),
                Column("weight", "weight", "number", digits=2),
                Column("explained", "explained", "number", digits=2),
                Column("control", "names of another text", "number", digits=2),
            ),
            "The head with most of each",
        ),
    ),
    arrays={
        GOLD: ArrayText("Explained, with syntax", "share", "number"),
        f"{GOLD}_weight": ArrayText("Weight of {}", "share", "number"),
    },
    texts="sentences",
)


class _GoldTally(Tally[FeatureText]):
    """The measure on one stack, with the syntactic heads of the words of each batch."""

    def __init__(self, grid: HeadGrid) -> None:
        self.grid, self.measure = grid, ExplainedWithSyntax.empty(grid)
        self._tokens: TokenBatch | None = None

    def empty(self) -> Self:
        """A tally of the same stack that has counted nothing."""
        return type(self)(self.grid)

    def begin(self, items: Sequence[FeatureText], present: Tensor, tokens: TokenBatch) -> None:
        """Give every token the syntactic head of its word."""
        self._tokens = with_heads(tokens, [item.sentence.heads for item in items])

    def update(self, seen: AttentionBatch) -> None:
        """Count one layer of the batch."""
        assert self._tokens is not None
        self.measure.update(replace(seen, queries=self._tokens, keys=self._tokens))

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        self.measure.merge(other.measure)


def with_heads(tokens: TokenBatch, heads: Sequence[Sequence[int]]) -> TokenBatch:
    """The tokens with the word of each one's syntactic head; `heads` has, for each text, that of every word."""
    most = max((len(one) for one in heads), default=0) + 1
    by_word = torch.full(
        (len(heads), most), -1, device=tokens.word.device
    )  # the last for tokens without a word
    for text, own in enumerate(heads):
        by_word[text, : len(own)] = torch.tensor(own, device=by_word.device)
    return replace(
        tokens, governor=by_word.gather(1, tokens.word.where(tokens.word >= 0, most - 1)), _derived={}
    )


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
        weights, shape = arrays[f"{GOLD}_weight"], arrays[GOLD].values.shape
        rows: list[Row] = []
        for name in SYNTAX:
            values = weights.values[..., list(weights.coords["template"]).index(name)]  # (layer, head)
            if np.isfinite(values).any():
                best = np.unravel_index(int(np.nanargmax(values)), shape)
                numbers = {"explained": GOLD, "control": f"{GOLD}_control"}
                row: Row = {"template": template_name(name), "head": str(HeadId(*map(int, best)))}
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
    source = Source.of_annotated(treebank, account, options=options, duration=duration, notes=())
    return ExplainedResult(observer.model, source, {stack: tally.measure for stack, tally in tallies.items()})
