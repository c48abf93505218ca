"""The distance features of all heads of a stack, as a matrix, for the whole corpus and for any half of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headscope.atlas import Atlas
from headscope.atlas.files import MOVED
from headscope.errors import AtlasError
from headscope.types import Array, Coords, WeighedBy, check_weighed_by

MEASURE = "distance_features"
FIRST = "cls"
"""The feature that is the share of the first token, where most heads of a decoder rest."""
_LEAST_LEFT = 1e-6


def measure_of(weigh: WeighedBy) -> str:
    """The measure that kinds are made by: of where heads look, or of what they move."""
    check_weighed_by(weigh)
    return MEASURE if weigh == "looked" else MEASURE + MOVED


@dataclass(frozen=True)
class HeadFeatures:
    """One row a head, layer by layer.

    Those of a decoder are shares of what is left without its first token: that is where heads look that have nothing to
    do (Xiao et al. 2024), and how often they have nothing to do would rule all that is told by the features.
    """

    stack: str
    layers: int
    heads: int
    names: tuple[str, ...]  # of the 21 features
    values: Array  # (head, feature)
    uniform: Array  # (feature,) of a head that looks evenly
    folds: Array | None
    """(fold, head, feature) of each part of the texts that has texts, with the first token; None in older atlases."""
    fold_texts: Array | None  # (fold,) how many texts each part has
    weigh: WeighedBy = "looked"
    """Whether they are of where heads look, or of what they move."""
    first: Array | None = None
    """(head,) the share of the first token, where it was taken out."""

    @property
    def labels(self) -> list[str]:
        """Every head as layer.head."""
        return [f"{layer}.{head}" for layer in range(self.layers) for head in range(self.heads)]

    @property
    def coords(self) -> Coords:
        """The labels of an array that has a number a head."""
        return {"layer": range(self.layers), "head": range(self.heads)}

    @property
    def layer(self) -> Array:
        """(head,) the layer of each head."""
        return np.repeat(np.arange(self.layers), self.heads)

    def of_folds(self, chosen: Array) -> Array:
        """(head, feature) the features that the texts of these parts alone would give."""
        assert self.folds is not None
        assert self.fold_texts is not None
        weights = self.fold_texts[chosen] / self.fold_texts[chosen].sum()
        mean: Array = np.einsum("f,fhd->hd", weights, self.folds[chosen])
        return mean if self.first is None else _without_first(mean, self.names)


def head_features(atlas: Atlas, *, stack: str | None = None, weigh: WeighedBy = "looked") -> HeadFeatures:
    """The features of a stack; of the first one that has them by default."""
    measure = measure_of(weigh)
    if measure not in atlas and weigh == "moved" and MEASURE in atlas:
        raise AtlasError(
            f"this atlas has no {measure!r}: it says where heads look only; analyse again with --weigh both"
        )
    array = atlas[f"{stack}/{measure}" if stack else measure].transpose("layer", "head", "feature")
    name = stack or next(name for name in atlas.stacks if measure in atlas.stack(name))
    arrays = atlas.stack(name)
    layers, heads, features = array.shape
    values = array.values.reshape(-1, features).astype(float)
    if not np.isfinite(values).all():
        raise AtlasError(
            f"{int((~np.isfinite(values)).any(1).sum())} heads of the {name} have no distance features; analyse "
            "again on texts the model can read"
        )
    folds = fold_texts = None
    if f"{measure}_folds" in arrays:
        counts = arrays[f"{measure}_fold_texts"].values
        by_fold = arrays[f"{measure}_folds"].transpose("fold", "layer", "head", "feature").values
        has_texts = counts > 0
        folds = by_fold[has_texts].reshape(int(has_texts.sum()), -1, features).astype(float)
        fold_texts = counts[has_texts].astype(float)
    names = tuple(map(str, array["feature"].values))
    uniform = arrays[f"{measure}_uniform"].values.astype(float)
    first = None
    if name == "decoder":
        first = values[:, names.index(FIRST)]
        values, uniform = _without_first(values, names), _without_first(uniform, names)
    return HeadFeatures(name, layers, heads, names, values, uniform, folds, fold_texts, weigh, first)


def _without_first(values: Array, names: Sequence[str]) -> Array:
    """(..., feature) the features as shares of what does not go to the first token, whose own share becomes 0.

    A mean over queries in which each counts by what it has left: a query that gives all to the first token says nothing
    of where else the head looks.
    """
    place = names.index(FIRST)
    left = np.maximum(1 - values[..., place : place + 1], _LEAST_LEFT)
    rest: Array = values / left
    rest[..., place] = 0
    return rest
