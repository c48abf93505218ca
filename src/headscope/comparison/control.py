"""Does attention change most where weights moved most? Rank correlations over layers."""

from dataclasses import dataclass, replace

import numpy as np

from headscope.stats.rank import correlation, correlation_interval, permutation_p
from headscope.types import Array

FEWEST_LAYERS = 5
"""With fewer layers nothing is correlated."""
ROUNDS = 10_000

NOT_KNOWN = float("nan")


@dataclass(frozen=True)
class Control:
    """One measure of attention change against one measure of weight change, over the layers of a stack.

    The layers of a network are few and no independent draws, so the p-values and intervals say how clear the
    pattern is in this network, not how it would be in another.
    """

    rho: float
    """Spearman correlation of both."""
    rho_low: float
    rho_high: float
    """95 % bootstrap interval over layers."""
    rho_p: float
    """By permuting layers, two-sided."""
    depth: float
    """Spearman correlation of the attention change with the number of the layer."""
    weight_depth: float
    """The same of the weight change; near 1 or -1, depth and weight change cannot be told apart."""


STATISTICS = tuple(Control.__dataclass_fields__)
_NOTHING = Control(**dict.fromkeys(STATISTICS, NOT_KNOWN))


def control(change: Array, weights: Array, *, seed: int = 0) -> Control:
    """`change` (layer,) of attention against `weights` (layer,), both 0 or more; nan where nothing can be said."""
    layers = np.arange(len(change))
    if len(change) < FEWEST_LAYERS or not np.isfinite(weights).all():
        depth = correlation(change, layers) if len(change) >= FEWEST_LAYERS else NOT_KNOWN
        return replace(_NOTHING, depth=depth)
    random = np.random.default_rng(seed)
    low, high = correlation_interval(change, weights, random, rounds=ROUNDS)
    return Control(
        correlation(change, weights),
        low,
        high,
        permutation_p(change, weights, random, rounds=ROUNDS),
        correlation(change, layers),
        correlation(weights, layers),
    )
