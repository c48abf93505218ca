"""Weights of templates: against scipy's solution, and with templates that cannot be told apart."""

import numpy as np
import pytest
from scipy.optimize import minimize

from headscope.measures.mixture import mixture_weights


@pytest.mark.parametrize("seed", range(5))
def test_no_other_weights_are_nearer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    templates = rng.dirichlet(np.full(12, 0.3), (6, 40)).reshape(6, -1)  # (template, row and key)
    target = rng.dirichlet(np.full(12, 0.3), 40).ravel()
    products, with_target = templates @ templates.T, templates @ target
    weights = mixture_weights(products, with_target)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)

    def loss(values: np.ndarray) -> float:
        return float(((target - values @ templates) ** 2).sum())

    slow = minimize(
        loss,
        np.full(6, 1 / 6),
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda values: values.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(weights, slow.x, atol=2e-3)
    assert loss(weights) <= slow.fun * (1 + 1e-4)


def test_a_mixture_is_taken_apart_again() -> None:
    rng = np.random.default_rng(0)
    templates = rng.dirichlet(np.full(12, 0.3), (5, 40)).reshape(5, -1)
    mixed = rng.dirichlet(np.ones(5), (3, 2))  # (layer, head, template)
    found = mixture_weights(templates @ templates.T, mixed @ templates @ templates.T)
    np.testing.assert_allclose(found, mixed, atol=1e-6)


def test_of_templates_that_are_the_same_the_first_has_the_weight() -> None:
    rng = np.random.default_rng(1)
    templates = rng.dirichlet(np.full(12, 0.3), (3, 40)).reshape(3, -1)
    twice = templates[[0, 1, 1, 2, 0]]
    target = twice.T @ [0.5, 0.3, 0, 0.2, 0]
    np.testing.assert_allclose(
        mixture_weights(twice @ twice.T, twice @ target), [0.5, 0.3, 0, 0.2, 0], atol=1e-5
    )
