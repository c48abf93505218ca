"""Sums over texts by the kernel, interpreted on a CPU or on a GPU, against those that torch makes."""

import pytest
import torch

pytest.importorskip(
    "triton", reason="the kernels' tests were left out: triton is not installed (pip install triton)"
)

from headscope.measures.base import TextMean
from headscope.measures.fast.means_kernel import text_sums

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("shape", [(), (1, 1, 5), (3, 1, 1), (3, 4, 5), (5,)], ids=str)
def test_sums_are_those_of_torch_and_what_does_not_apply_is_left_out(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    expected = TextMean.zeros(3, 4, 5)
    found = None
    for texts in (1, 40):
        values = torch.randn(texts, 3, 4, 5)
        applies = torch.rand(texts, *shape) < 0.7 if shape else None
        if applies is not None:
            values.masked_fill_(~(applies if len(shape) > 1 else applies[:, None, None]), torch.nan)
        expected.add(values, applies=applies if len(shape) != 1 else applies[:, None, None])
        moved = None if applies is None else applies.to(DEVICE)
        found = text_sums(values.to(DEVICE), moved, found)
    assert found is not None
    torch.testing.assert_close(found.cpu(), expected.sums)
