"""Does attention change most where weights moved most? Rank correlations over layers, and what is left of depth."""

from dataclasses import dataclass, replace

import numpy as np

from headscope.facts.analyses.two_models.comparisons import thirds
from headscope.stats.rank import correlation, correlation_interval, partial_correlation, permutation_p
from headscope.stats.regression import coefficient
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
    partial: float
    """Correlation of the attention change with the number of the layer that is left at equal weight change (ranks)."""
    partial_p: float
    excess: float
    """How many times more the last third of the layers changed than the others, at equal weight change."""
    excess_low: float
    excess_high: float
    """95 % interval of the regression: log change on log weight change and on being one of the last third."""


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
    partial, partial_p = partial_correlation(change, layers, weights)
    return Control(
        correlation(change, weights),
        low,
        high,
        permutation_p(change, weights, random, rounds=ROUNDS),
        correlation(change, layers),
        correlation(weights, layers),
        partial,
        partial_p,
        *_excess(change, weights),
    )


def _excess(change: Array, weights: Array) -> tuple[float, float, float]:
    """A factor with its interval, by least squares on logarithms."""
    if not ((change > 0).all() and (weights > 0).all()):
        return NOT_KNOWN, NOT_KNOWN, NOT_KNOWN
    last = np.arange(len(change)) >= len(change) - thirds(len(change))
    design = np.stack([np.ones(len(change)), np.log(weights), last.astype(float)], 1)
    value, low, high = coefficient(design, np.log(change), 2)
    return float(np.exp(value)), float(np.exp(low)), float(np.exp(high))
