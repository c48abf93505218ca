"""How long the vectors are that heads fetch, by kind of token, and whether long ones are looked at."""

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from headscope.measures import AttentionBatch, LayerAttention, Measure, QueryGroup, class_mass, reads_values
from headscope.measures.base import TextMean
from headscope.measures.folds import mixed_ids
from headscope.types import ROLES, Coords, HeadGrid, LabelledArray, MovedBatch, TokenBatch

SUMMARIES = {
    "fetched_length": "length of what a head fetches at keys of a role, over the mean of the text",
    "fetched_shuffled": "share of what is moved from keys of a role, with lengths shuffled over the text's keys",
    "fetched_correlation": "Spearman correlation, over a text's keys, of mean weight and length",
    "fetched_correlation_shuffled": "the same with lengths shuffled over the text's keys",
}


@reads_values
def lengths_and_weights(layer: LayerAttention) -> Tensor:
    """(text, head, key, 2) the length of what a head fetches at each key, 0 for padding, and the weights on it."""
    return torch.stack([layer.moved.lengths, layer.attention.sum(2)], -1)


@reads_values
def shuffled_shares(layer: LayerAttention) -> Tensor:
    """(text, head, role) the share of what is moved from keys of each role, with lengths shuffled over the keys."""
    lengths = layer.moved.lengths
    elsewhere = lengths.gather(2, layer.keys.derive(shuffled_places)[:, None].expand_as(lengths))
    return MovedBatch(layer, elsewhere).reduce(class_mass)[:, :, QueryGroup.ALL, : len(ROLES)]


@dataclass
class FetchedLengths(Measure):
    """The lengths |f_j| of what heads fetch (Kobayashi et al. 2020), each number for every text, then the mean."""

    name: ClassVar[str] = "fetched_length"
    summary: ClassVar[str] = SUMMARIES["fetched_length"]
    within_text: ClassVar[bool] = True
    weighable: ClassVar[bool] = False
    reads: ClassVar = (lengths_and_weights, shuffled_shares)

    grid: HeadGrid
    lengths: TextMean  # (layer, head, role)
    shuffled: TextMean  # (layer, head, role)
    correlation: TextMean  # (layer, head)
    control: TextMean  # (layer, head)

    @classmethod
    def empty(cls, grid: HeadGrid) -> Self:
        """Nothing seen yet."""
        shape = (grid.layers, grid.heads)
        by_role = (TextMean.zeros(*shape, len(ROLES)) for _ in range(2))
        return cls(grid, *by_role, *(TextMean.zeros(*shape) for _ in range(2)))

    def update(self, batch: AttentionBatch) -> None:
        """Count one batch of texts."""
        keys = batch.keys
        lengths, weights = batch.reduce(lengths_and_weights).unbind(-1)  # (text, layer, head, key)
        is_role = torch.stack([(keys.role == role) & keys.is_token for role in range(len(ROLES))], -1)
        counts = is_role.sum(1)[:, None, None]  # (text, 1, 1, role)
        mean = lengths.sum(-1, keepdim=True) / keys.lengths[:, None, None, None]
        by_role = lengths @ is_role.to(lengths.dtype)[:, None] / counts.clamp_min(1)
        self.lengths.add(by_role / mean, applies=counts > 0)
        self.shuffled.add(batch.reduce(shuffled_shares))
        queries = keys.lengths[:, None] - torch.arange(keys.ids.shape[1], device=keys.ids.device)
        asking = queries if self.grid.causal else keys.lengths[:, None].expand_as(queries)  # (text, key)
        received = weights / asking.clamp_min(1)[:, None, None]
        elsewhere = lengths.gather(-1, keys.derive(shuffled_places)[:, None, None].expand_as(lengths))
        enough = (keys.lengths > 2)[:, None, None]
        for means, values in ((self.correlation, lengths), (self.control, elsewhere)):
            means.add(rank_correlation(received, values, keys), applies=enough)

    def result(self) -> dict[str, LabelledArray]:
        """The arrays that SUMMARIES names, and their standard errors."""
        heads = self.grid.coords
        means = (self.lengths, self.shuffled, self.correlation, self.control)
        arrays: dict[str, LabelledArray] = {}
        for (name, summary), own in zip(SUMMARIES.items(), means, strict=True):
            coords: Coords = {**heads, "role": ROLES} if own.total.ndim > 2 else heads
            arrays |= own.labelled(name, coords, summary)
        return arrays


def shuffled_places(tokens: TokenBatch) -> Tensor:
    """(text, token) the places of each text's tokens in another order, told by the text alone; padding stays last."""
    chance = torch.full(tokens.ids.shape, 2.0)
    for text, seed in enumerate(tokens.derive(mixed_ids).tolist()):
        draw = torch.Generator().manual_seed(seed)
        length = int(tokens.lengths[text])
        chance[text, :length] = torch.rand(length, generator=draw)
    return chance.argsort(-1).to(tokens.ids.device)


def rank_correlation(first: Tensor, second: Tensor, tokens: TokenBatch) -> Tensor:
    """(text, ...) Spearman's correlation over a text's tokens of two numbers (text, ..., token)."""
    between = [1] * (first.dim() - 2)
    padding = ~tokens.is_token.view(len(first), *between, -1)
    ranks = [
        values.masked_fill(padding, torch.inf).argsort(-1).argsort(-1).double() for values in (first, second)
    ]
    apart = (ranks[0] - ranks[1]).masked_fill(padding, 0).square().sum(-1)
    count = tokens.lengths.view(-1, *between).double()
    return 1 - 6 * apart / (count * (count.square() - 1)).clamp_min(1)
