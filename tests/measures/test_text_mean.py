"""Means and standard errors over texts, against numpy and scipy."""

import numpy as np
import torch
from scipy.stats import sem

from headscope.measures.base import TextMean


def test_mean_and_standard_error_against_scipy() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(11, 2, 3)) + 5
    state = TextMean.zeros(2, 3)
    for part in (values[:1], values[1:7], values[7:]):
        state.add(torch.from_numpy(part))
    np.testing.assert_allclose(state.mean(), values.mean(0))
    np.testing.assert_allclose(state.stderr(), sem(values, axis=0))


def test_texts_that_do_not_apply_are_left_out() -> None:
    state = TextMean.zeros(2)
    state.add(
        torch.tensor([[1.0, 10.0], [2.0, torch.nan], [3.0, 30.0]]),
        applies=torch.tensor([[True, True], [True, False], [True, True]]),
    )
    np.testing.assert_allclose(state.mean(), [2, 20])
    np.testing.assert_allclose(state.stderr(), [sem([1, 2, 3]), sem([10, 30])])


def test_one_text_has_a_mean_and_no_standard_error() -> None:
    state = TextMean.zeros(1)
    state.add(torch.tensor([[4.0]]))
    assert state.mean() == [4]
    assert np.isnan(state.stderr()).all()


def test_equal_values_have_standard_error_zero_despite_rounding() -> None:
    state = TextMean.zeros(1)
    state.add(torch.full((1000, 1), 0.1))
    assert state.stderr()[0] < 1e-9
