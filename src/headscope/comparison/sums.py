"""What is counted while two models read the same texts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor

from headscope.accumulator import Sums
from headscope.errors import CaptureError
from headscope.facts.analyses.two_models import comparisons
from headscope.measures import MEASURES
from headscope.measures.base import PerTextMeasure, TextMean
from headscope.measures.reductions import entropy_of
from headscope.types import AttentionBatch, HeadGrid

COSINE, JS = range(2)
CHANGES = tuple(comparisons.CHANGES)
"""How far two maps are apart: 1 - cosine similarity, and Jensen-Shannon divergence in nats."""
GIVERS = ("a", "b")
"""Whose hidden states both models' layers are given when only their own weights shall count."""
SAME_INPUT = tuple(f"{change}_input_{giver}" for giver in GIVERS for change in CHANGES)
"""The same measures when both models' layers are given the hidden states of one of them."""


def map_cosine(first: Tensor, second: Tensor) -> Tensor:
    """(text, head) cosine similarity of maps (text, head, query, key), each flattened; 0 where there is padding.

    Two heads that look nowhere at all are alike (1); one that does and one that does not are not (0).
    """
    dot = (first * second).sum((-2, -1))
    norms = [maps.square().sum((-2, -1)) for maps in (first, second)]
    cosine = (dot / (norms[0] * norms[1]).sqrt().clamp_min(torch.finfo(dot.dtype).tiny)).clamp_max(1)
    return torch.where((norms[0] == 0) & (norms[1] == 0), 1.0, cosine)


def map_divergence(first: Tensor, second: Tensor, queries: Tensor) -> Tensor:
    """(text, head) Jensen-Shannon divergence in nats, mean over the `queries` (text,) of each text.

    H((p + q) / 2) - (H(p) + H(q)) / 2; padding holds 0 and adds nothing.
    """
    joint = entropy_of((first + second) / 2) - (entropy_of(first) + entropy_of(second)) / 2
    return joint.clamp_min(0).sum(-1) / queries[:, None]


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
        shape = (grid.layers, grid.heads)
        return cls(
            grid,
            TextMean.zeros(*shape),
            TextMean.zeros(*shape),
            TextMean.zeros(grid.layers, len(CHANGES)),
            TextMean.zeros(len(CHANGES)),
        )

    def update(self, first: AttentionBatch, second: AttentionBatch) -> None:
        """Count one layer of a batch of texts as each model saw it."""
        cosine = map_cosine(first.attention, second.attention)
        js = map_divergence(first.attention, second.attention, second.queries.lengths)
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
        """Count one layer of a batch of texts as each model saw it."""
        before, applies = self.first.per_text(first)
        after, _ = self.second.per_text(second)
        self.first.count(before, applies, first)
        self.second.count(after, applies, second)
        self.change.add(after - before, applies=applies, layer=second.layer)


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

    def update(self, first: AttentionBatch, second: AttentionBatch) -> None:
        """Count one layer of a batch of texts as each model saw it."""
        self.attention.update(first, second)
        for measure in self.measures:
            measure.update(first, second)


def surface_measures() -> list[type[PerTextMeasure]]:
    """The measures that give every head of a text a number of its own, so that differences are paired."""
    kinds = [MEASURES.get(name) for name in MEASURES.names()]
    return [kind for kind in kinds if issubclass(kind, PerTextMeasure)]
