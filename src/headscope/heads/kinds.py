"""Kinds of heads: clusters on the distance features, named, with how sure all of that is (Guan et al. 2020)."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headscope.atlas import Atlas
from headscope.errors import HeadscopeWarning
from headscope.heads.clusters import Clusters, Method, Separation, cluster, separation, silhouettes
from headscope.heads.features import HeadFeatures, head_features
from headscope.heads.kind_names import PUBLISHED, has_published_names, name_kinds, shares
from headscope.heads.stability import Stability, stability_over_heads, stability_over_texts
from headscope.types import LabelledArray

PUBLISHED_SHARES = {"dense": 0.2604, "diagonal": 0.2556, "dense&vertical": 0.3411, "vertical": 0.1328}
"""BERT-large on SQuAD, Guan et al. 2020."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class HeadKinds:
    """The kind of every head of a stack."""

    features: HeadFeatures
    clusters: Clusters
    names: Sequence[str]
    separation: Separation
    silhouettes: Mapping[int, float]
    by_heads: Stability
    by_texts: Stability | None
    seed: int

    @property
    def recommended_k(self) -> int:
        """The number of kinds with the highest silhouette."""
        return max(self.silhouettes, key=lambda k: self.silhouettes[k])

    @property
    def shares(self) -> dict[str, float]:
        """The share of heads of each kind."""
        counts = np.bincount(self.clusters.labels, minlength=self.clusters.k)
        return {name: float(count) / counts.sum() for name, count in zip(self.names, counts, strict=True)}

    @property
    def head_type(self) -> Array:
        """(layer, head) the name of each head's kind."""
        return np.array(self.names, dtype=object)[self.clusters.labels].reshape(self._shape)

    @property
    def by_layer(self) -> Array:
        """(layer, kind) how many heads of each kind a layer has."""
        counted = np.zeros((self.features.layers, self.clusters.k), dtype=int)
        np.add.at(counted, (self.features.layer, self.clusters.labels), 1)
        return counted

    @property
    def _shape(self) -> tuple[int, int]:
        return self.features.layers, self.features.heads

    @property
    def notes(self) -> list[str]:
        """What a user should know before speaking of kinds."""
        found = []
        if not self.separation.is_clear:
            found.append(
                f"the {self.clusters.k} kinds are not well separated: {'; '.join(self.separation.reasons)}. Read them "
                "as slices of one cloud, not as kinds"
            )
        if not has_published_names(self.names):
            found.append(
                "not every centre looks like one of the published kinds "
                f"({', '.join(PUBLISHED)}); those are described in percent of attention instead"
            )
        if self.recommended_k != self.clusters.k:
            found.append(
                f"the silhouette recommends k = {self.recommended_k} ({self.silhouettes[self.recommended_k]:.2f}) over "
                f"k = {self.clusters.k} ({self.silhouettes.get(self.clusters.k, float('nan')):.2f}) for this model"
            )
        if self.by_texts is None:
            found.append(
                "the atlas keeps too few parts of its texts to tell how stable the kinds are over texts; analyse more"
            )
        return found

    def table(self) -> list[dict[str, Any]]:
        """A row for each kind: its share beside the published one, and what its centre looks like."""
        rows = []
        for number, name in enumerate(self.names):
            special, near, elsewhere = shares(self.clusters.centres[number], self.features.names)
            own = self.clusters.labels == number
            rows.append(
                {
                    "type": name,
                    "heads": int(own.sum()),
                    "share": self.shares[name],
                    "published": PUBLISHED_SHARES.get(name),
                    "special": special,
                    "near": near,
                    "elsewhere": elsewhere,
                    "certainty": float(self.clusters.certainty[own].mean()) if own.any() else None,
                    "by_layer": self.by_layer[:, number].tolist(),
                }
            )
        return rows

    def facts(self) -> dict[str, Any]:
        """The numbers of the clustering as plain data."""
        return {
            "k": self.clusters.k,
            "method": self.clusters.method,
            "seed": self.seed,
            "shares": self.shares,
            "stability": {
                "heads": self.by_heads.share,
                "texts": None if self.by_texts is None else self.by_texts.share,
            },
            "silhouette": self.separation.silhouette,
            "silhouettes": {str(k): value for k, value in self.silhouettes.items()},
            "recommended_k": self.recommended_k,
            "well_separated": self.separation.is_clear,
            "p_value": self.separation.p_value,
            "notes": self.notes,
        }

    def arrays(self) -> dict[str, LabelledArray]:
        """What goes into the atlas."""
        grid = {"layer": range(self.features.layers), "head": range(self.features.heads)}
        changed = [self.by_heads.changed]
        halves = ["heads"]
        if self.by_texts is not None:
            changed.append(self.by_texts.changed)
            halves.append("texts")
        certainty = (
            "probability of its kind"
            if self.clusters.method == "gmm"
            else ("1 - distance to the own centre / distance to the next one")
        )
        return {
            "head_type": LabelledArray(self.head_type, ("layer", "head"), grid, "kind of each head"),
            "head_type_certainty": LabelledArray(
                self.clusters.certainty.reshape(self._shape), ("layer", "head"), grid, certainty
            ),
            "head_type_changed": LabelledArray(
                np.stack([one.reshape(self._shape) for one in changed], -1),
                ("layer", "head", "half"),
                {**grid, "half": halves},
                "in how many of ten fits on half of the heads or texts the head was not of its usual kind",
            ),
            "head_type_centre": LabelledArray(
                self.clusters.centres,
                ("type", "feature"),
                {"type": list(self.names), "feature": self.features.names},
                "mean distance features of each kind",
            ),
            "head_type_silhouette": LabelledArray(
                np.array(list(self.silhouettes.values())),
                ("k",),
                {"k": list(self.silhouettes)},
                "silhouette for each number of kinds",
            ),
        }

    def to_atlas(self, atlas: Atlas) -> Atlas:
        """The atlas with these kinds in it."""
        stack = self.features.stack
        return atlas.with_probe(
            "types",
            {stack: self.arrays()},
            facts=json.loads(json.dumps(self.facts())),
            table={stack: self.table()},
            examples={},
        )


def head_types(
    atlas: Atlas, *, k: int = 4, method: Method = "kmeans", seed: int = 0, stack: str | None = None
) -> HeadKinds:
    """Sort the heads of an atlas into k kinds by where they look; warns where that says little.

    The same atlas and seed give the same kinds.
    """
    features = head_features(atlas, stack=stack)
    found = cluster(features.values, k=k, method=method, seed=seed)
    kinds = HeadKinds(
        features,
        found,
        name_kinds(found.centres, features.names),
        separation(features.values, found, seed=seed),
        silhouettes(features.values, method=method, seed=seed),
        stability_over_heads(features, found, seed=seed),
        stability_over_texts(features, found, seed=seed),
        seed,
    )
    for note in kinds.notes:
        warnings.warn(note, HeadscopeWarning, stacklevel=2)
    return kinds
