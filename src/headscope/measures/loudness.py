"""Loudness: how much a head adds to the residual stream, and whether it adds the same whatever the query."""

from dataclasses import dataclass
from typing import ClassVar, Self

from headscope.attention import AttentionBatch
from headscope.measures.base import MEASURES, Measure, TextMean
from headscope.reductions import given_sums
from headscope.types import HeadGrid, LabelledArray

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
    reads: ClassVar = (given_sums,)

    grid: HeadGrid
    share: TextMean  # (layer, head)
    residual: TextMean  # (layer, head)
    constancy: TextMean  # (layer, head)

    @classmethod
    def empty(cls, grid: HeadGrid) -> Self:
        """Nothing seen yet."""
        return cls(grid, *(TextMean.zeros(*grid.shape) for _ in SUMMARIES))

    def update(self, batch: AttentionBatch) -> None:
        """Count one batch of texts."""
        length, square, against, together = batch.reduce(given_sums).unbind(-1)  # (text, layer, head)
        count = batch.queries.lengths[:, None, None]
        total = length.sum(-1, keepdim=True)
        self.share.add(length / total, applies=total > 0)
        self.constancy.add(together / (square * count).sqrt(), applies=square > 0)
        self.residual.add(against / count, applies=~against.isnan())

    def result(self) -> dict[str, LabelledArray]:
        """`loudness`, `loudness_residual` and `constancy`, (layer, head), and their standard errors."""
        arrays: dict[str, LabelledArray] = {}
        for (name, summary), means in zip(
            SUMMARIES.items(), (self.share, self.residual, self.constancy), strict=True
        ):
            arrays |= means.labelled(name, self.grid.coords, summary)
        return arrays
