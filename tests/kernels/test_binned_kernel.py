"""Rows added up by kind of key and by offset, interpreted on a CPU or on a GPU, against one weight at a time."""

import pytest
import torch

pytest.importorskip(
    "triton", reason="the kernels' tests were left out: triton is not installed (pip install triton)"
)

from headscope.kernels.triton.binned_kernel import binned

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("keys", [3, 9, 21])
def test_every_weight_counts_once_by_kind_and_offset(keys: int) -> None:
    torch.manual_seed(0)
    texts, heads, lines, farthest, kinds = 3, 6, 2, 3, 4
    rows = torch.rand(texts, heads, lines, keys)
    places = torch.randint(0, keys, (texts, lines))
    kind = torch.randint(0, kinds, (texts, keys))
    share = torch.rand(texts, lines)
    expected = torch.zeros(heads, kinds, 2 * farthest + 1)
    for text in range(texts):
        for line in range(lines):
            for key in range(keys):
                offset = min(max(key - int(places[text, line]), -farthest), farthest) + farthest
                expected[:, kind[text, key], offset] += rows[text, :, line, key] * share[text, line]
    parts = (part.to(DEVICE) for part in (rows, places, kind, share))
    found = binned(*parts, farthest=farthest)
    torch.testing.assert_close(found.cpu(), expected.flatten(1))
