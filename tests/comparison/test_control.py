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


def test_a_change_that_only_follows_the_weights_and_depth() -> None:
    rising = np.linspace(0.1, 0.5, 12)
    found = control(rising**2, rising)
    assert found.rho == pytest.approx(1)
    assert found.rho_p < 0.01
    assert found.depth == pytest.approx(1)
    assert found.weight_depth == pytest.approx(1)  # so depth and weights cannot be told apart


def test_what_cannot_be_said_is_nan() -> None:
    few = control(CHANGE[:4], WEIGHTS[:4])
    assert all(np.isnan(getattr(few, name)) for name in STATISTICS)
    unknown = control(CHANGE, np.full(12, np.nan))
    assert np.isfinite(unknown.depth)
    assert np.isnan([unknown.rho, unknown.rho_p, unknown.weight_depth]).all()
    constant = control(CHANGE, np.full(12, 0.2))
    assert np.isnan([constant.rho, constant.rho_p]).all()
    same = control(np.zeros(12), np.zeros(12))
    assert np.isnan(same.rho)
