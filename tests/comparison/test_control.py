"""Correlations over layers agree with scipy and with numbers by hand."""

import numpy as np
import pytest
from scipy import stats

from headscope.comparison.control import STATISTICS, control

RANDOM = np.random.default_rng(0)
CHANGE, WEIGHTS = RANDOM.uniform(0.1, 1, 12), RANDOM.uniform(0.1, 1, 12)


def test_spearman_is_that_of_scipy() -> None:
    found = control(CHANGE, WEIGHTS)
    seen = stats.spearmanr(CHANGE, WEIGHTS)
    assert found.rho == pytest.approx(seen.statistic)
    assert found.rho_p == pytest.approx(seen.pvalue, abs=0.03)  # theirs is an approximation, ours drawn
    assert found.rho_low < found.rho < found.rho_high
    assert found.depth == pytest.approx(stats.spearmanr(CHANGE, range(12)).statistic)
    assert found.weight_depth == pytest.approx(stats.spearmanr(WEIGHTS, range(12)).statistic)
    assert control(CHANGE, WEIGHTS) == found  # drawn with a fixed seed


def test_the_partial_correlation_is_that_of_what_weights_leave_over() -> None:
    found = control(CHANGE, WEIGHTS)
    ranks = [stats.rankdata(one) for one in (CHANGE, np.arange(12), WEIGHTS)]
    left = [one - np.polyval(np.polyfit(ranks[2], one, 1), ranks[2]) for one in ranks[:2]]
    assert found.partial == pytest.approx(np.corrcoef(*left)[0, 1])
    assert 0 < found.partial_p < 1


def test_the_factor_of_the_last_layers_is_found_again() -> None:
    last = np.arange(12) >= 8
    exact = 0.3 * WEIGHTS**1.7 * np.where(last, 2.5, 1.0)
    found = control(exact, WEIGHTS)
    assert found.excess == pytest.approx(2.5)
    noisy = control(exact * np.exp(RANDOM.normal(0, 0.1, 12)), WEIGHTS)
    assert noisy.excess_low < 2.5 < noisy.excess_high
    assert noisy.excess_low > 1.5


def test_its_interval_is_that_of_least_squares() -> None:
    found = control(CHANGE, WEIGHTS)
    design = np.stack([np.ones(12), np.log(WEIGHTS), np.arange(12) >= 8], 1)
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ np.log(CHANGE)
    left = np.log(CHANGE) - design @ coefficients
    error = np.sqrt((left**2).sum() / 9 * inverse[2, 2])
    low, high = coefficients[2] + np.array([-1, 1]) * stats.t.ppf(0.975, 9) * error
    assert (found.excess_low, found.excess_high) == pytest.approx((np.exp(low), np.exp(high)))


def test_a_change_that_only_follows_the_weights_leaves_nothing_to_depth() -> None:
    rising = np.linspace(0.1, 0.5, 12)
    found = control(rising**2, rising)
    assert found.rho == pytest.approx(1)
    assert found.rho_p < 0.01
    assert np.isnan(found.partial)  # the same ranks: depth and weights cannot be told apart
    assert found.excess == pytest.approx(1)


def test_what_cannot_be_said_is_nan() -> None:
    few = control(CHANGE[:4], WEIGHTS[:4])
    assert all(np.isnan(getattr(few, name)) for name in STATISTICS)
    unknown = control(CHANGE, np.full(12, np.nan))
    assert np.isfinite(unknown.depth)
    assert np.isnan([unknown.rho, unknown.partial, unknown.excess]).all()
    constant = control(CHANGE, np.full(12, 0.2))
    assert np.isnan([constant.rho, constant.rho_p, constant.partial, constant.excess]).all()
    same = control(np.zeros(12), np.zeros(12))
    assert np.isnan([same.rho, same.excess]).all()
