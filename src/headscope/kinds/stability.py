"""Do the kinds of heads depend on which heads, or which texts, happened to be looked at? (von Luxburg 2010)"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from headscope.kinds.clusters import Clusters, cluster
from headscope.kinds.features import HeadFeatures

Array = np.ndarray[Any, Any]

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
    half = len(values) // 2
    if half <= clusters.k:
        return None

    def fit(random: np.random.Generator, draw: int) -> Array:
        chosen = _some(random, len(values), half)
        return _again(values[chosen], clusters, seed + draw).predict(values)

    return _stability(fit, clusters, seed)


def stability_over_texts(features: HeadFeatures, clusters: Clusters, *, seed: int = 0) -> Stability | None:
    """Features from a random half of the texts, clustered anew; ten times. None when too few texts were seen."""
    if features.folds is None or len(features.folds) < FEWEST_FOLDS:
        return None
    parts = len(features.folds)

    def fit(random: np.random.Generator, draw: int) -> Array:
        values = features.of_folds(_some(random, parts, parts // 2))
        return _again(values, clusters, seed + draw).labels

    return _stability(fit, clusters, seed)


def matched(labels: Array, reference: Array, k: int) -> Array:
    """The labels renumbered so that as many as possible agree with the reference (Hungarian method)."""
    table = np.zeros((k, k), dtype=int)
    np.add.at(table, (labels, reference), 1)
    mine, theirs = linear_sum_assignment(-table)
    renumbered = np.empty(k, dtype=int)
    renumbered[mine] = theirs
    found: Array = renumbered[labels]
    return found


def _some(random: np.random.Generator, among: int, size: int) -> Array:
    return np.sort(random.choice(among, size=size, replace=False))


def _again(values: Array, clusters: Clusters, seed: int) -> Clusters:
    return cluster(values, k=clusters.k, method=clusters.method, seed=seed, starts=STARTS)


def _stability(fit: Callable[[np.random.Generator, int], Array], clusters: Clusters, seed: int) -> Stability:
    random = np.random.default_rng(seed)
    fits = [matched(fit(random, draw), clusters.labels, clusters.k) for draw in range(ROUNDS * REPEATS)]
    found = np.stack(fits).reshape(ROUNDS, REPEATS, -1)  # (round, fit, head)
    times = (found[..., None] == np.arange(clusters.k)).sum(1)  # (round, head, kind)
    changed = REPEATS - times.max(-1)  # (round, head)
    return Stability((changed == 0).mean(1), changed.mean(0))
