"""Do the kinds of heads depend on which heads, or which texts, happened to be looked at? (von Luxburg 2010)"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from headscope.heads.clusters import Clusters, cluster
from headscope.heads.features import HeadFeatures

Array = np.ndarray[Any, Any]

REPEATS = 10
FEWEST_FOLDS = 4


@dataclass(frozen=True)
class Stability:
    """How many heads keep their kind when half of the data is left out."""

    share: float
    """The share of heads that got the same kind in all fits."""
    changed: Array
    """(head,) in how many fits the head was not of its most usual kind."""


def stability_over_heads(features: HeadFeatures, clusters: Clusters, *, seed: int = 0) -> Stability:
    """Fit on a random half of the heads, sort all of them; ten times (the reading of Guan et al.)."""
    random = np.random.default_rng(seed)
    values = features.values
    half = max(clusters.k + 1, len(values) // 2)

    def fits() -> Iterator[Array]:
        for draw in range(REPEATS):
            chosen = np.sort(random.choice(len(values), size=half, replace=False))
            found = cluster(values[chosen], k=clusters.k, method=clusters.method, seed=seed + draw)
            yield found.predict(values)

    return _agreement(fits(), clusters.labels, clusters.k)


def stability_over_texts(features: HeadFeatures, clusters: Clusters, *, seed: int = 0) -> Stability | None:
    """Features from a random half of the texts, clustered anew; ten times. None when too few texts were seen."""
    if features.folds is None or len(features.folds) < FEWEST_FOLDS:
        return None
    parts = len(features.folds)
    random = np.random.default_rng(seed)

    def fits() -> Iterator[Array]:
        for draw in range(REPEATS):
            chosen = np.sort(random.choice(parts, size=parts // 2, replace=False))
            values = features.of_folds(chosen)
            yield cluster(values, k=clusters.k, method=clusters.method, seed=seed + draw).labels

    return _agreement(fits(), clusters.labels, clusters.k)


def matched(labels: Array, reference: Array, k: int) -> Array:
    """The labels renumbered so that as many as possible agree with the reference (Hungarian method)."""
    table = np.zeros((k, k), dtype=int)
    np.add.at(table, (labels, reference), 1)
    mine, theirs = linear_sum_assignment(-table)
    renumbered = np.empty(k, dtype=int)
    renumbered[mine] = theirs
    found: Array = renumbered[labels]
    return found


def _agreement(fits: Iterator[Array], reference: Array, k: int) -> Stability:
    found = np.stack([matched(labels, reference, k) for labels in fits])  # (fit, head)
    usual = np.array([np.bincount(column, minlength=k).max() for column in found.T])
    changed = len(found) - usual
    return Stability(float((changed == 0).mean()), changed)
