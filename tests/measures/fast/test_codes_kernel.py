"""The pairs that named patterns point at, by the kernel, interpreted on a CPU or on a GPU, against whole masks."""

import pytest
import torch

pytest.importorskip(
    "triton", reason="the kernels' tests were left out: triton is not installed (pip install triton)"
)

from tests.helpers.attention import random_texts, token_batch

from headscope.measures.fast.codes_kernel import pattern_codes
from headscope.measures.reductions import PAIR_PATTERNS
from headscope.measures.reductions.tokens import pair_masks
from headscope.types import HeadGrid

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("lengths", [[1], [33, 20, 2], [70, 64]], ids=str)
def test_codes_hold_a_bit_for_every_mask(lengths: list[int]) -> None:
    tokens = token_batch(random_texts(HeadGrid("encoder", 1, 1, causal=False), lengths, seed=0))
    masks = pair_masks(tokens)  # (text, pattern, query, key)
    codes, asking = pattern_codes(tokens.to(DEVICE), patterns=len(PAIR_PATTERNS))
    for number, name in enumerate(PAIR_PATTERNS):
        assert torch.equal((codes.cpu() >> number & 1).bool(), masks[:, number]), name
    assert torch.equal(asking.cpu(), masks.any(-1).sum(-1))


def test_every_pattern_was_tried() -> None:
    tokens = token_batch(random_texts(HeadGrid("encoder", 1, 1, causal=False), [70, 64], seed=0))
    assert pair_masks(tokens).flatten(2).any(-1).any(0).all()
