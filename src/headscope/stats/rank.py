"""Rank correlations (Spearman's) with intervals and p values."""

import math

import numpy as np
from scipy.special import stdtr

from headscope.stats.intervals import LEVEL
from headscope.stats.permutation import p_value
from headscope.types import Array


def ranks(values: Array) -> Array:
    """(..., case) the ranks from 1, equal values sharing their mean rank: scipy's rankdata, which is slow to load."""
    order = np.argsort(values, axis=-1)
    ascending = np.take_along_axis(values, order, -1)
    before, after = ascending[..., :-1], ascending[..., 1:]
    differs = (before != after) & ~(np.isnan(before) & np.isnan(after))  # nan shares a rank with nan
    place, edge = np.arange(values.shape[-1]), np.ones_like(values[..., :1], dtype=bool)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, differs], -1), place, 0), -1)
    is_last = np.concatenate([differs, edge], -1)
    last = np.minimum.accumulate(np.where(is_last, place, len(place))[..., ::-1], -1)[..., ::-1]
    result = np.empty(values.shape)
    np.put_along_axis(result, order, first + last + 2, -1)
    return result / 2


def correlation(first: Array, second: Array) -> float:
    """Spearman's rho; nan when one of both is the same everywhere."""
    return float(_correlations(ranks(first)[None], ranks(second)[None])[0])


def correlation_p(rho: float, freedom: int) -> float:
    """The two-sided p value of a rank correlation by Student's t; `freedom` is n - 2."""
    t = rho * math.sqrt(freedom / max(1 - rho**2, 1e-12))
    return float(2 * stdtr(freedom, -abs(t)))


def correlation_interval(
    first: Array, second: Array, random: np.random.Generator, *, rounds: int
) -> tuple[float, float]:
    """A 95 % interval by the bootstrap's percentiles.

    Not scipy's bootstrap, which gives nan as soon as one draw holds the same case throughout; among few cases some do.
    """
    drawn = random.integers(len(first), size=(rounds, len(first)))
    rho = _correlations(ranks(first[drawn]), ranks(second[drawn]))
    rho = rho[np.isfinite(rho)]
    if not len(rho):
        return math.nan, math.nan
    low, high = np.quantile(rho, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def permutation_p(first: Array, second: Array, random: np.random.Generator, *, rounds: int) -> float:
    """The two-sided p value of a rank correlation by shuffling; for cases too few for Student's t."""
    seen = correlation(first, second)
    if math.isnan(seen):
        return math.nan
    shuffled = random.permuted(np.tile(ranks(first), (rounds, 1)), axis=1)
    drawn = _correlations(shuffled, np.broadcast_to(ranks(second), shuffled.shape))
    return p_value(np.abs(drawn), abs(seen))


def _correlations(first: Array, second: Array) -> Array:
    """(sample,) Pearson correlations of rows (sample, case)."""
    first = first - first.mean(-1, keepdims=True)
    second = second - second.mean(-1, keepdims=True)
    size = np.sqrt((first**2).sum(-1) * (second**2).sum(-1))
    result: Array = np.full(len(size), np.nan)
    np.divide((first * second).sum(-1), size, out=result, where=size > 1e-9)
    return result
