"""A measure of one's own: how large is the largest weight of a query, on average?

python examples/own_measure.py

In a package, declare it as an entry point instead, and the command line finds it too:

    [project.entry-points."headscope.measures"]
    peak_attention = "my_package.peak:PeakAttention"
"""

from typing import ClassVar

from torch import Tensor

import headscope as hs
from headscope.measures import (
    AttentionBatch,
    LayerAttention,
    PerTextMeasure,
    QueryGroup,
    mean_over_groups,
)


def largest_weight(layer: LayerAttention) -> Tensor:
    """(text, head) the mean over queries of their largest weight."""
    largest = layer.attention.amax(-1)  # (text, head, query)
    return mean_over_groups(largest, layer.queries)[..., QueryGroup.ALL]


@hs.MEASURES.register("peak_attention")
class PeakAttention(PerTextMeasure):
    """Mean over queries of the largest attention weight: 1 for a head that always picks a single token."""

    name: ClassVar[str] = "peak_attention"
    summary: ClassVar[str] = "mean of a query's largest attention weight"
    reads: ClassVar = (largest_weight,)
    dims = ()
    coords: ClassVar = {}

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, layer, head)."""
        return batch.reduce(largest_weight), None


atlas = hs.analyze(
    "demo", hs.read_text(hs.sample_path("articles")), measures=["peak_attention", "entropy"], limit=16
)
peak = atlas["peak_attention"]
for layer in peak.layer.values:
    row = " ".join(f"{value:.2f}" for value in peak.sel(layer=layer).values)
    print(f"layer {layer:2d}: {row}")

sharpest = peak.stack(at=("layer", "head")).idxmax().item()
print(f"the sharpest head is {sharpest[0]}.{sharpest[1]}: {peak.max().item():.3f}")
