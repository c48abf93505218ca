"""Shares of the score against loops over queries, keys and sets of neurons."""

import itertools

import numpy as np
import pytest
import torch
from tests.explanation.slow import random_scores, variance

from headscope.explanation.moments import best_neurons, moments, random_residual, residual, total

CASES = [(False, False), (True, False), (False, True), (True, True)]


@pytest.mark.parametrize(("causal", "bias"), CASES)
def test_total_and_residual_are_variances_over_keys(causal: bool, bias: bool) -> None:
    text = random_scores(causal=causal, bias=bias)
    found = moments(text)
    for head, chosen in itertools.product(range(2), ([0], [3, 1], [0, 1, 2, 3, 4])):
        left = [m for m in range(6) if m not in chosen]
        assert float(total(found)[head]) == pytest.approx(variance(text, head, list(range(6))))
        picked = torch.tensor([chosen, chosen])
        assert float(residual(found, picked)[head]) == pytest.approx(variance(text, head, left), abs=1e-12)


@pytest.mark.parametrize(("causal", "bias"), CASES)
@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_random_neurons_are_the_mean_over_all_sets(causal: bool, bias: bool, count: int) -> None:
    text = random_scores(causal=causal, bias=bias)
    found = random_residual(moments(text), count)
    for head in range(2):
        draws = [
            variance(text, head, [m for m in range(6) if m not in chosen])
            for chosen in itertools.combinations(range(5), count)
        ]
        assert float(found[head]) == pytest.approx(np.mean(draws), abs=1e-12)


def test_each_neuron_is_the_best_after_those_before_it() -> None:
    text = random_scores(bias=True, seed=3)
    for head in range(2):
        chosen: list[int] = []
        for _ in range(4):
            left = {
                m: variance(text, head, [n for n in range(6) if n not in (*chosen, m)])
                for m in range(5)
                if m not in chosen
            }
            chosen.append(min(left, key=lambda m: left[m]))
        assert best_neurons(moments(text)[head].numpy(), 4) == chosen


def test_a_constant_for_each_query_changes_nothing() -> None:
    text = random_scores()
    moved = random_scores()
    moved.key[:, :, 2] += 7.0
    assert moments(text) == pytest.approx(moments(moved))


def test_like_products_that_have_nothing_to_do_with_each_other_share_evenly() -> None:
    text = random_scores(heads=1, queries=400, neurons=16, seed=1)
    found = moments(text)
    shares = 1 - torch.stack([random_residual(found, n) for n in (1, 2, 4, 8)]) / total(found)
    assert shares[:, 0].numpy() == pytest.approx(np.array([1, 2, 4, 8]) / 16, abs=0.02)
