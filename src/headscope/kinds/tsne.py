"""t-SNE of the distance features: heads that look equally far and at the same kinds of tokens lie together."""

import numpy as np
import xarray as xr
from sklearn.manifold import TSNE

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.kinds.features import head_features

PERPLEXITY = 30.0
FEWEST_HEADS = 8


def feature_map(atlas: Atlas, *, stack: str | None = None, seed: int = 0) -> xr.Dataset:
    """x and y for every `label` (layer.head, with its `layer` and `head`); the same seed gives the same map.

    Only who lies beside whom means something: t-SNE keeps neighbours, not distances.
    """
    features = head_features(atlas, stack=stack)
    count = len(features.values)
    if count < FEWEST_HEADS:
        raise AtlasError(f"t-SNE needs at least {FEWEST_HEADS} heads, the {features.stack} has {count}")
    places = TSNE(
        2, perplexity=min(PERPLEXITY, (count - 1) / 3), init="pca", learning_rate="auto", random_state=seed
    ).fit_transform(features.values)
    places = places - places.mean(0)
    return xr.Dataset(
        {
            "x": ("label", places[:, 0].astype(float), {"long_name": "place on the map", "units": "1"}),
            "y": ("label", places[:, 1].astype(float), {"long_name": "place on the map", "units": "1"}),
        },
        coords={
            "label": features.labels,
            "layer": ("label", features.layer),
            "head": ("label", np.tile(np.arange(features.heads), features.layers)),
        },
        attrs={"method": "t-SNE of the distance features", "seed": seed},
    )
