"""Masks that say what they hide, as those of an accelerator do, against transformers' own and against float64."""

import gc
import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.helpers.calls import LAYERS, Case
from tests.helpers.exact import MadeCall
from tests.helpers.tiny import tiny
from tests.seams import ANSWERED_AT_ONCE, layers_of, maps, reduced
from torch import Tensor
from transformers.masking_utils import (
    ALL_MASK_ATTENTION_FUNCTIONS,
    bidirectional_mask_function,
    causal_mask_function,
    eager_mask,
)

LENGTHS = (9, 5)


class OnAnAccelerator(Tensor):
    """A tensor that says it is there."""

    is_cuda = True


def mask_of(function: Any, *, causal: bool) -> Tensor:
    """(text, 1, query, key) made by one of the mask functions that transformers knows."""
    is_token = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    mask: Tensor = function(
        batch_size=len(LENGTHS),
        q_length=max(LENGTHS),
        kv_length=max(LENGTHS),
        mask_function=causal_mask_function if causal else bidirectional_mask_function,
        attention_mask=is_token.as_subclass(OnAnAccelerator),
        dtype=torch.float32,
    )
    return mask


def told_mask(*, causal: bool) -> Tensor:
    """The mask that our attention function is given on an accelerator."""
    layers_of(tiny("bert"), ["A dog!"])  # by which it is registered
    return mask_of(ALL_MASK_ATTENTION_FUNCTIONS["headscope"], causal=causal)


@pytest.mark.parametrize("causal", [False, True])
def test_it_is_the_mask_of_transformers_eager_functions(causal: bool) -> None:
    own = mask_of(eager_mask, causal=causal)
    torch.testing.assert_close(told_mask(causal=causal), own, rtol=0, atol=0)


def test_what_hides_the_same_from_all_queries_takes_no_map() -> None:
    mask = told_mask(causal=False)
    assert mask.untyped_storage().nbytes() == len(LENGTHS) * max(LENGTHS) * mask.itemsize


@pytest.mark.parametrize("copied", [False, True], ids=["told", "looked at"])
@pytest.mark.parametrize("masks_ahead", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_what_a_mask_hides_is_hidden_and_nothing_else(causal: bool, masks_ahead: bool, copied: bool) -> None:
    """Also where an encoder is given the mask of a decoder, and the other way round."""
    case = Case(lengths=LENGTHS, causal=causal)
    mask = told_mask(causal=masks_ahead)
    mask = mask.clone() if copied else mask  # a copy tells nothing, so that it is looked at
    assert_exact(case, [replace(call, mask=mask) for call in case.calls])


def assert_exact(case: Case, calls: list[MadeCall]) -> None:
    ours, exact = (
        reduced(calls, case.texts, [*ANSWERED_AT_ONCE, maps], backend=backend, causal=case.causal)
        for backend in ("kernels", "reference")
    )
    for stack, values in ours.items():
        for mine, theirs in zip(values, exact[stack], strict=True):
            torch.testing.assert_close(mine.double(), theirs.double(), atol=2e-5, rtol=1e-4)


def test_a_mask_is_not_taken_for_one_that_lay_in_its_place() -> None:
    """What was found of a mask is known by where it lies, so it is held as long as that is known."""
    kinds = [Case(lengths=LENGTHS), Case(lengths=LENGTHS, window=2), Case(lengths=LENGTHS, hidden=1)]

    free: list[tuple[Tensor, weakref.ref[Tensor]]] = []  # memory, and the mask that lies in it

    def one_by_one() -> Iterator[MadeCall]:
        for layer, case in enumerate(kinds):
            call = case.call(layer)
            assert call.mask is not None
            gc.collect()  # what is in cycles holds nothing for good
            room = next((memory for memory, last in free if last() is None), torch.empty_like(call.mask))
            mask = room.copy_(call.mask).view(room.shape)
            free.append((room, weakref.ref(mask)))
            given = replace(call, mask=mask)
            del call, mask
            yield given
            del given

    assert len(kinds) == LAYERS
    ours = reduced(one_by_one(), kinds[0].texts, [maps], backend="kernels")["encoder"][0]
    calls = [case.call(layer) for layer, case in enumerate(kinds)]
    exact = reduced(calls, kinds[0].texts, [maps])["encoder"][0]
    torch.testing.assert_close(ours.double(), exact, atol=2e-5, rtol=1e-4)
