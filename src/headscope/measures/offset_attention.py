"""Offset attention: how much a head looks at the token a fixed number of places away."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from headscope.attention import AttentionBatch, Derive
from headscope.measures.base import MEASURES, PerTextMeasure
from headscope.reductions import FARTHEST, near_diagonals
from headscope.types import TokenBatch


@MEASURES.register("offset_attention")
class OffsetAttention(PerTextMeasure):
    """Mean attention at every offset from -8 to 8 (Clark et al. 2019, section 3.1, generalised).

    The offset is key minus query: -1 is the previous token, 0 the token itself, 1 the next. The mean at
    an offset is over the queries that have such a neighbour (n - |offset| of the n tokens); a text too
    short to have one is left out of it. In a causal stack what lies ahead cannot be seen and is 0.
    """

    name: ClassVar[str] = "offset_attention"
    summary: ClassVar[str] = "mean attention to the token at this offset (key minus query)"
    reads: ClassVar = (near_diagonals,)
    within_text: ClassVar[bool] = True  # offsets mean nothing between two
    dims = ("offset",)
    coords: ClassVar = {"offset": range(-FARTHEST, FARTHEST + 1)}

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, layer, head, offset)."""
        sums = batch.reduce(near_diagonals)  # padding is 0 and adds nothing
        counts, applies = batch.queries.derive(neighbours)
        return sums / counts[:, None, None], applies[:, None, None]

    def derives(self, *, moved: bool) -> Sequence[Derive]:
        """How many neighbours there are."""
        return (neighbours,)


def neighbours(tokens: TokenBatch) -> tuple[Tensor, Tensor]:
    """(text, offset) how many queries have a token at that offset, at least 1, and whether any has."""
    offsets = torch.arange(-FARTHEST, FARTHEST + 1, device=tokens.ids.device)
    counts = tokens.lengths[:, None] - offsets.abs()
    return counts.clamp_min(1), counts > 0
