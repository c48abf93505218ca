"""Masks that say what they hide, against looking at them."""

import weakref

import pytest
import torch
from tests.helpers.attention import random_texts, token_batch
from torch import nn
from transformers.masking_utils import bidirectional_mask_function, causal_mask_function, eager_mask

from headscope.capture.call import AttentionInputs
from headscope.capture.kernels import batch
from headscope.capture.observe import _told_mask
from headscope.types import HeadGrid, TokenBatch

TOKENS = token_batch(random_texts(HeadGrid("encoder", 1, 1, causal=False), [9, 5], seed=0))


def told_mask(tokens: TokenBatch, *, causal: bool, hides: str) -> torch.Tensor:
    texts, length = tokens.ids.shape
    return _told_mask(
        batch_size=texts,
        q_length=length,
        kv_length=length,
        mask_function=causal_mask_function if causal else bidirectional_mask_function,
        attention_mask=tokens.is_token,
        dtype=torch.float32,
        hides=hides,
    )


def is_plain(mask: torch.Tensor, *, causal: bool) -> bool:
    nothing = torch.zeros(len(TOKENS.ids), 1, TOKENS.ids.shape[1], 4)
    inputs = AttentionInputs(nn.Identity(), nothing, nothing, nothing, mask)
    return batch.is_plain(inputs, (TOKENS, TOKENS), causal=causal)


@pytest.mark.parametrize("causal", [False, True])
def test_a_mask_that_tells_hides_what_it_says(causal: bool) -> None:
    hides = "padding and what lies ahead" if causal else "padding"
    mask = told_mask(TOKENS, causal=causal, hides=hides)
    assert is_plain(mask.clone(), causal=causal)  # a copy tells nothing, so that it is looked at
    assert not is_plain(mask.clone(), causal=not causal)


@pytest.mark.parametrize("causal", [False, True])
def test_it_is_the_mask_of_transformers_eager_functions(causal: bool) -> None:
    texts, length = TOKENS.ids.shape
    own = eager_mask(
        batch_size=texts,
        q_length=length,
        kv_length=length,
        mask_function=causal_mask_function if causal else bidirectional_mask_function,
        attention_mask=TOKENS.is_token,
    )
    hides = "padding and what lies ahead" if causal else "padding"
    torch.testing.assert_close(told_mask(TOKENS, causal=causal, hides=hides), own, rtol=0, atol=0)


def test_what_hides_the_same_from_all_queries_takes_no_map() -> None:
    mask = told_mask(TOKENS, causal=False, hides="padding")
    assert mask.untyped_storage().nbytes() == TOKENS.ids.numel() * mask.itemsize


@pytest.mark.parametrize("causal", [False, True])
def test_what_it_says_is_taken_where_it_fits_the_stack(causal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    hides = "padding and what lies ahead" if causal else "padding"
    mask = told_mask(TOKENS, causal=causal, hides=hides)
    looks: list[bool] = []
    monkeypatch.setattr(batch, "_hides_what_it_should", lambda *_, **__: looks.append(True) or False)
    assert is_plain(mask, causal=causal)
    assert not looks
    assert not is_plain(mask, causal=not causal)
    assert looks


def test_a_mask_that_was_looked_at_is_held_lest_another_lie_in_its_place() -> None:
    mask = told_mask(TOKENS, causal=False, hides="padding").clone()
    held = weakref.ref(mask)
    assert is_plain(mask, causal=False)
    del mask
    assert held() is not None
