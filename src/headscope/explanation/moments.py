"""How much of a head's score a few neurons carry.

A softmax does not see what is added to all scores of a query, so the products x[i, j, m] = scale q[i, m] k[j, m] are
centred over the keys j that query i sees. All shares follow from their covariance matrix C (neuron, neuron): its sum
is the variance of the score, and the variance of what is left without a set of neurons is the sum of C over the rest.
A bias that is added for position stands in the last row and column, and is always part of the rest.
"""

import numpy as np
import torch
from torch import Tensor

from headscope.trace import TextScores
from headscope.types import Array


def moments(text: TextScores) -> Tensor:
    """(head, neuron + 1, neuron + 1) covariance over keys of the products of each query, mean over queries.

    Queries that see the same keys share the covariance of these keys, which makes encoders quick.
    """
    heads, queries, neurons = text.query.shape
    covariances = text.query.new_zeros(heads, neurons + 1, neurons + 1)
    rows, group = torch.unique(text.visible, dim=0, return_inverse=True)  # (row, key), (query,)
    for number, row in enumerate(rows):
        if not row.any():
            continue
        key = text.key[:, row]
        centred = key - key.mean(1, keepdim=True)  # (head, seen key, neuron)
        covariance = centred.transpose(1, 2) @ centred / len(centred[0])  # (head, neuron, neuron)
        query = text.query[:, group == number]
        covariances[:, :-1, :-1] += query.transpose(1, 2) @ query * covariance
    if text.bias is not None:
        seen = text.visible.sum(-1, keepdim=True).clamp_min(1)  # (query, 1)
        bias = (text.bias - text.bias.sum(-1, keepdim=True) / seen).masked_fill(~text.visible, 0)
        beside = (text.query * ((bias / seen) @ text.key)).sum(1)  # (head, neuron)
        covariances[:, -1, :-1] = covariances[:, :-1, -1] = beside
        covariances[:, -1, -1] = (bias.square() / seen).sum((1, 2))
    return covariances / queries


def best_neurons(covariance: Array, most: int) -> list[int]:
    """The neurons of one head, each chosen so that the least variance is left without it and those before it."""
    left = np.ones(len(covariance))
    chosen: list[int] = []
    for _ in range(most):
        change = np.diag(covariance) - 2 * (covariance @ left)  # of what is left, if this neuron went too
        change[chosen] = np.inf
        change[-1] = np.inf  # the bias is no neuron
        chosen.append(int(change.argmin()))
        left[chosen[-1]] = 0
    return chosen


def total(covariance: Tensor) -> Tensor:
    """(head,) the variance of the score."""
    return covariance.sum((-2, -1))


def residual(covariance: Tensor, chosen: Tensor) -> Tensor:
    """(head,) the variance of the score without the neurons `chosen` (head, chosen neuron)."""
    left = torch.ones(covariance.shape[:2], dtype=covariance.dtype, device=covariance.device)
    left.scatter_(1, chosen, 0.0)
    return torch.einsum("hm,hmn,hn->h", left, covariance, left)


def random_residual(covariance: Tensor, count: int) -> Tensor:
    """(head,) the variance left without `count` neurons drawn at random, in expectation over all draws."""
    products = covariance[:, :-1, :-1]
    neurons = products.shape[-1]
    left = neurons - count
    own = products.diagonal(dim1=-2, dim2=-1).sum(-1)
    together = products.sum((-2, -1)) - own
    pairs = left * (left - 1) / (neurons * (neurons - 1)) if neurons > 1 else 0.0
    bias = covariance[:, -1, -1] + 2 * left / neurons * covariance[:, -1, :-1].sum(-1)
    return left / neurons * own + pairs * together + bias
