"""What is kept of the texts: sums for the chosen heads of one layer, merged exactly and in any order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from headscope.accumulator import Sums
from headscope.explanation.moments import moments, random_residual, residual, total
from headscope.explanation.separation import CONTRASTS, Contrast, neuron_areas, score_area
from headscope.measures.base import TextMean
from headscope.probes.halves import SCORE, SELECT
from headscope.reductions import cosine_of, divergence_of
from headscope.stats.documents import ratio_error
from headscope.trace.scores import TextScores, softmax
from headscope.types import Array

NEURON_COUNTS = (1, 2, 4, 8)
REPLACED = ("token", "position", "segment", "all")
"""Whose embeddings are replaced by their mean; all: everything that can be."""
COMPARED = (*REPLACED, "even")
"""What a head's map is laid beside: the same with embeddings replaced, and a head that looks evenly."""

LEAST = 1e-9
"""A head whose scores vary less than this, or whose maps are no further (in nats) from even ones, has no shares."""


def counts_for(neurons: int) -> tuple[int, ...]:
    """How many neurons are looked at together in a head that has so many."""
    return tuple(count for count in NEURON_COUNTS if count <= neurons)


@dataclass
class RatioSums(Sums):
    """1 - sum / sum over texts, with a standard error over texts by linearisation, kept as sums."""

    upper: Tensor  # (...) sum over texts of what is above the line
    lower: Tensor  # (...) below the line
    uppers: Tensor  # (...) sum of squares
    lowers: Tensor
    both: Tensor  # (...) sum of products
    units: Tensor  # (...) how many texts

    @classmethod
    def zeros(cls, *shape: int) -> Self:
        """Nothing seen yet."""
        return cls(*(torch.zeros(shape, dtype=torch.float64) for _ in range(6)))

    def add(self, upper: Tensor, lower: Tensor, at: Any = ...) -> None:
        """Count one text's numbers."""
        upper, lower = upper.cpu(), lower.cpu()
        values = (upper, lower, upper * upper, lower * lower, upper * lower, torch.ones_like(upper))
        for field, value in zip(fields(self), values, strict=True):
            getattr(self, field.name)[at] += value

    def share(self) -> Array:
        """1 - sum / sum; nan where what is below the line is, by text, no more than LEAST."""
        return self._known((1 - self.upper / self.lower).numpy())

    def stderr(self) -> Array:
        """The standard error over texts; nan where there are fewer than two."""
        sums = {field.name: getattr(self, field.name).numpy() for field in fields(self)}
        return self._known(ratio_error(**sums))

    def _known(self, values: Array) -> Array:
        known = self.lower > LEAST * self.units
        return np.where(known.numpy(), values, np.nan)


@dataclass
class Chooser(Sums):
    """What decides the best neurons: the summed covariance of each half of the texts."""

    halves: tuple[Tensor, ...]  # (head, neuron + 1, neuron + 1) by half

    @classmethod
    def zeros(cls, heads: int, neurons: int) -> Self:
        """Nothing seen yet."""
        shape = (heads, neurons + 1, neurons + 1)
        return cls(tuple(torch.zeros(shape, dtype=torch.float64) for _ in (SELECT, SCORE)))

    def update(self, text: TextScores, half: int) -> None:
        """Count one text."""
        self.halves[half].add_(moments(text).cpu())


@dataclass
class LayerSums(Sums):
    """The chosen heads of one layer; every text is scored with the neurons chosen on the other half."""

    share: RatioSums  # (head, count)
    share_random: RatioSums  # (head, count)
    share_bias: RatioSums  # (head,) of what is added for position, alone
    pattern: RatioSums  # (head, count)
    pattern_random: RatioSums  # (head, count)
    neuron_auc: TextMean  # (head, contrast, neuron)
    score_auc: TextMean  # (head, contrast)
    left: RatioSums  # (head, replaced)
    js: TextMean  # (head, compared)
    cosine: TextMean  # (head, compared)
    overlap: TextMean  # (head, compared)

    @classmethod
    def zeros(cls, heads: int, neurons: int) -> Self:
        """Nothing seen yet."""
        counts, kinds = len(counts_for(neurons)), len(CONTRASTS)
        return cls(
            RatioSums.zeros(heads, counts),
            RatioSums.zeros(heads, counts),
            RatioSums.zeros(heads),
            RatioSums.zeros(heads, counts),
            RatioSums.zeros(heads, counts),
            TextMean.zeros(heads, kinds, neurons),
            TextMean.zeros(heads, kinds),
            RatioSums.zeros(heads, len(REPLACED)),
            *(TextMean.zeros(heads, len(COMPARED)) for _ in range(3)),
        )

    def add_shares(self, text: TextScores, chosen: Tensor, drawn: Tensor) -> None:
        """Count what the neurons `chosen` (head, neuron) carry, and as many that were `drawn` at random."""
        covariance = moments(text)
        whole, neurons = total(covariance), text.query.shape[-1]
        uniform = divergence(text.weights, even(text.visible))  # (head,)
        maps = [kept(text, which, counts_for(neurons)) for which in (chosen, drawn)]
        for number, count in enumerate(counts_for(neurons)):
            at = (slice(None), number)
            self.share.add(residual(covariance, chosen[:, :count]), whole, at)
            self.share_random.add(random_residual(covariance, count), whole, at)
            self.pattern.add(divergence(text.weights, maps[0][number]), uniform, at)
            self.pattern_random.add(divergence(text.weights, maps[1][number]), uniform, at)
        self.share_bias.add(covariance[:, :-1, :-1].sum((1, 2)), whole)

    def add_contrasts(self, text: TextScores, contrasts: Mapping[str, Contrast]) -> None:
        """Count which neurons tell keys apart."""
        heads, _, neurons = text.query.shape
        areas = torch.zeros(1, heads, len(CONTRASTS), neurons, dtype=torch.float64)
        whole = torch.zeros(1, heads, len(CONTRASTS), dtype=torch.float64)
        applies = torch.zeros(1, 1, len(CONTRASTS), dtype=torch.bool)
        for number, name in enumerate(CONTRASTS):
            if name in contrasts and contrasts[name].asks.any():
                areas[0, :, number] = neuron_areas(text, contrasts[name]).cpu()
                whole[0, :, number] = score_area(text, contrasts[name]).cpu()
                applies[..., number] = True
        self.neuron_auc.add(areas, applies=applies[..., None])
        self.score_auc.add(whole, applies=applies)

    def add_compared(self, name: str, weights: Tensor, other: Tensor, visible: Tensor) -> None:
        """Count how alike a text's map `weights` (head, query, key) is to the `other` one, which COMPARED names."""
        column = COMPARED.index(name)
        js = divergence(weights, other)
        applies = (torch.arange(len(COMPARED)) == column)[None, None]
        for means, values in (
            (self.js, js),
            (self.cosine, cosine_of(weights, other)),
            (self.overlap, overlap(weights, other)),
        ):
            means.add(values.cpu()[None, :, None].expand(-1, -1, len(COMPARED)), applies=applies)
        if name in REPLACED:
            self.left.add(js, divergence(weights, even(visible)), (slice(None), column))


def drawn_neurons(seed: Sequence[int], heads: Sequence[int], neurons: int) -> Tensor:
    """(head, neuron) neurons in a random order of each head, the same however texts are batched."""
    most = max(counts_for(neurons))
    rows = [np.random.default_rng([*seed, head]).permutation(neurons)[:most] for head in heads]
    return torch.from_numpy(np.stack(rows))


# How alike two attention maps of a text are. Maps are (head, query, key), without padding.


def divergence(first: Tensor, second: Tensor) -> Tensor:
    """(head,) Jensen-Shannon divergence in nats, mean over queries."""
    return divergence_of(first, second).mean(-1)


def overlap(first: Tensor, second: Tensor) -> Tensor:
    """(head,) the attention that both maps give to the same keys, mean over queries."""
    return torch.minimum(first, second).sum(-1).mean(-1)


def even(visible: Tensor) -> Tensor:
    """(1, query, key) a head that looks evenly at all it can see."""
    return (visible / visible.sum(-1, keepdim=True).clamp_min(1)).double()[None]


def kept(text: TextScores, neurons: Tensor, counts: Sequence[int]) -> list[Tensor]:
    """(head, query, key) for each count: the map when only the first so many `neurons` (head, neuron) count.

    All else, a bias for position too, is its mean over the keys of each query, which a softmax does not see.
    """
    heads = torch.arange(len(neurons), device=neurons.device)[:, None]
    query = text.query.transpose(1, 2)[heads, neurons]  # (head, chosen neuron, query)
    key = text.key.transpose(1, 2)[heads, neurons]  # (head, chosen neuron, key)
    return [softmax(query[:, :n].transpose(1, 2) @ key[:, :n], text.visible) for n in counts]
