"""Least squares against scipy's, and by the normal equations."""

import numpy as np
import pytest
from scipy import stats

from headscope.stats.regression import coefficient

RANDOM = np.random.default_rng(0)
X, OTHER, Y = RANDOM.normal(size=(3, 15))


def test_one_column_is_scipys_line() -> None:
    expected = stats.linregress(X, Y)
    half = stats.t.ppf(0.975, 13) * expected.stderr
    found = coefficient(np.stack([np.ones(15), X], 1), Y, 1)
    assert found == pytest.approx((expected.slope, expected.slope - half, expected.slope + half))


def test_another_column_is_allowed_for() -> None:
    """Frisch, Waugh and Lovell: as the line through what the other columns leave over, with one degree fewer."""
    left_x, left_y = (v - np.polyval(np.polyfit(OTHER, v, 1), OTHER) for v in (X, Y))
    expected = stats.linregress(left_x, left_y)
    half = stats.t.ppf(0.975, 12) * expected.stderr * np.sqrt(13 / 12)
    found = coefficient(np.stack([np.ones(15), OTHER, X], 1), Y, 2)
    assert found == pytest.approx((expected.slope, expected.slope - half, expected.slope + half))


def test_columns_that_depend_on_each_other_say_nothing() -> None:
    assert np.isnan(coefficient(np.stack([np.ones(15), X, 2 * X], 1), Y, 2)).all()
