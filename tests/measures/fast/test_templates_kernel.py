"""Templates by the kernel, interpreted on a CPU or on a GPU, against those that torch makes."""

import pytest
import torch
from tests.helpers.attention import random_texts, token_batch

pytest.importorskip(
    "triton", reason="the kernels' tests were left out: triton is not installed (pip install triton)"
)

from headscope.measures import template_sums as module
from headscope.measures.fast.templates_kernel import template_rows
from headscope.measures.template_sums import causal_halves, plain_halves
from headscope.types import HeadGrid, TokenBatch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def tokens_of(*, annotated: bool, seed: int) -> TokenBatch:
    lengths = [9, 14, 150, 23, 11, 140]
    tokens = token_batch(random_texts(HeadGrid("encoder", 1, 1, causal=False), lengths, seed=seed))
    if annotated:
        torch.manual_seed(seed)
        governor = torch.randint(-1, 5, tokens.ids.shape).where(tokens.is_token, -1)
        tokens = TokenBatch(*list(vars(tokens).values())[:7], governor)
    return tokens.to(torch.device(DEVICE))


@pytest.mark.parametrize("annotated", [False, True], ids=["plain", "with syntactic heads"])
@pytest.mark.parametrize("causal", [False, True], ids=["encoder", "decoder"])
def test_templates_products_and_sizes_are_those_of_torch(
    causal: bool, annotated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)  # torch makes the others
    tokens = tokens_of(annotated=annotated, seed=3)
    for rows in (causal_halves if causal else plain_halves)(tokens):
        expected = rows.sums
        found = template_rows(
            tokens, rows.drawn.texts, rows.drawn.places, expected.share.float(), expected.kinds,
            templates=18 if annotated else 16, farthest=127, count=4, causal=causal,
        )  # fmt: skip
        counted = expected.templates * (expected.share > 0)[:, None, :, None]
        for mine, theirs in zip(found, (counted, expected.products, expected.sizes), strict=True):
            torch.testing.assert_close(mine.double(), theirs.double(), rtol=1e-5, atol=1e-6)
