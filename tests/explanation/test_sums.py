"""Sums merge exactly, and ratios have the errors they should."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from tests.explanation.slow import products, random_scores
from tests.explanation.test_separation import side

from headscope.explanation.separation import contrasts
from headscope.explanation.sums import (
    Chooser,
    LayerSums,
    RatioSums,
    counts_for,
    divergence,
    drawn_neurons,
    even,
    kept,
    overlap,
)
from headscope.reductions import cosine_of


def test_maps_against_scipy_and_loops() -> None:
    first, second = (random_scores(seed=seed).weights for seed in (0, 1))
    for head in range(2):
        one, other = first[head].numpy(), second[head].numpy()
        js = [jensenshannon(p, q) ** 2 for p, q in zip(one, other, strict=True)]
        assert float(divergence(first, second)[head]) == pytest.approx(np.mean(js))
        flat = one.ravel() @ other.ravel() / np.linalg.norm(one) / np.linalg.norm(other)
        assert float(cosine_of(first, second)[head]) == pytest.approx(flat)
        shared = [sum(min(a, b) for a, b in zip(p, q, strict=True)) for p, q in zip(one, other, strict=True)]
        assert float(overlap(first, second)[head]) == pytest.approx(np.mean(shared))


@pytest.mark.parametrize("causal", [False, True])
def test_a_map_of_few_neurons_is_the_softmax_of_their_products(causal: bool) -> None:
    text = random_scores(causal=causal, bias=True)
    chosen = torch.tensor([[3, 0], [1, 4]])
    for count, map_ in zip((1, 2), kept(text, chosen, (1, 2)), strict=True):
        for head in range(2):
            values = products(text, head)[..., chosen[head, :count].tolist()].sum(-1)
            values[~text.visible.numpy()] = -np.inf
            expected = np.exp(values) / np.exp(values).sum(-1, keepdims=True)
            assert map_[head].numpy() == pytest.approx(expected)
    assert even(text.visible)[0].sum(-1).numpy() == pytest.approx(np.ones(6))


def test_ratio_and_its_error_against_the_jackknife() -> None:
    generator = np.random.default_rng(0)
    lower = generator.uniform(1, 2, 60)
    upper = 0.3 * lower + generator.normal(0, 0.05, 60)
    sums = RatioSums.zeros()
    for one, other in zip(upper, lower, strict=True):
        sums.add(torch.tensor(one), torch.tensor(other))
    assert sums.share() == pytest.approx(1 - upper.sum() / lower.sum())
    left_out = [(upper.sum() - u) / (lower.sum() - v) for u, v in zip(upper, lower, strict=True)]
    jackknife = np.sqrt(59 * np.var(left_out))
    assert sums.stderr() == pytest.approx(jackknife, rel=0.02)


def add(sums: LayerSums, chooser: Chooser, seed: int) -> None:
    text = random_scores(seed=seed, bias=True)
    drawn = drawn_neurons((0, seed), (0, 1), 5)
    sums.add_shares(text, torch.tensor([[0, 1, 2, 3], [4, 3, 2, 1]]), drawn)
    sums.add_contrasts(text, contrasts(side(), side(), text.visible, cross=False))
    sums.add_compared("token", text.weights, random_scores(seed=seed + 50).weights, text.visible)
    sums.add_compared("even", text.weights, even(text.visible).expand_as(text.weights), text.visible)
    chooser.update(text, seed % 2)


def test_what_was_not_replaced_is_nan() -> None:
    sums, chooser = LayerSums.zeros(2, 5), Chooser.zeros(2, 5)
    add(sums, chooser, 0)
    add(sums, chooser, 1)
    assert np.isfinite(sums.left.share()).tolist() == [[True, False, False, False]] * 2
    assert np.isfinite(sums.js.mean()).tolist() == [[True, False, False, False, True]] * 2


def test_counts_stay_within_the_neurons_and_draws_do_not_repeat() -> None:
    assert counts_for(5) == (1, 2, 4)
    assert counts_for(64) == (1, 2, 4, 8)
    drawn = drawn_neurons((0, 3), (1, 2), 64)
    assert drawn.shape == (2, 8)
    assert all(len(set(row)) == 8 for row in drawn.tolist())
    assert torch.equal(drawn[1:], drawn_neurons((0, 3), (2,), 64))
