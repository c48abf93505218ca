"""Divergences of every two heads by the kernels, interpreted on a CPU or on a GPU, against a loop in float64."""

from math import log

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

pytest.importorskip(
    "triton", reason="the kernels' tests were left out: triton is not installed (pip install triton)"
)

from headscope.kernels.triton.divergence_kernel import NODES, SHARES, text_sums

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def made_maps() -> torch.Tensor:
    """(text, head, query, key) heads that differ much, little and not at all; of three, two and no queries."""
    torch.manual_seed(0)
    maps = (torch.randn(3, 5, 3, 70) * 3).softmax(-1)
    maps[:, 1] = maps[:, 0]
    maps[:, 2] = maps[:, 0] * 0.9 + 0.1 / 70
    maps[1, :, 2] = 0
    maps[2] = 0
    return maps


@pytest.mark.parametrize(("dtype", "bar"), [(torch.float32, 1e-5), (torch.float16, 6e-4)], ids=str)
def test_they_are_those_of_scipy(dtype: torch.dtype, bar: float) -> None:
    maps = made_maps().to(dtype)
    found = text_sums(maps.to(DEVICE), torch.tensor([3, 2, 0], device=DEVICE)).cpu().numpy()
    rows = maps.double().numpy()
    for one, other in np.ndindex(5, 5):
        means = [
            np.mean([jensenshannon(rows[text, one, i], rows[text, other, i]) ** 2 for i in range(queries)])
            for text, queries in ((0, 3), (1, 2))
        ]
        assert found[0, one, other] == pytest.approx(sum(means), rel=bar, abs=2e-6)
        assert found[1, one, other] == pytest.approx(sum(mean**2 for mean in means), rel=2 * bar, abs=2e-6)
    assert (found[2] == 2).all()  # the last text has no query that counts


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_they_are_added_to_those_before(dtype: torch.dtype) -> None:
    maps, asked = made_maps().to(DEVICE, dtype), torch.tensor([3, 2, 0], device=DEVICE)
    first = text_sums(maps[:1], asked[:1])
    torch.testing.assert_close(text_sums(maps[1:], asked[1:], first), text_sums(maps, asked))


def test_the_nodes_are_as_near_as_is_said() -> None:
    # Of two weights whose logarithms are x apart, as shares of their sum.
    x = np.concatenate([np.geomspace(0.05, 1, 200), np.linspace(1, 80, 2000)])
    share = 1 / (1 + np.exp(-x))
    exact = (log(2) + share * np.log(share) + (1 - share) * np.log(np.maximum(1 - share, 1e-300))) / 2
    nodes = np.array([0.0, *NODES])[:, None]
    near = (np.array(SHARES)[:, None] * (1 - np.cos(nodes * x) / np.cosh(x / 2))).sum(0)
    np.testing.assert_allclose(near, exact, rtol=4.1e-4)
