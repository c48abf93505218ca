"""Sums over texts by the kernel, interpreted on a CPU or on a GPU, against those that numpy makes."""

import numpy as np
import pytest
import torch

pytest.importorskip(
    "triton", reason="the kernels' tests were left out: triton is not installed (pip install triton)"
)

from headscope.kernels.triton.means_kernel import text_sums

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("shape", [(), (1, 1, 5), (3, 1, 1), (3, 4, 5), (5,)], ids=str)
def test_sums_squares_and_counts_of_what_applies(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    expected = np.zeros((3, 3, 4, 5))
    found = None
    for texts in (1, 40):
        values = rng.normal(size=(texts, 3, 4, 5)).astype(np.float32)
        applies = rng.random((texts, *shape)) < 0.7 if shape else np.ones((texts, 1))
        by_cell = applies.reshape(texts, *[1] * (3 - len(shape)), *shape).astype(bool)
        counts = np.broadcast_to(by_cell, values.shape)
        values[~counts] = np.nan
        for text in range(texts):
            value = np.where(counts[text], values[text], 0).astype(float)
            expected += np.stack([value, value**2, counts[text]])
        given = torch.from_numpy(applies).to(DEVICE) if shape else None
        found = text_sums(torch.from_numpy(values).to(DEVICE), given, found)
    assert found is not None
    np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-6, atol=1e-6)
