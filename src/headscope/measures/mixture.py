"""The mixture of templates that comes nearest to attention: non-negative least squares, weights that add up to 1."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_SUM = 1e3
"""How much a sum other than 1 weighs, against the largest product of two templates."""
_ROUNDING = 1e-10


def mixture_weights(products: Array, with_attention: Array) -> Array:
    """(..., template) w >= 0 with sum 1 that minimise |A - sum w T|².

    `products` (template, template) are <T_k, T_l>, `with_attention` (..., template) are <T_k, A>. Of templates that
    cannot be told apart the first one gets the weight.
    """
    penalty = _SUM * products.max()
    flat = with_attention.reshape(-1, len(products))
    weights = np.stack([_non_negative(products + penalty, row + penalty) for row in flat])
    result: Array = (weights / weights.sum(-1, keepdims=True)).reshape(with_attention.shape)
    return result


def _non_negative(products: Array, target: Array) -> Array:
    """Lawson and Hanson's active set, on products alone (Bro and de Jong 1997)."""
    size = len(target)
    weights, free = np.zeros(size), np.zeros(size, dtype=bool)
    for _ in range(3 * size):
        gradient = np.where(free, -np.inf, target - products @ weights)
        best = int(gradient.argmax())
        if gradient[best] <= _ROUNDING * np.abs(target).max():
            break
        free[best] = True
        while True:
            wanted, some = np.zeros(size), np.flatnonzero(free)
            wanted[some] = np.linalg.lstsq(products[some[:, None], some], target[some], rcond=1e-13)[0]
            falling = free & (wanted <= 0)
            if not falling.any():
                break
            step = (weights[falling] / (weights[falling] - wanted[falling])).min()
            weights += step * (wanted - weights)
            free &= weights > _ROUNDING
            weights[~free] = 0
        weights = wanted
    return weights
