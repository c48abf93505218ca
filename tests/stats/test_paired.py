"""Paired differences: for means they are the paired t test, with a floor that few documents cannot go below."""

import math

import numpy as np
import pytest
from scipy import stats

from headscope.errors import OptionError
from headscope.stats.paired import least_p, paired_change

CHANGES = np.random.default_rng(0).normal(0.3, 1, 25)


def without_each(values: np.ndarray) -> np.ndarray:
    return np.array([np.delete(values, number).mean() for number in range(len(values))])


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_mean_has_the_paired_t_test(level: float) -> None:
    change = paired_change(CHANGES.mean(), without_each(CHANGES), level=level)
    expected = stats.ttest_1samp(CHANGES, 0)
    assert change.stderr == pytest.approx(stats.sem(CHANGES))
    assert change.p == pytest.approx(expected.pvalue)
    assert (change.low, change.high) == pytest.approx(tuple(expected.confidence_interval(level)))


@pytest.mark.parametrize("units", [2, 5, 12])
def test_no_p_below_that_of_the_sign_test(units: int) -> None:
    assert least_p(units) == pytest.approx(stats.binomtest(0, units).pvalue)
    nearly_alike = 1 + 1e-6 * np.arange(units)
    assert paired_change(nearly_alike.mean(), without_each(nearly_alike)).p == least_p(units)


def test_the_same_change_everywhere_has_no_interval() -> None:
    change = paired_change(0.5, np.full(10, 0.5))
    assert math.isnan(change.low)
    assert change.p == least_p(10)
    none = paired_change(0.0, np.zeros(10))
    assert (none.low, none.high, none.p) == (0, 0, 1)


def test_one_document_says_nothing() -> None:
    change = paired_change(0.5, np.array([np.nan]))
    assert np.isnan([change.stderr, change.low, change.high, change.p]).all()


def test_a_level_is_a_share() -> None:
    with pytest.raises(OptionError, match="level must lie between 0 and 1, not 95"):
        paired_change(0.5, CHANGES, level=95)
