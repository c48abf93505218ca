"""How long the vectors are that heads fetch, by kind of token, and whether long ones are looked at."""

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from headscope.measures import Measure, RoleAttention
from headscope.measures.base import TextMean
from headscope.measures.folds import mixed_ids
from headscope.types import ROLES, AttentionBatch, Coords, HeadGrid, LabelledArray, MovedBatch, TokenBatch

SUMMARIES = {
    "fetched_length": "length of what a head fetches at keys of a role, over the mean of the text",
    "fetched_shuffled": "share of what is moved from keys of a role, with lengths shuffled over the text's keys",
    "fetched_correlation": "Spearman correlation, over a text's keys, of mean weight and length",
    "fetched_correlation_shuffled": "the same with lengths shuffled over the text's keys",
}


@dataclass
class FetchedLengths(Measure):
    """The lengths |f_j| of what heads fetch (Kobayashi et al. 2020), each number for every text, then the mean."""

    name: ClassVar[str] = "fetched_length"
    summary: ClassVar[str] = SUMMARIES["fetched_length"]
    within_text: ClassVar[bool] = True
    weighable: ClassVar[bool] = False
    needs_carried: ClassVar[bool] = True

    grid: HeadGrid
    lengths: TextMean  # (layer, head, role)
    shuffled: TextMean  # (layer, head, role)
    correlation: TextMean  # (layer, head)
    control: TextMean  # (layer, head)

    @classmethod
    def empty(cls, grid: HeadGrid, *, faithful: bool = False) -> Self:
        """Nothing seen yet."""
        shape = (grid.layers, grid.heads)
        by_role = (TextMean.zeros(*shape, len(ROLES)) for _ in range(2))
        return cls(grid, *by_role, *(TextMean.zeros(*shape) for _ in range(2)))

    def update(self, batch: AttentionBatch) -> None:
        """Count one layer of one batch of texts."""
        keys, lengths = batch.keys, batch.moved.lengths  # (text, head, key), 0 for padding
        is_role = torch.stack([(keys.role == role) & keys.is_token for role in range(len(ROLES))], -1)
        counts = is_role.sum(1)[:, None]  # (text, 1, role)
        mean = lengths.sum(-1) / keys.lengths[:, None]  # (text, head)
        by_role = lengths @ is_role.to(lengths.dtype) / counts.clamp_min(1)
        self.lengths.add(by_role / mean[..., None], applies=counts > 0, layer=batch.layer)
        order = keys.derive(shuffled_places)[:, None].expand_as(lengths)
        elsewhere = lengths.gather(2, order)
        moved, _ = RoleAttention.empty(self.grid).per_text(MovedBatch(batch, elsewhere))
        self.shuffled.add(moved[:, :, 0], layer=batch.layer)  # from all queries
        asking = (batch.even(causal=self.grid.causal).attention > 0).sum(2)  # (text, 1, key)
        received = batch.attention.sum(2) / asking.clamp_min(1)
        enough = keys.lengths[:, None] > 2
        for means, values in ((self.correlation, lengths), (self.control, elsewhere)):
            means.add(rank_correlation(received, values, keys), applies=enough, layer=batch.layer)

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
    """(text, head) Spearman's correlation over a text's tokens of two numbers (text, head, token)."""
    padding = ~tokens.is_token[:, None]
    ranks = [
        values.masked_fill(padding, torch.inf).argsort(-1).argsort(-1).double() for values in (first, second)
    ]
    apart = (ranks[0] - ranks[1]).masked_fill(padding, 0).square().sum(-1)
    count = tokens.lengths[:, None].double()
    return 1 - 6 * apart / (count * (count.square() - 1)).clamp_min(1)
