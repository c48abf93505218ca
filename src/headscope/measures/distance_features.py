"""Distance features: 21 numbers that say how far and at what a head looks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from headscope.attention import AttentionBatch, Derive
from headscope.measures.base import MEASURES, PerTextMeasure
from headscope.measures.folds import FOLDS, FoldSums, fold_of
from headscope.reductions import WINDOWS, QueryGroup, class_mass, picked, window_sums
from headscope.types import CLS, COMMA, PERIOD, SEP, Coords, LabelledArray

SPECIAL_FEATURES = (("cls", CLS), ("sep", SEP), ("comma", COMMA), ("period", PERIOD))


@MEASURES.register("distance_features")
@dataclass
class DistanceFeatures(PerTextMeasure):
    """The features by which Guan et al. (2020) sort heads into kinds; they add up to 1.

    Attention to [CLS], [SEP], `,` and `.`; to the token itself; and to all other tokens by distance, in 16
    windows: w00 holds distances below n / 16, and so on, the window of distance d being floor(16 d / n). The
    special tokens are left out of the windows and of `self`. The sums are also kept for each of 20 parts of the
    texts, so that features of any half of them can be formed afterwards: do the kinds of heads depend on it?
    """

    folds: FoldSums = field(init=False)

    def __post_init__(self) -> None:
        """Parts of the same shape as the whole."""
        self.folds = FoldSums.zeros(*self.means.total.shape)

    name: ClassVar[str] = "distance_features"
    summary: ClassVar[str] = "mean attention to special tokens, to the token itself, and by distance"
    reads: ClassVar = (class_mass, window_sums)
    within_text: ClassVar[bool] = True  # distances mean nothing between two
    dims = ("feature",)
    coords: ClassVar = {
        "feature": (
            *(name for name, _ in SPECIAL_FEATURES),
            "self",
            *(f"w{window:02d}" for window in range(WINDOWS)),
        )
    }

    def derives(self, *, moved: bool) -> Sequence[Derive]:
        """With the parts that texts belong to."""
        return *super().derives(moved=moved), fold_of

    def count(self, values: Tensor, applies: Tensor | None, batch: AttentionBatch) -> None:
        """Add a batch, as a whole and by part."""
        super().count(values, applies, batch)
        self.folds.add(values, batch.queries)

    def result(self) -> dict[str, LabelledArray]:
        """The features, their standard error and even baseline, and the features of each part of the texts."""
        whole = super().result()
        folds: Coords = {"fold": range(FOLDS)}
        coords = {**folds, **whole[self.name].coords}
        about = f"{self.name} of each of {FOLDS} parts of the texts"
        texts = self.folds.texts.cpu().numpy().astype("int64")
        return whole | {
            f"{self.name}_folds": LabelledArray.of(self.folds.mean(), coords, about),
            f"{self.name}_fold_texts": LabelledArray.of(texts, folds, "how many texts each part has"),
        }

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, layer, head, feature)."""
        mass = batch.reduce(class_mass)[..., QueryGroup.ALL, :]  # (text, layer, head, class)
        special = picked(mass, -1, tuple(role for _, role in SPECIAL_FEATURES))
        by_distance = batch.reduce(window_sums) / batch.queries.lengths[:, None, None, None]
        return torch.cat([special, by_distance], -1), None
