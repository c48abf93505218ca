"""Distance features: 21 numbers that say how far and at what a head looks."""

from typing import ClassVar

import torch
from torch import Tensor

from headscope.measures.base import MEASURES, PerTextMeasure
from headscope.measures.reductions import QueryGroup, class_mass, diagonal_sums
from headscope.types import CLS, COMMA, OTHER, PERIOD, SEP, AttentionBatch, HeadGrid, TokenBatch

WINDOWS = 16
SPECIAL_FEATURES = (("cls", CLS), ("sep", SEP), ("comma", COMMA), ("period", PERIOD))


@MEASURES.register("distance_features")
class DistanceFeatures(PerTextMeasure):
    """The features by which Guan et al. (2020) sort heads into kinds; they add up to 1.

    Attention to [CLS], [SEP], `,` and `.`; to the token itself; and to all other tokens by distance, in 16
    windows: w00 holds distances below n / 16, and so on, the window of distance d being floor(16 d / n). The
    special tokens are left out of the windows and of `self`.
    """

    name: ClassVar[str] = "distance_features"
    summary: ClassVar[str] = "mean attention to special tokens, to the token itself, and by distance"
    dims = ("feature",)
    coords: ClassVar = {
        "feature": (
            *(name for name, _ in SPECIAL_FEATURES),
            "self",
            *(f"w{window:02d}" for window in range(WINDOWS)),
        )
    }

    @classmethod
    def fits(cls, grid: HeadGrid) -> bool:
        """Distances mean nothing between two different texts."""
        return not grid.cross

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, head, feature)."""
        mass = batch.reduce(class_mass)[:, :, QueryGroup.ALL]  # (text, head, class)
        special = mass[..., [role for _, role in SPECIAL_FEATURES]]
        ordinary = (batch.keys.role == OTHER) & batch.keys.is_token
        sums = diagonal_sums(batch.attention, batch.keys, keys=ordinary)  # (text, head, offset + queries)
        table = batch.keys.derive(_window_table)  # (text, offset + queries, self and windows)
        by_distance = sums @ table.to(sums.dtype) / batch.queries.lengths[:, None, None]
        return torch.cat([special, by_distance], -1), None


def _window_table(tokens: TokenBatch) -> Tensor:
    """(text, offset + tokens, feature) 1 where the offset belongs to `self` or to the window."""
    longest = tokens.ids.shape[1]
    distance = torch.arange(-longest, longest + 1, device=tokens.ids.device).abs()
    window = distance * WINDOWS // tokens.lengths[:, None]  # (text, offset + tokens)
    column = torch.where(distance == 0, 0, 1 + window)
    # Distances past a text's end hold no attention; they are put in the last window, where they add 0.
    return torch.nn.functional.one_hot(column.clamp_max(WINDOWS), 1 + WINDOWS)
