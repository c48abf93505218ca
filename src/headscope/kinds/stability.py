"""Do the kinds of heads depend on which heads, or which texts, happened to be looked at? (von Luxburg 2010)"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from headscope.kinds.clusters import Clusters, cluster
from headscope.kinds.features import HeadFeatures
from headscope.types import Array

REPEATS = 10
ROUNDS = 21
"""One round of ten fits depends on the luck of the draw; their mean far less."""
STABLE, STABLE_LOW = 0.95, 0.90
"""What the mean and the low end must reach to be called stable."""
STARTS = 10
FEWEST_FOLDS = 4


@dataclass(frozen=True)
class Stability:
    """How many heads keep their kind when half of the data is left out."""

    rounds: Array
    """(round,) the share of heads that got the same kind in all ten fits of a round."""
    changed: Array
    """(head,) in how many of ten fits, on average, the head was not of its usual kind."""

    @property
    def share(self) -> float:
        """The share of heads that keep their kind in all of ten fits: the mean of the rounds.

        Rounds are of two sorts where a half may miss a small kind altogether: most are good, some far worse. A
        median jumps from one sort to the other with the seed, the mean does not.
        """
        return float(self.rounds.mean())

    @property
    def low(self) -> float:
        """The 5th percentile of the rounds: for rounds of two sorts it says more than a standard deviation."""
        return float(np.quantile(self.rounds, 0.05))

    @property
    def high(self) -> float:
        """The 95th percentile of the rounds."""
        return float(np.quantile(self.rounds, 0.95))

    @property
    def is_stable(self) -> bool:
        """Whether kinds may be called stable: on average, and in an unlucky round still nearly so."""
        return self.share >= STABLE and self.low >= STABLE_LOW

    @property
    def worst(self) -> float:
        """The same in the least lucky round."""
        return float(self.rounds.min())


def stability_over_heads(features: HeadFeatures, clusters: Clusters, *, seed: int = 0) -> Stability | None:
    """Fit on a random half of the heads, sort all of them; ten times (the reading of Guan et al.).

    None where half of the heads are too few for so many kinds.
    """
    values = features.values
    if len(values) // 2 <= clusters.k:
        return None
    return _stability(len(values), lambda half: values[half], clusters, seed, sorts=values)


def stability_over_texts(features: HeadFeatures, clusters: Clusters, *, seed: int = 0) -> Stability | None:
    """Features from a random half of the texts, clustered anew; ten times. None when too few texts were seen."""
    if features.folds is None or len(features.folds) < FEWEST_FOLDS:
        return None
    return _stability(len(features.folds), features.of_folds, clusters, seed)


def matched(labels: Array, reference: Array, k: int) -> Array:
    """The labels renumbered so that as many as possible agree with the reference (Hungarian method)."""
    table = np.zeros((k, k), dtype=int)
    np.add.at(table, (labels, reference), 1)
    mine, theirs = linear_sum_assignment(-table)
    renumbered = np.empty(k, dtype=int)
    renumbered[mine] = theirs
    matching: Array = renumbered[labels]
    return matching


def _stability(
    parts: int,
    features_of: Callable[[Array], Array],
    clusters: Clusters,
    seed: int,
    *,
    sorts: Array | None = None,
) -> Stability:
    """Fits on the features of random halves of the parts; heads are those fitted, or those that each fit `sorts`."""
    random = np.random.default_rng(seed)
    labels = []
    for draw in range(ROUNDS * REPEATS):
        half = np.sort(random.choice(parts, size=parts // 2, replace=False))
        values = features_of(half)
        fit = cluster(values, k=clusters.k, method=clusters.method, seed=seed + draw, starts=STARTS)
        labels.append(
            matched(fit.labels if sorts is None else fit.predict(sorts), clusters.labels, clusters.k)
        )
    kinds = np.stack(labels).reshape(ROUNDS, REPEATS, -1)  # (round, fit, head)
    times = (kinds[..., None] == np.arange(clusters.k)).sum(1)  # (round, head, kind)
    changed = REPEATS - times.max(-1)  # (round, head)
    return Stability((changed == 0).mean(1), changed.mean(0))
