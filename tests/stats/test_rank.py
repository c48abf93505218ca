"""Rank correlations agree with scipy and with slow loops."""

import numpy as np
import pytest
from scipy import stats

from headscope.stats.rank import (
    correlation,
    correlation_interval,
    correlation_p,
    permutation_p,
    ranks,
)

RANDOM = np.random.default_rng(0)
FIRST = RANDOM.uniform(size=40)
SECOND = np.round(FIRST + RANDOM.normal(scale=0.5, size=40), 1)  # with ties


def test_correlation_and_its_p_are_those_of_scipy() -> None:
    expected = stats.spearmanr(FIRST, SECOND)
    rho = correlation(FIRST, SECOND)
    assert rho == pytest.approx(expected.statistic)
    assert correlation_p(rho, 38) == pytest.approx(expected.pvalue)
    assert correlation_p(-rho, 38) == pytest.approx(expected.pvalue)
    assert correlation_p(1.0, 5) == pytest.approx(0, abs=1e-9)
    assert np.isnan(correlation(FIRST, np.ones(40)))


def test_the_interval_is_that_of_scipys_bootstrap() -> None:
    expected = stats.bootstrap(
        (FIRST, SECOND),
        lambda one, other: stats.spearmanr(one, other).statistic,
        paired=True,
        vectorized=False,
        n_resamples=300,
        method="percentile",
        rng=np.random.default_rng(3),
    ).confidence_interval
    interval = correlation_interval(FIRST, SECOND, np.random.default_rng(3), rounds=300)
    assert interval == pytest.approx(tuple(expected))  # the same draws


def test_draws_of_a_single_case_are_left_out_of_the_interval() -> None:
    low, high = correlation_interval(FIRST[:3], np.array([1.0, 2, 4]), np.random.default_rng(0), rounds=500)
    assert -1 <= low <= high <= 1
    assert np.isnan(correlation_interval(FIRST, np.ones(40), np.random.default_rng(0), rounds=10)).all()


def test_the_p_value_of_few_cases_is_the_share_of_orders() -> None:
    first, second = np.array([1.0, 2, 3, 4, 5, 6]), np.array([2.0, 1, 4, 6, 3, 5])
    exact = stats.permutation_test(
        (first,),
        lambda order: abs(stats.spearmanr(order, second).statistic),
        permutation_type="pairings",
        alternative="greater",
        n_resamples=np.inf,
    ).pvalue
    drawn = permutation_p(first, second, np.random.default_rng(0), rounds=20_000)
    assert drawn == pytest.approx(exact, abs=0.01)
    assert np.isnan(permutation_p(first, np.ones(6), np.random.default_rng(0), rounds=10))


def test_ranks_are_those_of_scipy() -> None:
    random = np.random.default_rng(5)
    values = random.integers(0, 6, (40, 9)).astype(float)
    assert (ranks(values) == stats.rankdata(values, axis=1)).all()
    assert (ranks(values[0]) == stats.rankdata(values[0])).all()
    values[:, 3] = np.nan  # one a row: the last of all, where scipy gives nan to the whole row
    rest = np.delete(np.arange(9), 3)
    assert (ranks(values)[:, 3] == 9).all()
    assert (ranks(values)[:, rest] == stats.rankdata(values[:, rest], axis=1)).all()
    assert (ranks(np.array([np.nan, 1.0, np.nan])) == [2.5, 1, 2.5]).all()
