"""Loudness: how much a head adds to the residual stream, and whether it adds the same whatever the query."""

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from headscope.measures.base import MEASURES, Measure, TextMean
from headscope.types import AttentionBatch, HeadGrid, LabelledArray

SUMMARIES = {
    "loudness": "mean length of what a head adds, as a share of the sum over its layer's heads",
    "loudness_residual": "mean length of what a head adds, against the residual stream that it is added to",
    "constancy": "length of the mean of what a head adds over queries, against the root mean square of its length",
}


@MEASURES.register("loudness")
@dataclass
class Loudness(Measure):
    """How long a head's output y is after the output projection, and how much of it is always the same.

    `loudness`: the mean over queries of |y_i|, as a share of the sum over the heads of the layer. `loudness_residual`:
    the mean over queries of |y_i| / |x_i|, x being the residual stream that it is added to; nan where that is not seen.
    `constancy`: |mean of y| / root mean square of |y|, which is 1 when every query of a text gets the same vector and
    about 1 over the root of n when n queries get unrelated ones. Each for every text, then the mean over texts.
    """

    name: ClassVar[str] = "loudness"
    summary: ClassVar[str] = SUMMARIES["loudness"]
    weighable: ClassVar[bool] = False
    needs_carried: ClassVar[bool] = True
    from_sums: ClassVar[bool] = True

    grid: HeadGrid
    share: TextMean  # (layer, head)
    residual: TextMean  # (layer, head)
    constancy: TextMean  # (layer, head)

    @classmethod
    def empty(cls, grid: HeadGrid, *, faithful: bool = False) -> Self:
        """Nothing seen yet."""
        return cls(grid, *(TextMean.zeros(*grid.shape) for _ in SUMMARIES))

    def update(self, batch: AttentionBatch) -> None:
        """Count one layer of one batch of texts."""
        # (text, head) or, of all layers at once, (text, layer, head)
        length, square, against, together = self.each_layer(batch.reduce(given_sums), batch).unbind(-1)
        count = batch.queries.lengths.view(-1, *[1] * (length.dim() - 1))
        total = length.sum(-1, keepdim=True)
        self.share.add(length / total, applies=total > 0, layer=batch.layer)
        self.constancy.add(together / (square * count).sqrt(), applies=square > 0, layer=batch.layer)
        self.residual.add(against / count, applies=~against.isnan(), layer=batch.layer)

    def result(self) -> dict[str, LabelledArray]:
        """`loudness`, `loudness_residual` and `constancy`, (layer, head), and their standard errors."""
        arrays: dict[str, LabelledArray] = {}
        for (name, summary), means in zip(
            SUMMARIES.items(), (self.share, self.residual, self.constancy), strict=True
        ):
            arrays |= means.labelled(name, self.grid.coords, summary)
        return arrays


def given_sums(batch: AttentionBatch) -> Tensor:
    """(text, head, 4) sums over queries of what a head gives them after the projection.

    Of its length |y|, of |y|², of |y| / |x| (nan where the residual stream is not seen), and the length of their sum.
    """
    carried = batch.carried
    assert carried is not None
    real = batch.queries.is_token[:, None]  # (text, 1, query)
    given = carried.given.masked_fill(~real, 0)  # (text, head, query)
    outputs = carried.output  # (text, query, head, dim)
    if not batch.queries.is_full:
        outputs = outputs.masked_fill(~real.mT[..., None], 0)
    count = real.sum(-1)[..., None, None]  # the mean first: sums may leave half precision
    together = carried.lengths_of(outputs.sum(1)[:, :, None] / count)[..., 0] * count[..., 0, 0]
    stream = carried.residual
    against = torch.full_like(together, torch.nan)
    if stream is not None:
        against = torch.where(real & (stream > 0)[:, None], given / stream[:, None], 0).sum(-1)
    return torch.stack([given.sum(-1), given.square().sum(-1), against, together], -1)
