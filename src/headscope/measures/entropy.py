"""Entropy: how evenly a head spreads its attention over the tokens it can see."""

from dataclasses import dataclass, field
from typing import ClassVar, Self

import torch
from torch import Tensor

from headscope.measures.base import MEASURES, PerTextMeasure, TextMean
from headscope.measures.reductions import (
    QueryGroup,
    entropy_of,
    groups_present,
    mean_entropy,
    mean_over_groups,
)
from headscope.types import AttentionBatch, LabelledArray, TokenBatch

SMOOTHING = 0.0001

_ASKED = [QueryGroup.ALL, QueryGroup.CLS]


@MEASURES.register("entropy")
@dataclass
class Entropy(PerTextMeasure):
    """Mean entropy of each head's attention, in nats (Clark et al. 2019, section 3.3).

    A query that looks at one token has entropy 0; one that looks evenly at n tokens has log n. From all
    queries, and from [CLS] alone. Beside it stands `entropy_uniform`, the entropy of a head that spreads its
    attention evenly over all it can see: log n, or in a causal stack the mean over queries of log(i + 1).

    Faithful: the released code smooths every distribution first, 0.9999 a + 0.0001 / n.
    """

    name: ClassVar[str] = "entropy"
    summary: ClassVar[str] = "mean entropy of a query's attention"
    units: ClassVar[str] = "nats"
    dims = ("query_role",)
    coords: ClassVar = {"query_role": ("all", "cls")}

    uniform: TextMean = field(default_factory=TextMean.zeros)

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, head, query_role)."""
        means = batch.reduce(_smoothed_entropy if self.faithful else mean_entropy)  # (text, head, group)
        return means[:, :, _ASKED], groups_present(batch.queries)[:, None, _ASKED]

    def update(self, batch: AttentionBatch) -> None:
        """Count one layer of one batch of texts; the baseline depends on the texts alone and is counted once."""
        super().update(batch)
        if batch.layer == 0:
            baseline = _causal_uniform if self.grid.causal else _uniform
            self.uniform.add(batch.keys.derive(baseline))

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        super().merge(other)
        self.uniform.merge(other.uniform)

    def result(self) -> dict[str, LabelledArray]:
        """`entropy` (layer, head, query_role), the baseline `entropy_uniform`, and their standard errors."""
        baseline = self.uniform.labelled(
            "entropy_uniform",
            dims=(),
            coords={},
            description="entropy of uniform attention",
            units=self.units,
        )
        return super().result() | baseline


def _uniform(tokens: TokenBatch) -> Tensor:
    """(text,) entropy of a query that looks evenly at every token."""
    return tokens.lengths.double().log()


def _causal_uniform(tokens: TokenBatch) -> Tensor:
    """(text,) mean over queries of the entropy of looking evenly at itself and all before it."""
    visible = torch.arange(1, tokens.ids.shape[1] + 1, device=tokens.ids.device, dtype=torch.float32)
    return torch.where(tokens.is_token, visible.log(), 0).sum(-1) / tokens.lengths


def _smoothed_entropy(batch: AttentionBatch) -> Tensor:
    """(text, head, group) mean entropy after the released code's smoothing."""
    lengths = batch.keys.lengths[:, None, None, None]
    smoothed = (1 - SMOOTHING) * batch.attention + SMOOTHING / lengths
    return mean_over_groups(entropy_of(smoothed * batch.keys.is_token[:, None, None, :]), batch.queries)
