"""Clusters of heads by their distance features: k-means or Gaussian mixtures, and how well they are separated."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture

from headscope.errors import OptionError
from headscope.stats.permutation import p_value
from headscope.types import Array

Method = Literal["kmeans", "gmm"]

STARTS = {"kmeans": 20, "gmm": 10}
KS = range(2, 9)
"""The numbers of clusters that are compared."""
NULL_DRAWS = 39
NULL_STARTS = 10
STRUCTURE = 0.25
"""A silhouette below this is no substantial structure (Kaufman and Rousseeuw 1990)."""
DIFFERENCE = 0.05
"""Kinds whose centres share all but this much of their attention are not told apart in any useful sense."""

# So that a feature that no head uses has a logarithm.
_LEAST_SHARE = 1e-4
# A component of a mixture may shrink to one head; this keeps its variance away from zero (features are shares).
_LEAST_VARIANCE = 1e-4


@dataclass(frozen=True)
class Clusters:
    """A clustering of heads."""

    method: Method
    labels: Array  # (head,)
    centres: Array  # (cluster, feature)
    certainty: Array
    """(head,) gmm: the probability of its cluster; kmeans: 1 - distance to its centre / to the next."""
    predict: Callable[[Array], Array]
    """(head, feature) to (head,): the cluster of any heads."""

    @property
    def k(self) -> int:
        """How many clusters."""
        return len(self.centres)


def cluster(
    values: Array, *, k: int, method: Method = "kmeans", seed: int = 0, starts: int | None = None
) -> Clusters:
    """Sort heads (head, feature) into k clusters; the same values and seed give the same clusters.

    Clusters are numbered by their centres, not by chance: by their attention to [CLS], then [SEP], and so on.
    """
    if k < 2 or k >= len(values):
        raise OptionError(f"k is {k}; give at least 2 and fewer than the {len(values)} heads")
    starts = starts or STARTS[method]
    if method == "kmeans":
        fitted: Any = KMeans(k, init="k-means++", n_init=starts, random_state=seed).fit(values)
        centres = fitted.cluster_centers_
    elif method == "gmm":
        options = {"covariance_type": "diag", "reg_covar": _LEAST_VARIANCE, "max_iter": 500}
        fitted = GaussianMixture(k, n_init=starts, random_state=seed, **options).fit(values)
        centres = fitted.means_
    else:
        raise OptionError(f"{method!r} is no method; choose from kmeans, gmm")
    order = np.lexsort(centres.T[::-1])  # by the first feature, then the next …
    rank = np.argsort(order)

    def predict(points: Array) -> Array:
        labels: Array = rank[fitted.predict(points)]
        return labels

    return Clusters(method, predict(values), centres[order], _certainty(values, fitted, method), predict)


def _certainty(values: Array, fitted: Any, method: Method) -> Array:
    if method == "gmm":
        most: Array = fitted.predict_proba(values).max(1)
        return most
    nearest: Array = np.sort(fitted.transform(values), axis=1)[:, :2]
    return 1 - nearest[:, 0] / np.maximum(nearest[:, 1], np.finfo(float).tiny)


def silhouette(values: Array, labels: Array) -> float:
    """How much nearer heads are to their own cluster than to the next one, from -1 to 1; nan for one cluster."""
    clusters = len(np.unique(labels))
    return float(silhouette_score(values, labels)) if 2 <= clusters < len(values) else float("nan")


@dataclass(frozen=True)
class Separation:
    """Whether clusters are more than slices of one normal cloud.

    A continuum of another shape (heads spread evenly from near to far) can still pass for separated.
    """

    silhouette: float
    p_value: float
    """How often heads drawn from a single cloud of the same mean and spread look as well separated."""
    difference: float
    """The largest share of attention by which two centres differ."""

    @property
    def is_clear(self) -> bool:
        """Well separated: substantial, beyond what one cloud gives, and of a size that matters."""
        return not self.reasons

    @property
    def reasons(self) -> list[str]:
        """Why not, in words."""
        reasons = {  # a silhouette that is not known is not high enough either
            f"silhouette {self.silhouette:.2f} is below {STRUCTURE}": not self.silhouette >= STRUCTURE,
            f"heads from a single cloud look as well separated (p = {self.p_value:.2f})": self.p_value > 0.05,
            f"the kinds differ in no more than {self.difference:.3f} of their attention": (
                self.difference < DIFFERENCE
            ),
        }
        return [reason for reason, applies in reasons.items() if applies]


def separation(values: Array, clusters: Clusters, *, seed: int = 0) -> Separation:
    """Compare the silhouette with that of heads drawn from one cloud with their mean and spread.

    Two clouds, and the worse verdict counts: a normal one, and one that is normal in the logarithms, whose heads are
    shares that add up to 1 as real ones are.
    """
    seen = silhouette(values, clusters.labels)
    random = np.random.default_rng(seed)
    logs = np.log(values.clip(0) + _LEAST_SHARE)
    p_values = []
    for cloud in (values, logs):
        silhouettes = []
        for draw in range(NULL_DRAWS):
            drawn = random.multivariate_normal(cloud.mean(0), np.cov(cloud.T), size=len(cloud), method="svd")
            drawn = softmax(drawn, axis=1) if cloud is logs else drawn
            null = cluster(drawn, k=clusters.k, method=clusters.method, seed=seed + draw, starts=NULL_STARTS)
            silhouettes.append(silhouette(drawn, null.labels))
        p_values.append(p_value(np.array(silhouettes), seen))
    gaps = np.abs(clusters.centres[:, None] - clusters.centres[None]).sum(-1) / 2
    return Separation(seen, max(p_values), float(gaps.max()))
