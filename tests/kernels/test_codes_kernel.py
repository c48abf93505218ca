"""The pairs that named patterns point at, by the kernel, interpreted on a CPU or on a GPU, against plain loops."""

import pytest
import torch

pytest.importorskip(
    "triton", reason="the kernels' tests were left out: triton is not installed (pip install triton)"
)

from tests.helpers.attention import encoder, random_texts, token_batch
from tests.helpers.patterns import PAIR_PATTERNS, PATTERNS

from headscope.kernels.triton.codes_kernel import pattern_codes

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("lengths", [[1], [33, 20, 2], [70, 64]], ids=str)
def test_codes_hold_a_bit_for_every_pattern(lengths: list[int]) -> None:
    texts = random_texts(encoder(1, 1), lengths, seed=0)
    points = torch.zeros(len(texts), len(PAIR_PATTERNS), max(lengths), max(lengths), dtype=torch.bool)
    for number, text in enumerate(texts):
        for pattern, name in enumerate(PAIR_PATTERNS):
            for query in range(len(text)):
                for key in range(len(text)):
                    points[number, pattern, query, key] = PATTERNS[name](text, query, key)
    codes, queries = pattern_codes(token_batch(texts).to(DEVICE), patterns=len(PAIR_PATTERNS))
    for pattern, name in enumerate(PAIR_PATTERNS):
        assert torch.equal((codes.cpu() >> pattern & 1).bool(), points[:, pattern]), name
        assert points[:, pattern].any() or max(lengths) < 64, name
    assert torch.equal(queries.cpu(), points.any(-1).sum(-1))
