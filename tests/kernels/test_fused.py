"""The kernel against attention computed in float64, query by query and key by key, on a GPU or interpreted."""

import pytest
import torch

pytest.importorskip(
    "triton", reason="the kernels' tests were left out: triton is not installed (pip install triton)"
)

from tests.helpers.exact import exact_weights
from tests.helpers.fused import (
    CASES,
    DEVICE,
    LARGE_CASES,
    ON_GPU,
    Case,
    StackSums,
    attend,
    check,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*encountered in.*:RuntimeWarning"
)  # numpy, of minus infinity


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_kernel_gives_what_attention_in_float64_gives(case: Case) -> None:
    if case.dtype == torch.bfloat16 and not ON_GPU:
        pytest.skip("Triton's interpreter takes products of bfloat16 for products of integers")
    check(case)


@pytest.mark.skipif(not ON_GPU, reason="too long to interpret on a CPU")
@pytest.mark.parametrize("case", LARGE_CASES.values(), ids=LARGE_CASES)
def test_every_size_on_a_gpu(case: Case) -> None:
    check(case)


def test_chosen_rows_of_some_texts() -> None:
    view, _ = Case(texts=3).made()
    found = attend(view, StackSums(1, 2), 0)
    texts, places = torch.tensor([2, 0], device=DEVICE), torch.tensor([[3, 1], [7, 20]], device=DEVICE)
    weights = exact_weights(view.inputs)[texts]
    expected = torch.stack([weights[0][:, places[0]], weights[1][:, places[1]]])
    torch.testing.assert_close(found.rows(places, texts).double(), expected, atol=1e-6, rtol=1e-5)


def test_a_query_that_sees_nothing_is_no_nan() -> None:
    view, _ = Case(texts=1, masked=True).made()
    assert view.inputs.mask is not None
    view.inputs.mask[0, 0, 4] = -torch.inf
    left = StackSums(1, 2)
    found = attend(view, left, 0)
    assert found.output.isfinite().all()
    assert left.ways[0].mass.isfinite().all()
    assert left.ways[0].entropies.isfinite().all()
