"""Atlases whose heads are of known kinds."""

from typing import Any

import numpy as np
from tests.helpers.atlases import FEATURES, Arrays, atlas_of, head_distance, per_head

from headscope.atlas import Atlas
from headscope.types import LabelledArray

CENTRES = {
    "dense": {"cls": 0.02, "sep": 0.05, **{f"w{window:02d}": 0.93 / 16 for window in range(16)}},
    "diagonal": {"self": 0.3, "w00": 0.6, "w01": 0.1},
    "dense&vertical": {"cls": 0.05, "sep": 0.25, **{f"w{window:02d}": 0.7 / 16 for window in range(16)}},
    "vertical": {"cls": 0.1, "sep": 0.7, "period": 0.1, "w03": 0.1},
}
KINDS = tuple(CENTRES)
EVEN = np.array([0.01, 0.02, 0.03, 0.03, 0.01, *(0.9 * (31 - 2 * window) / 256 for window in range(16))])
"""(feature,) a head that looks evenly, on texts of about a hundred tokens."""
FOLDS = 20


def centre(name: str) -> np.ndarray[Any, Any]:
    """(feature,) what heads of a kind look like."""
    return np.array([CENTRES[name].get(feature, 0.0) for feature in FEATURES])


def kinds_of_heads(layers: int, heads: int) -> np.ndarray[Any, Any]:
    """(layer, head) the kinds in turn."""
    return np.resize(np.array(KINDS, dtype=object), (layers, heads))


def kinds_atlas(
    layers: int = 6, heads: int = 8, *, noise: float = 0.01, with_maps: bool = True, folds: bool = True
) -> Atlas:
    """Heads of the four published kinds in turn, with noise that differs from part to part of the texts."""
    random = np.random.default_rng(0)
    kinds = kinds_of_heads(layers, heads)
    clean = np.stack([centre(str(name)) for name in kinds.reshape(-1)]).reshape(layers, heads, -1)

    def noisy(values: np.ndarray[Any, Any], amount: float) -> np.ndarray[Any, Any]:
        drawn = np.clip(values + random.normal(size=values.shape) * amount, 0, None)
        return drawn / drawn.sum(-1, keepdims=True)

    own = noisy(clean, noise)
    parts = noisy(np.repeat(own[None], FOLDS, 0), noise / 3)
    texts = random.integers(1, 9, FOLDS)
    whole = np.einsum("f,flhd->lhd", texts / texts.sum(), parts)
    arrays: Arrays = per_head("distance_features", whole, {"feature": FEATURES})
    labels = {"feature": FEATURES}
    arrays["distance_features_uniform"] = LabelledArray(EVEN, ("feature",), labels, "even")
    if folds:
        coords = {"fold": range(FOLDS), "layer": range(layers), "head": range(heads), **labels}
        arrays["distance_features_folds"] = LabelledArray(parts, tuple(coords), coords, "parts")
        arrays["distance_features_fold_texts"] = LabelledArray(
            texts, ("fold",), {"fold": range(FOLDS)}, "texts"
        )
    if with_maps:
        maps = random.dirichlet(np.full(32, 0.2), (layers, heads, 32))
        arrays |= per_head("example_map", maps, {"row": range(32), "column": range(32)}, stderr=None)
    flat = whole.reshape(layers * heads, -1)
    distance = np.abs(flat[:, None] - flat[None]).sum(-1) / 4
    return atlas_of(arrays | head_distance(distance, layers=layers, heads=heads))
