"""What the rooms pass around."""

import pytest
import torch
from tests.helpers.attention import random_texts, token_batch

from headscope.errors import OptionError
from headscope.types import AttentionBatch, HeadGrid, HeadId


def test_heads_are_written_layer_dot_head() -> None:
    assert str(HeadId(3, 2)) == "3.2"
    assert HeadId.parse(" 11.0 ") == HeadId(11, 0)
    assert HeadGrid("encoder", 2, 2, causal=False).labels == ("0.0", "0.1", "1.0", "1.1")


@pytest.mark.parametrize("text", ["3", "3,2", "a.b", "-1.2", "3.2.1", ""])
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"write layer\.head"):
        HeadId.parse(text)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_observed_in_single(dtype: torch.dtype) -> None:
    tokens = token_batch(random_texts(HeadGrid("encoder", 1, 1, causal=False), [4]))
    weights = torch.full((1, 1, 4, 4), 0.25, dtype=dtype)
    assert AttentionBatch.observed(0, weights, tokens, tokens).attention.dtype == torch.float32


def test_reductions_and_derivations_are_computed_once() -> None:
    tokens = token_batch(random_texts(HeadGrid("encoder", 1, 1, causal=False), [4]))
    batch = AttentionBatch.observed(0, torch.rand(1, 1, 4, 4), tokens, tokens)
    calls = []

    def reduction(seen: AttentionBatch) -> torch.Tensor:
        calls.append(seen)
        return seen.attention.sum()

    assert batch.reduce(reduction) is batch.reduce(reduction)
    assert len(calls) == 1
    assert tokens.derive(len_of) is tokens.derive(len_of)


def len_of(tokens: object) -> object:
    return object()
