"""Weights of a mixture are never negative, and no other weights that add up to 1 come nearer."""

import numpy as np
import pytest
from scipy.optimize import minimize

from headscope.measures.mixture import mixture_weights


@pytest.mark.parametrize("seed", range(8))
def test_no_other_mixture_comes_nearer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    templates = rng.dirichlet(np.full(12, 0.5), 5)  # (template, key), of which some are alike
    templates[1] = 0.8 * templates[0] + 0.2 * templates[1]
    attention = rng.dirichlet(np.full(12, 0.2), 3)  # (row, key), no mixture of them
    found = mixture_weights(templates @ templates.T, attention @ templates.T)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(-1), 1)
    for weights, row in zip(found, attention, strict=True):

        def miss(own: np.ndarray, row: np.ndarray = row) -> float:
            return float(((row - own @ templates) ** 2).sum())

        best = minimize(
            miss,
            np.full(5, 0.2),
            method="SLSQP",
            bounds=[(0, 1)] * 5,
            constraints={"type": "eq", "fun": lambda own: own.sum() - 1},
            options={"ftol": 1e-12, "maxiter": 500},
        )
        assert miss(weights) <= best.fun + 1e-5
