"""What is counted while two models read the same texts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor

from headscope.accumulator import Sums
from headscope.attention import AttentionBatch, LayerAttention, StackReads
from headscope.errors import CaptureError
from headscope.facts.analyses.two_models import comparisons
from headscope.measures import MEASURES
from headscope.measures.base import PerTextMeasure, TextMean
from headscope.reductions import cosine_of, divergence_of
from headscope.types import HeadGrid

COSINE, JS = range(2)
CHANGES = tuple(comparisons.CHANGES)
"""How far two maps are apart: 1 - cosine similarity, and Jensen-Shannon divergence in nats."""
GIVERS = ("a", "b")
"""Whose hidden states both models' layers are given when only their own weights shall count."""
SAME_INPUT = tuple(f"{change}_input_{giver}" for giver in GIVERS for change in CHANGES)
"""The same measures when both models' layers are given the hidden states of one of them."""


@dataclass
class AttentionSums(Sums):
    """How alike both models' maps are: head by head, layer by layer, and last layers against first ones."""

    grid: HeadGrid
    cosine: TextMean  # (layer, head)
    js: TextMean  # (layer, head)
    by_layer: TextMean  # (layer, change) mean over the heads of a layer; of the cosine, not of 1 - cosine
    ends: TextMean  # (change,) mean over the last third of the layers less that over the first
    _seen: list[Tensor] = field(default_factory=list, repr=False)  # a layer each, (text, change)

    @classmethod
    def zeros(cls, grid: HeadGrid) -> Self:
        """Nothing seen yet."""
        cosine, js = TextMean.zeros(*grid.shape), TextMean.zeros(*grid.shape)
        return cls(grid, cosine, js, TextMean.zeros(grid.layers, len(CHANGES)), TextMean.zeros(len(CHANGES)))

    def update(self, first: LayerAttention, second: LayerAttention) -> None:
        """Count one layer of a batch of texts as each model saw it."""
        cosine = cosine_of(first.attention, second.attention)
        js = divergence_of(first.attention, second.attention).sum(-1) / second.queries.lengths[:, None]
        layer = second.layer
        self.cosine.add(cosine, layer=layer)
        self.js.add(js, layer=layer)
        means = torch.stack([cosine.mean(1), js.mean(1)], -1)  # (text, change)
        self.by_layer.add(means, layer=layer)
        self._seen.append(means)
        if layer == self.grid.layers - 1:
            seen, self._seen = torch.stack(self._seen, 1), []  # (text, layer, change)
            seen[..., COSINE] = 1 - seen[..., COSINE]
            third = comparisons.thirds(self.grid.layers)
            self.ends.add(seen[:, -third:].mean(1) - seen[:, :third].mean(1))

    def merge(self, other: Self, /) -> None:
        """Count all that `other` has counted."""
        if self._seen or other._seen:
            raise CaptureError("comparisons cannot be merged in the middle of a batch")
        super().merge(other)


@dataclass
class MeasureSums(Sums):
    """One surface measure of both models, and the difference text by text."""

    first: PerTextMeasure
    second: PerTextMeasure
    change: TextMean  # (layer, head, *dims) the second model less the first

    @classmethod
    def zeros(cls, kind: type[PerTextMeasure], grid: HeadGrid) -> Self:
        """Nothing seen yet."""
        first, second = kind.empty(grid), kind.empty(grid)
        return cls(first, second, TextMean.zeros(*first.means.total.shape))

    def empty(self) -> Self:
        """The same measure, nothing seen."""
        return self.zeros(type(self.first), self.first.grid)

    def update(self, first: AttentionBatch, second: AttentionBatch) -> None:
        """Count a batch of texts as each model saw it."""
        before, applies = self.first.per_text(first)
        after, _ = self.second.per_text(second)
        self.first.count(before, applies, first)
        self.second.count(after, applies, second)
        self.change.add(after - before, applies=applies)


@dataclass
class StackSums(Sums):
    """All that is counted in one stack."""

    grid: HeadGrid
    attention: AttentionSums
    same_input: Mapping[str, AttentionSums]
    """The same by GIVERS, when both models' attention is given the hidden states of one of them; may be empty."""
    measures: tuple[MeasureSums, ...]

    @classmethod
    def zeros(cls, grid: HeadGrid, *, same_input: bool) -> Self:
        """Nothing seen yet."""
        return cls(
            grid,
            AttentionSums.zeros(grid),
            {giver: AttentionSums.zeros(grid) for giver in GIVERS} if same_input else {},
            tuple(MeasureSums.zeros(kind, grid) for kind in surface_measures() if kind.fits(grid)),
        )

    @property
    def reads(self) -> StackReads:
        """What the measures read of each model."""
        reductions = dict.fromkeys(
            reduction for measure in self.measures for reduction in measure.first.reads
        )
        return StackReads({"attention": tuple(reductions)})


def surface_measures() -> list[type[PerTextMeasure]]:
    """The measures that give every head of a text a number of its own, so that differences are paired."""
    kinds = [MEASURES.get(name) for name in MEASURES.names()]
    return [kind for kind in kinds if issubclass(kind, PerTextMeasure)]
