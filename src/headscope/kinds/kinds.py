"""Kinds of heads: clusters on the distance features, named, with how sure all of that is (Guan et al. 2020)."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headscope.atlas import Atlas
from headscope.atlas.atlas import DERIVED
from headscope.atlas.files import MOVED, moved_arrays
from headscope.errors import AtlasError, HeadscopeWarning
from headscope.kinds.clusters import (
    KS,
    STRUCTURE,
    Clusters,
    Method,
    Separation,
    cluster,
    separation,
    silhouette,
)
from headscope.kinds.features import HeadFeatures, head_features, measure_of
from headscope.kinds.kind_names import LEAST_NEAR, PUBLISHED, group_shares, name_kinds
from headscope.kinds.stability import (
    STABLE,
    STABLE_LOW,
    Stability,
    stability_over_heads,
    stability_over_texts,
)
from headscope.kinds.threads import one_thread
from headscope.types import Array, Coords, LabelledArray, WeighedBy, weigh_option

PUBLISHED_SHARES = {"dense": 0.2604, "diagonal": 0.2556, "dense&vertical": 0.3411, "vertical": 0.1328}
"""BERT-large on SQuAD, Guan et al. 2020."""

PROBE = "types"
"""The name under which kinds stand in an atlas."""

ABOUT_EQUAL = 0.1
"""Silhouettes that differ by less do not decide between two numbers of kinds."""
MOST_CANDIDATES = 3


_STABILITY = {
    "stability": "share",
    "stability_low": "low",
    "stability_high": "high",
    "stability_worst": "worst",
    "stable": "is_stable",
}
"""The facts on stability, each over halves of the heads and of the texts."""


@dataclass(frozen=True)
class HeadKinds:
    """The kind of every head of a stack."""

    features: HeadFeatures
    clusters: Clusters
    names: Sequence[str]
    separation: Separation
    silhouettes: Mapping[int, float]
    recommended_k: int
    by_heads: Stability | None
    by_texts: Stability | None
    seed: int

    def __repr__(self) -> str:
        counts = np.bincount(self.clusters.labels, minlength=self.clusters.k)
        kinds = ", ".join(f"{count} {name}" for name, count in zip(self.names, counts, strict=True))
        return f"<{type(self).__name__} of {counts.sum()} heads: {kinds}>"

    @property
    def shares(self) -> dict[str, float]:
        """The share of heads of each kind."""
        counts = np.bincount(self.clusters.labels, minlength=self.clusters.k)
        return {name: float(count) / counts.sum() for name, count in zip(self.names, counts, strict=True)}

    @property
    def head_type(self) -> Array:
        """(layer, head) the name of each head's kind."""
        return self.named(self.clusters.labels)

    def named(self, numbers: Array) -> Array:
        """(layer, head) the names of kinds (head,)."""
        return np.array(self.names, dtype=object)[numbers].reshape(self._shape)

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
        clear, has_structure = self.separation.is_clear, self._highest >= STRUCTURE
        first = self.features.first
        is_short = group_shares(self.features.uniform, self.features.names)["near"] < LEAST_NEAR
        notes = {
            f"the first token, on which heads of a decoder rest (a share of {0 if first is None else first.mean():.0%} "
            "on average), was taken out first: kinds are by where the rest goes": first is not None,
            f"the {self.clusters.k} kinds are not well separated: {'; '.join(self.separation.reasons)}. Read them as "
            "slices of a continuum, not as kinds": not clear,
            f"nor would any other number of kinds be: the highest silhouette is {self._highest:.2f}": (
                not has_structure
            ),
            "the texts are too short to tell near from far (a window of distance is less than a token wide), so "
            "published names are not used": is_short,
            f"not every centre looks like one of the published kinds ({', '.join(PUBLISHED)}), or two look like the "
            "same one; those are named by where most attention goes": (
                not is_short and not set(self.names) <= set(PUBLISHED)
            ),
            f"k = {self.recommended_k} is recommended for this model: of the best separated numbers of kinds, the "
            "largest that is stable, or else the most stable": (
                self.recommended_k != self.clusters.k and has_structure
            ),
            "the atlas is from an older headscope and keeps no parts of its texts, so how stable the kinds are over "
            "texts is not known; analyse again": self.features.folds is None,
            "the atlas keeps too few parts of its texts to tell how stable the kinds are over texts; analyse more": (
                self.features.folds is not None and self.by_texts is None
            ),
            f"half of {len(self.features.values)} heads are too few to tell how stable {self.clusters.k} kinds are": (
                self.by_heads is None
            ),
        }
        return [note for note, applies in notes.items() if applies] + [
            f"these kinds are not stable: on half of the {half}, {reading.share:.1%} of heads keep their kind in ten "
            f"fits (mean of {len(reading.rounds)} rounds, nine in ten of them {reading.low:.1%} to {reading.high:.1%}; "
            f"stable is a mean of {STABLE:.0%} and a low end of {STABLE_LOW:.0%})"
            for half, reading in self._readings.items()
            if reading is not None and not reading.is_stable
        ]

    @property
    def _highest(self) -> float:
        """The highest silhouette of any number of kinds."""
        return float(np.nanmax(list(self.silhouettes.values())))

    @property
    def _readings(self) -> dict[str, Stability | None]:
        return {"heads": self.by_heads, "texts": self.by_texts}

    def table(self) -> list[dict[str, Any]]:
        """A row for each kind: its share beside the published one, and what its centre looks like."""
        rows = []
        for number, name in enumerate(self.names):
            own = self.clusters.labels == number
            rows.append(
                {
                    "type": name,
                    "heads": int(own.sum()),
                    "share": float(self.shares[name]),
                    "published": PUBLISHED_SHARES.get(name) if self.clusters.k == len(PUBLISHED) else None,
                    "attention": group_shares(self.clusters.centres[number], self.features.names),
                    "certainty": float(self.clusters.certainty[own].mean()) if own.any() else None,
                    "by_layer": self.by_layer[:, number].tolist(),
                }
            )
        return rows

    def facts(self) -> dict[str, Any]:
        """The numbers of the clustering as plain data."""
        return {
            **weigh_option(self.features.weigh),
            "k": self.clusters.k,
            "method": self.clusters.method,
            "seed": self.seed,
            **({} if self.features.first is None else {"first_token": float(self.features.first.mean())}),
            "shares": self.shares,
            **{
                key: {half: reading and getattr(reading, name) for half, reading in self._readings.items()}
                for key, name in _STABILITY.items()
            },
            "silhouette": self.separation.silhouette,
            "silhouettes": {str(k): value for k, value in self.silhouettes.items()},
            "recommended_k": self.recommended_k,
            "has_structure": self._highest >= STRUCTURE,
            "well_separated": self.separation.is_clear,
            "p_value": self.separation.p_value,
            "notes": self.notes,
        }

    def arrays(self) -> dict[str, LabelledArray]:
        """What goes into the atlas."""
        clusters, readings = self.clusters, self._readings
        heads = self.features.coords
        centres: Coords = {"type": list(self.names), "feature": self.features.names}
        unknown = np.full(len(self.features.values), np.nan)
        changed = [unknown if reading is None else reading.changed for reading in readings.values()]
        to_centre = "1 - distance to the own centre / distance to the next one"
        sure = "probability of its kind" if clusters.method == "gmm" else to_centre
        moved = "in how many of ten fits on half of the heads or texts the head was not of its usual kind"
        by_half, by_k = {**heads, "half": tuple(readings)}, {"k": list(self.silhouettes)}
        silhouettes = np.array(list(self.silhouettes.values()))
        parts: dict[str, tuple[Array, Coords, str]] = {
            "": (self.head_type, heads, "kind of each head"),
            "_certainty": (clusters.certainty.reshape(self._shape), heads, sure),
            "_changed": (np.stack(changed, -1).reshape(*self._shape, -1), by_half, moved),
            "_centre": (clusters.centres, centres, "mean distance features of each kind"),
            "_silhouette": (silhouettes, by_k, "silhouette for each number of kinds"),
        }
        return {f"head_type{ending}": LabelledArray.of(*part) for ending, part in parts.items()}

    def to_atlas(self, atlas: Atlas) -> Atlas:
        """The atlas with these kinds in it; those of other stacks stay."""
        stack, measure = self.features.stack, measure_of(self.features.weigh)
        is_moved = self.features.weigh == "moved"
        probe = f"{PROBE}{MOVED}" if is_moved else PROBE
        before = atlas.probes.get(probe, {}).get("stacks", {})
        others = {name: arrays for name, arrays in atlas.found_by(probe).items() if name != stack}
        return atlas.with_probe(
            probe,
            {**others, stack: moved_arrays(self.arrays()) if is_moved else self.arrays()},
            facts={
                "data": f"{measure} of this atlas",
                DERIVED: measure,
                "stacks": {name: before[name] for name in others}
                | {stack: json.loads(json.dumps(self.facts()))},
            },
            table={name: atlas.table(probe, stack=name) for name in others} | {stack: self.table()},
            examples={},
        )


@one_thread()
def head_types(
    atlas: Atlas,
    *,
    k: int = 4,
    method: Method = "kmeans",
    seed: int = 0,
    stack: str | None = None,
    weigh: WeighedBy = "looked",
) -> HeadKinds:
    """Sort the heads of an atlas into k kinds by where they look; warns where that says little.

    By `weigh="moved"` they are sorted by what they move. The same atlas and seed give the same kinds.
    """
    features = head_features(atlas, stack=stack, weigh=weigh)
    numbers = [number for number in KS if number < len(features.values)]
    fits = {
        number: cluster(features.values, k=number, method=method, seed=seed)
        for number in dict.fromkeys([k, *numbers])
    }
    scores = {number: silhouette(features.values, fits[number].labels) for number in numbers}
    if not np.isfinite(list(scores.values())).any():
        raise AtlasError(f"all heads of the {features.stack} look alike: there are no kinds to find")
    candidates = _candidates(scores)
    readings = {
        number: (
            stability_over_heads(features, fits[number], seed=seed),
            stability_over_texts(features, fits[number], seed=seed),
        )
        for number in {k, *candidates}
    }
    kinds = HeadKinds(
        features,
        fits[k],
        name_kinds(fits[k].centres, features.names, features.uniform),
        separation(features.values, fits[k], seed=seed),
        scores,
        _recommended({number: readings[number] for number in candidates}),
        *readings[k],
        seed,
    )
    for note in kinds.notes:
        warnings.warn(note, HeadscopeWarning, stacklevel=3)  # the caller's line, past one_thread
    return kinds


def _candidates(scores: Mapping[int, float]) -> list[int]:
    """The numbers of kinds whose silhouettes are about as high as the highest, at most three of them.

    The highest alone where there is no structure to choose by.
    """
    ranked = sorted((k for k in scores if np.isfinite(scores[k])), key=lambda k: -scores[k])
    if scores[ranked[0]] < STRUCTURE:
        return ranked[:1]
    return sorted(k for k in ranked[:MOST_CANDIDATES] if scores[k] >= scores[ranked[0]] - ABOUT_EQUAL)


def _recommended(stability: Mapping[int, Sequence[Stability | None]]) -> int:
    """The most kinds that are stable in every reading there is; where none are, the most stable."""
    known = {k: [reading for reading in both if reading is not None] for k, both in stability.items()}
    stable = [k for k, both in known.items() if both and all(reading.is_stable for reading in both)]
    shares = {k: min((reading.share for reading in both), default=0.0) for k, both in known.items()}
    return max(stable) if stable else max(shares, key=lambda k: shares[k])
