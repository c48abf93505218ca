"""Text scores at random, and what is computed of them by loops anyone can check."""

import itertools

import numpy as np
import torch

from headscope.trace.scores import TextScores, softmax

Array = np.ndarray


def random_scores(
    *,
    heads: int = 2,
    queries: int = 6,
    neurons: int = 5,
    causal: bool = False,
    bias: bool = False,
    seed: int = 0,
) -> TextScores:
    generator = torch.Generator().manual_seed(seed)
    query, key = (
        torch.randn(heads, queries, neurons, dtype=torch.float64, generator=generator) for _ in "qk"
    )
    query[:, 1, 0] = 0  # a query that a neuron says nothing of
    key[:, 2] = key[:, 3]  # ties
    visible = torch.ones(queries, queries, dtype=torch.bool)
    visible = visible.tril() if causal else visible
    added = torch.randn(heads, queries, queries, dtype=torch.float64, generator=generator) if bias else None
    added = None if added is None else added.masked_fill(~visible, 0)
    plain = TextScores(query, key, added, visible, torch.zeros(heads, queries, queries, dtype=torch.float64))
    return TextScores(query, key, added, visible, softmax(plain.scores, visible))


def products(text: TextScores, head: int) -> Array:
    """(query, key, neuron + 1) the products and, last, the bias."""
    query, key = text.query[head].numpy(), text.key[head].numpy()
    found = np.zeros((len(query), len(key), query.shape[1] + 1))
    for i, j, m in itertools.product(range(len(query)), range(len(key)), range(query.shape[1])):
        found[i, j, m] = query[i, m] * key[j, m]
    if text.bias is not None:
        found[..., -1] = text.bias[head].numpy()
    return found


def variance(text: TextScores, head: int, members: list[int]) -> float:
    """Of the sum of some products over the keys each query sees, mean over queries."""
    sums = products(text, head)[..., members].sum(-1)
    return float(np.mean([np.var(row[seen]) for row, seen in zip(sums, text.visible.numpy(), strict=True)]))
