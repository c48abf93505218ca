"""Intervals: known values of Wilson's, and Student's t for errors over few units."""

import math

import numpy as np
import pytest
from scipy import stats

from headscope.errors import OptionError
from headscope.stats.intervals import mean_interval, mean_share_interval, share_interval, student


@pytest.mark.parametrize(
    ("share", "cases", "low", "high"),
    [
        (81 / 263, 263, 0.2553, 0.3662),  # Newcombe (1998), table I, method 3
        (15 / 148, 148, 0.0624, 0.1605),
        (0 / 20, 20, 0.0000, 0.1611),
        (1 / 29, 29, 0.0061, 0.1718),
        (5 / 10, 10, 0.2366, 0.7634),
        (1.0, 1, 0.2065, 1.0),
        (0.0, 1, 0.0, 0.7935),
    ],
)
def test_wilson(share: float, cases: int, low: float, high: float) -> None:
    assert share_interval(share, math.nan, cases) == pytest.approx((low, high), abs=5e-5)
    assert share_interval(share, 0.0, cases) == pytest.approx((low, high), abs=5e-5)


def test_an_error_twice_as_large_is_a_quarter_of_the_cases() -> None:
    independent = math.sqrt(0.3 * 0.7 / 400)
    assert share_interval(0.3, 2 * independent, 400) == pytest.approx(share_interval(0.3, math.nan, 100))
    assert share_interval(0.3, independent, 400) == pytest.approx(share_interval(0.3, math.nan, 400))


def test_a_small_error_does_not_make_more_cases_than_there_are() -> None:
    assert share_interval(0.5, 1e-9, 10) == share_interval(0.5, math.nan, 10)


def test_large_samples_come_to_two_standard_errors() -> None:
    low, high = share_interval(0.4, 0.002, 10**6)
    assert (low, high) == pytest.approx((0.4 - 1.96 * 0.002, 0.4 + 1.96 * 0.002), abs=1e-5)


def test_an_interval_stays_inside() -> None:
    for share in (0.0, 0.001, 0.5, 0.999, 1.0):
        for stderr in (math.nan, 0.0, 0.3, 10.0):
            low, high = share_interval(share, stderr, 3)
            assert 0 <= low <= share + 1e-12
            assert share - 1e-12 <= high <= 1


def test_no_interval_without_cases() -> None:
    assert all(math.isnan(bound) for bound in share_interval(math.nan, math.nan, 0))
    assert all(math.isnan(bound) for bound in share_interval(math.nan, 0.1, 5))


def test_few_clusters_make_the_interval_wider() -> None:
    """Student's t with 2 degrees of freedom is 4.3027 where the normal quantile is 1.96."""
    shrunk = 100 * (1.959964 / 4.302653) ** 2
    stderr = math.sqrt(0.3 * 0.7 / 100)
    assert share_interval(0.3, stderr, 400, 3) == pytest.approx(
        share_interval(0.3, math.sqrt(0.21 / shrunk), 400)
    )
    assert share_interval(0.3, stderr, 400, 10**6) == pytest.approx(
        share_interval(0.3, stderr, 400), abs=1e-5
    )


@pytest.mark.parametrize("units", [2, 3, 10, 41, 10.7])
def test_a_mean_reaches_students_t_of_its_error(units: float) -> None:
    reach = stats.t.ppf(0.975, units - 1) * 0.02
    assert mean_interval(0.3, 0.02, units) == pytest.approx((0.3 - reach, 0.3 + reach))
    assert student(units) == pytest.approx(stats.t.ppf(0.975, units - 1))


def test_one_unit_says_nothing_of_the_error() -> None:
    assert all(np.isnan(mean_interval(0.3, math.nan, 1.0)))
    assert all(np.isnan(mean_interval(0.3, 0.1, 1.0)))
    assert all(np.isnan(mean_interval(0.3, math.nan, 20)))


@pytest.mark.parametrize("units", [11, 18.5, 61, 2001])
@pytest.mark.parametrize("comparisons", [1, 64, 768, 3072])
def test_one_of_many_differences_is_held_to_bonferroni(units: float, comparisons: int) -> None:
    expected = stats.t.ppf(1 - 0.05 / (2 * comparisons), units - 1)
    assert student(units, comparisons=comparisons) == pytest.approx(expected)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("comparisons", [1, 12])
def test_the_normal_quantile_where_the_number_of_units_is_not_known(level: float, comparisons: int) -> None:
    expected = stats.norm.ppf(1 - (1 - level) / (2 * comparisons))
    assert student(None, level=level, comparisons=comparisons) == pytest.approx(expected)
    low, high = mean_interval(0.3, 0.02, level=level, comparisons=comparisons)
    assert (low, high) == pytest.approx((0.3 - expected * 0.02, 0.3 + expected * 0.02))


def test_arrays_have_arrays_of_ends() -> None:
    means, errors = np.array([0.1, 0.2]), np.array([0.01, np.nan])
    low, high = mean_interval(means, errors, 5)
    assert (low[0], high[0]) == pytest.approx(mean_interval(0.1, 0.01, 5))
    assert np.isnan([low[1], high[1]]).all()


def test_a_mean_of_shares_has_wilsons_interval_at_students_t() -> None:
    """The ends of Wilson's interval are the shares that lie t of their own standard errors from what was seen."""
    for share, stderr, units, cases in ((0.3, 0.05, 8, 0.21 / 0.0025), (1.0, 0.0, 12, 12), (0.0, 0.0, 3, 3)):
        quantile = stats.t.ppf(0.9, units - 1)
        for end in mean_share_interval(share, stderr, units, level=0.8):
            reach = quantile * math.sqrt(end * (1 - end) / cases)
            assert abs(end - share) == pytest.approx(reach, abs=1e-9)


@pytest.mark.parametrize("level", [0, 1, -0.5, 95])
def test_a_level_that_no_interval_has_is_refused(level: float) -> None:
    with pytest.raises(OptionError, match=f"between 0 and 1, not {level}"):
        student(10, level=level)
