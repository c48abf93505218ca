"""Copying and composition of matrices whose answer is known."""

import pytest
import torch
from torch import Tensor

from headscope.writing.readout import Readout
from headscope.writing.weights import HeadMatrices, composition, copying

TOKENS, HIDDEN, WIDTH, HEADS = 40, 12, 4, 3


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def readout(unembedding: Tensor) -> Readout:
    return Readout(
        torch.nn.Identity(), False, 0.0, torch.ones(HIDDEN, dtype=torch.float64), None, unembedding, None
    )


def matrices(value: Tensor, output: Tensor) -> HeadMatrices:
    return HeadMatrices(
        random(HEADS, HIDDEN, WIDTH, seed=8), random(HEADS, HIDDEN, WIDTH, seed=9), value, output
    )


def test_a_head_that_writes_what_it_reads_copies() -> None:
    value = random(HEADS, HIDDEN, WIDTH, seed=0)
    embedding = random(TOKENS, HIDDEN, seed=1)
    embedding = embedding - embedding.mean(0)  # so that centring over the vocabulary changes nothing
    through = readout(embedding)
    assert copying(matrices(value, value.mT), embedding, through) == pytest.approx(1)
    assert copying(matrices(value, -value.mT), embedding, through) == pytest.approx(-1)


def test_the_small_product_has_the_eigenvalues_of_the_large_one() -> None:
    value, output = random(HEADS, HIDDEN, WIDTH, seed=2), random(HEADS, WIDTH, HIDDEN, seed=3)
    embedding, through = random(TOKENS, HIDDEN, seed=4), readout(random(TOKENS, HIDDEN, seed=5))
    for head in range(HEADS):
        large = embedding @ value[head] @ output[head] @ through.directions.T  # (token, token)
        values = torch.linalg.eigvals(large)
        expected = values.real.sum() / values.abs().sum()
        assert float(copying(matrices(value, output), embedding, through)[head]) == pytest.approx(
            float(expected)
        )


def test_composition_by_large_products() -> None:
    first = matrices(random(HEADS, HIDDEN, WIDTH, seed=6), random(HEADS, WIDTH, HIDDEN, seed=7))
    second = HeadMatrices(
        *(random(HEADS, HIDDEN, WIDTH, seed=seed) for seed in (10, 11, 12)),
        random(HEADS, WIDTH, HIDDEN, seed=13),
    )
    found = composition(first, second)
    for later in range(HEADS):
        for earlier in range(HEADS):
            wrote = first.value[earlier] @ first.output[earlier]  # (hidden, hidden)
            score = second.query[later] @ second.key[later].T
            moves = second.value[later] @ second.output[later]
            for place, circuit in enumerate((score, score.T, moves)):
                expected = (wrote @ circuit).norm() / wrote.norm() / circuit.norm()
                assert float(found[place, later, earlier]) == pytest.approx(float(expected))


def test_random_matrices_compose_as_said() -> None:
    """The root mean square over random matrices is one over the root of the stream's width."""
    many = [
        composition(
            matrices(random(30, HIDDEN, WIDTH, seed=seed), random(30, WIDTH, HIDDEN, seed=seed + 100)),
            HeadMatrices(
                *(random(30, HIDDEN, WIDTH, seed=seed + more) for more in (200, 300, 400)),
                random(30, WIDTH, HIDDEN, seed=seed + 500),
            ),
        )
        for seed in range(4)
    ]
    mean = torch.stack(many).square().mean().sqrt()
    assert float(mean) == pytest.approx(HIDDEN**-0.5, rel=0.02)
