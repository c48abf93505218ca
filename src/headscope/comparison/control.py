"""Does attention change most where weights moved most? Rank correlations over layers, and what is left of depth."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from headscope.comparison.sums import thirds

Array = np.ndarray[Any, Any]

FEWEST_LAYERS = 5
"""With fewer layers nothing is correlated."""
ROUNDS = 10_000
LEVEL = 0.95

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
    low, high = _interval(change, weights, random)
    partial, partial_p = _partial(change, layers, weights)
    return Control(
        correlation(change, weights),
        low,
        high,
        _p_value(change, weights, random),
        correlation(change, layers),
        correlation(weights, layers),
        partial,
        partial_p,
        *_excess(change, weights),
    )


def correlation(first: Array, second: Array) -> float:
    """Spearman's rho; nan when one of both is the same everywhere."""
    return float(_correlations(stats.rankdata(first)[None], stats.rankdata(second)[None])[0])


def _correlations(first: Array, second: Array) -> Array:
    """(sample,) Pearson correlations of rows (sample, layer)."""
    first = first - first.mean(-1, keepdims=True)
    second = second - second.mean(-1, keepdims=True)
    size = np.sqrt((first**2).sum(-1) * (second**2).sum(-1))
    found: Array = np.full(len(size), np.nan)
    np.divide((first * second).sum(-1), size, out=found, where=size > 1e-9)
    return found


def _interval(first: Array, second: Array, random: np.random.Generator) -> tuple[float, float]:
    drawn = random.integers(len(first), size=(ROUNDS, len(first)))
    rho = _correlations(stats.rankdata(first[drawn], axis=1), stats.rankdata(second[drawn], axis=1))
    rho = rho[np.isfinite(rho)]  # a draw may hold one layer only
    if not len(rho):
        return NOT_KNOWN, NOT_KNOWN
    low, high = np.quantile(rho, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _p_value(first: Array, second: Array, random: np.random.Generator) -> float:
    seen = correlation(first, second)
    if np.isnan(seen):
        return NOT_KNOWN
    shuffled = random.permuted(np.tile(stats.rankdata(first), (ROUNDS, 1)), axis=1)
    drawn = _correlations(shuffled, np.broadcast_to(stats.rankdata(second), shuffled.shape))
    return float((1 + (np.abs(drawn) >= abs(seen) - 1e-12).sum()) / (1 + ROUNDS))


def _partial(change: Array, layers: Array, weights: Array) -> tuple[float, float]:
    """Partial rank correlation, and its p-value by Student's t."""
    with_layer, with_weights = correlation(change, layers), correlation(change, weights)
    between = correlation(layers, weights)
    left = (1 - with_weights**2) * (1 - between**2)
    if not left > 1e-9:  # nan, or two of the three are the same ranks
        return NOT_KNOWN, NOT_KNOWN
    partial = float(np.clip((with_layer - with_weights * between) / np.sqrt(left), -1, 1))
    freedom = len(change) - 3
    t = partial * np.sqrt(freedom / max(1 - partial**2, 1e-12))
    return partial, float(2 * stats.t.sf(abs(t), freedom))


def _excess(change: Array, weights: Array) -> tuple[float, float, float]:
    """A factor with its interval, by least squares on logarithms."""
    if not ((change > 0).all() and (weights > 0).all()):
        return NOT_KNOWN, NOT_KNOWN, NOT_KNOWN
    last = np.arange(len(change)) >= len(change) - thirds(len(change))
    design = np.stack([np.ones(len(change)), np.log(weights), last.astype(float)], 1)
    target = np.log(change)
    freedom = len(change) - design.shape[1]
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return NOT_KNOWN, NOT_KNOWN, NOT_KNOWN
    found, *_ = np.linalg.lstsq(design, target)
    left = target - design @ found
    error = np.sqrt(left @ left / freedom * np.linalg.inv(design.T @ design)[2, 2])
    half = float(stats.t.ppf((1 + LEVEL) / 2, freedom) * error)
    value = float(found[2])
    return float(np.exp(value)), float(np.exp(value - half)), float(np.exp(value + half))
