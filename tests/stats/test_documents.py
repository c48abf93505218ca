"""Errors over documents: groups, leaving out one at a time, and how many units of unequal size are worth."""

import numpy as np
import pytest
from scipy import stats

from headscope.stats.documents import (
    DOCUMENT_GROUPS,
    Documents,
    effective,
    group_of,
    jackknife,
    left_out_error,
    ratio_error,
)


def test_the_first_documents_have_a_group_each() -> None:
    assert [group_of(number) for number in range(DOCUMENT_GROUPS)] == list(range(DOCUMENT_GROUPS))


def test_later_documents_fall_into_groups_as_if_drawn() -> None:
    groups = np.array([group_of(number) for number in range(DOCUMENT_GROUPS, 20_000)])
    assert groups.min() >= 0
    assert groups.max() < DOCUMENT_GROUPS
    counts = np.bincount(groups, minlength=DOCUMENT_GROUPS)
    assert stats.chisquare(counts).pvalue > 0.001
    # Nor does the group of a document tell that of the next, as it would if they were dealt out by turns.
    steps = np.bincount(np.diff(groups) % DOCUMENT_GROUPS, minlength=DOCUMENT_GROUPS)
    assert stats.chisquare(steps).pvalue > 0.001


def test_the_jackknife_of_a_ratio_by_its_definition() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 30, size=12).astype(float)
    totals = rng.normal(size=(12, 3)) * sizes[:, None]
    keep = ~np.eye(12, dtype=bool)
    without = np.stack([totals[one].sum(0) / sizes[one].sum() for one in keep])
    ratio = totals.sum(0) / sizes.sum()
    expected = np.sqrt(11 / 12 * ((without - ratio) ** 2).sum(0))
    padded = np.concatenate([sizes, [0.0, 0.0]])  # groups without a case are no groups
    found = jackknife(np.concatenate([totals, np.zeros((2, 3))]), padded[:, None])
    np.testing.assert_allclose(found, expected)


def test_equal_sizes_give_the_textbook_error() -> None:
    values = np.random.default_rng(1).normal(size=20)
    found = jackknife(values * 7, np.full(20, 7.0))
    assert float(found) == pytest.approx(stats.sem(values))


def test_one_group_has_no_error() -> None:
    assert np.isnan(jackknife(np.array([3.0, 0.0]), np.array([4.0, 0.0])))


def test_leaving_out_one_value_of_a_mean_gives_the_textbook_error() -> None:
    values = np.random.default_rng(2).normal(size=9)
    without = np.array([np.delete(values, number).mean() for number in range(9)])
    assert left_out_error(without) == pytest.approx(stats.sem(values))
    assert np.isnan(left_out_error(without[:1]))


def test_the_error_of_a_ratio_from_sums_is_that_of_its_residuals() -> None:
    upper, lower = np.random.default_rng(3).uniform(1, 2, size=(2, 30, 4))
    ratio = upper.sum(0) / lower.sum(0)
    expected = stats.sem(upper - ratio * lower) * 30 / lower.sum(0)  # the residuals add up to 0
    sums = {"uppers": (upper**2).sum(0), "lowers": (lower**2).sum(0), "both": (upper * lower).sum(0)}
    units = np.array([30, 30, 30, 1])
    found = ratio_error(upper.sum(0), lower.sum(0), **sums, units=units)
    np.testing.assert_allclose(found[:3], expected[:3])
    assert np.isnan(found[3])


def test_unequal_documents_are_worth_fewer() -> None:
    assert float(effective(np.full(12, 5.0))) == pytest.approx(12)
    assert float(effective(np.array([5.0, 5.0, 0.0]))) == pytest.approx(2)
    assert float(effective(np.array([100.0, 1.0, 1.0, 1.0]))) == pytest.approx(103**2 / 10_003)


def test_documents_are_counted_once_however_often_they_come() -> None:
    one, other = Documents(), Documents()
    for number in (3, 3, 3, 540, 0):
        one.add(number)
    for number in (540, 7):
        other.add(number)
    one.merge(other)
    assert (len(one), len(other), len(Documents())) == (4, 2, 0)


def test_documents_that_two_parts_share_count_once() -> None:
    first, second = Documents(), Documents()
    for number in (0, 1, 3):
        first.add(number)
    for number in (3, 3, 4, 9):
        second.add(number)
    first.merge(second)
    assert len(first) == len({0, 1, 3, 4, 9})
    assert len(first.empty()) == 0
