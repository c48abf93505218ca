"""Entropy: how evenly a head spreads its attention over the tokens it can see."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from torch import Tensor

from headscope.attention import AttentionBatch, Derive
from headscope.measures.base import MEASURES, PerTextMeasure
from headscope.reductions import (
    QueryGroup,
    entropy_of,
    has_groups,
    mean_entropy,
    mean_over_groups,
    picked,
)
from headscope.types import LabelledArray, LayerAttention

SMOOTHING = 0.0001

_ASKED = (QueryGroup.ALL, QueryGroup.CLS)


@MEASURES.register("entropy")
class Entropy(PerTextMeasure):
    """Mean entropy of each head's attention, in nats (Clark et al. 2019, section 3.3).

    A query that looks at one token has entropy 0; one that looks evenly at n tokens has log n. From all
    queries, and from [CLS] alone. Beside it stands `entropy_uniform`, the entropy of a head that spreads its
    attention evenly over all it can see: log n, or in a causal stack the mean over queries of log(i + 1).
    """

    name: ClassVar[str] = "entropy"
    summary: ClassVar[str] = "mean entropy of a query's attention"
    reads: ClassVar = (mean_entropy,)
    units: ClassVar[str] = "nats"
    dims = ("query_role",)
    coords: ClassVar = {"query_role": ("all", "cls")}

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, layer, head, query_role)."""
        (mean_by_group,) = self.reads
        means = batch.reduce(mean_by_group)  # (text, layer, head, group)
        return picked(means, 3, _ASKED), batch.queries.derive(has_groups(*_ASKED))[:, None, None]

    def derives(self, *, moved: bool) -> Sequence[Derive]:
        """Which texts have a [CLS]."""
        return (has_groups(*_ASKED),)

    def result(self) -> dict[str, LabelledArray]:
        """`entropy` (layer, head, query_role), the baseline `entropy_uniform`, one number, and standard errors."""
        arrays = super().result()
        for name in ("entropy_uniform", "entropy_uniform_stderr"):
            every = arrays[name]
            arrays[name] = replace(every, values=every.values[0], dims=(), coords={})  # from all queries
        return arrays


def smoothed_entropy(batch: LayerAttention) -> Tensor:
    """(text, head, group) mean entropy after smoothing."""
    lengths = batch.keys.lengths[:, None, None, None]
    smoothed = (1 - SMOOTHING) * batch.attention + SMOOTHING / lengths
    return mean_over_groups(entropy_of(smoothed * batch.keys.is_token[:, None, None, :]), batch.queries)


class PublishedEntropy(Entropy):
    """Entropy as the code of Clark et al. computes it: after smoothing every distribution, 0.9999 a + 0.0001 / n."""

    reads: ClassVar = (smoothed_entropy,)
