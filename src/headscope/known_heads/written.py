"""Kinds of heads that are told by what they write, copying and copy suppression; and how loud heads are.

A head that copies raises the score of the token it looks at most; a copy suppression head lowers it (McDougall et al.
2023). The control is the same head's output at another position of the same text; what the head does there in the
other direction counts as nothing, so that no head copies only because it lowers the same token elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from headscope.accumulator import Sums
from headscope.measures.base import TextMean
from headscope.passes.controlled import ControlledMeans
from headscope.types import HeadGrid
from headscope.writing.effects import LOOKED_AT, LayerEffects, Tokens, effects
from headscope.writing.readout import StraightPaths

SIGNS: Mapping[str, int] = {"copying": 1, "copy_suppression": -1}
"""Kinds by the sign of their effect on the token looked at."""


@dataclass
class WrittenKinds(Sums):
    """What was counted of some texts."""

    kinds: ControlledMeans
    loudness: TextMean  # (layer, head) mean length of what is added, over that of the layer's heads

    @classmethod
    def zeros(cls, grid: HeadGrid, ending: str) -> Self:
        """Nothing seen yet; `ending` is that of the kinds' names."""
        kinds = ControlledMeans.zeros(grid, [f"{kind}{ending}" for kind in SIGNS])
        return cls(kinds, TextMean.zeros(*grid.shape))


def count_written(
    part: WrittenKinds, paths: StraightPaths, inputs: dict[str, Tensor], tokens: Tokens, ending: str = ""
) -> None:
    """Count one batch of texts."""
    for layer in effects(paths, inputs, tokens, targets=(LOOKED_AT,)):
        effect, elsewhere, applies = layer.by_target[LOOKED_AT]
        # A text in which a head looks at special tokens alone counts 0: all heads have the same texts.
        effect, elsewhere = effect * applies, elsewhere * applies
        for kind, sign in SIGNS.items():
            control = (sign * elsewhere).clamp_min(0)
            part.kinds.add(f"{kind}{ending}", layer.layer, sign * effect, control)
        mean = _lengths(layer, tokens.real)  # (text, head)
        part.loudness.add(mean / mean.mean(-1, keepdim=True), layer=layer.layer)


def _lengths(layer: LayerEffects, real: Tensor) -> Tensor:
    """(text, head) the mean length of what heads add to the stream."""
    square = layer.matrix @ layer.matrix.mT  # (head, dim, dim)
    lengths = torch.einsum("tqhd,hde,tqhe->tqh", layer.output, square, layer.output).clamp_min(0).sqrt()
    return (lengths * real[..., None]).sum(1) / real.sum(1, keepdim=True).clamp_min(1)
