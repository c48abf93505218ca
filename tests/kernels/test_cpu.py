"""Attention on a CPU with its sums in one pass, against attention in float64 and reductions in plain torch."""

from typing import Literal

import pytest
import torch
from tests.helpers.calls import Case
from tests.helpers.exact import MadeCall
from tests.seams import (
    ANSWERED_AT_ONCE,
    OUTPUT_NORMS,
    WITHIN_TEXT,
    Reduction,
    Rows,
    kernels_as,
    maps,
    reduced,
)
from torch import Tensor

WAYS: tuple[Literal["attention", "value"], ...] = ("attention", "value")


def at_once(case: Case) -> list[Reduction]:
    """What kernels answer by themselves."""
    return [read for read in ANSWERED_AT_ONCE if not (case.keys and read in WITHIN_TEXT)]


CASES = {
    "plain": Case(),
    "no padding": Case(lengths=(30, 30)),
    "no mask": Case(lengths=(30, 30), masked=False),
    "causal": Case(causal=True),
    "sliding": Case(causal=True, window=7),
    "a window both ways": Case(window=7),
    "one more key hidden": Case(hidden=4),
    "a bias in the mask": Case(soft=True),
    "a bias in a causal mask": Case(soft=True, causal=True),
    "grouped": Case(heads=6, groups=2),
    "bias": Case(bias=True),
    "soft cap": Case(cap=2.0, scaling=0.7),
    "sinks": Case(sink=True),
    "sinks and scaling": Case(sink=True, scaling=1.3, causal=True),
    "cross": Case(keys=(31, 12, 5)),
    "one token": Case(lengths=(1,)),
    "sharp": Case(sharp=60.0),
    "long": Case(lengths=(300, 260), causal=True),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def first_query(layer: object) -> Tensor:
    """(text, head, key) a view of the maps, which a kernel may write the next layer over."""
    return maps(layer)[:, :, 0]  # type: ignore[arg-type]


def of_all_heads(layer: object) -> Tensor:
    """(text, 1, query, key) one that takes all heads together."""
    return maps(layer).amax(1, keepdim=True).expand_as(maps(layer))  # type: ignore[arg-type]


def assert_exact(case: Case, reads: list[Reduction], calls: list[MadeCall] | None = None) -> None:
    """What kernels give is what float64 gives, weighted both ways."""
    calls = calls or case.calls
    for weighting in WAYS:
        found, exact = (
            reduced(
                calls,
                case.texts,
                reads,
                backend=backend,
                weighting=weighting,
                keys=case.others,
                causal=case.causal,
            )
            for backend in ("kernels", "reference")
        )
        for ours, theirs in zip(found.outputs, exact.outputs, strict=True):
            assert ours.is_contiguous(), "some models view it, as they may their own function's"
            for text, length in enumerate(case.lengths):
                torch.testing.assert_close(
                    ours[text, :length].double(), theirs[text, :length], atol=2e-5, rtol=2e-5
                )
        ((_, values),) = found.items()
        ((_, expected),) = exact.items()
        for read, mine, own in zip(reads, values, expected, strict=True):
            atol = 1e-4 if read is OUTPUT_NORMS else 2e-5
            torch.testing.assert_close(mine.double(), own.double(), atol=atol, rtol=1e-5)


@pytest.mark.parametrize("scores_together", [1, 3000, 1 << 20])
@every_case
def test_everything_is_what_float64_gives(case: Case, scores_together: int) -> None:
    """However many scores are worked on at once: some heads of one text, some texts, or all of them."""
    count = len(case.lengths)
    rows = Rows(torch.tensor([[0, 0]] * count))
    few = Rows(torch.tensor([[min(case.lengths) - 1]]), torch.tensor([count - 1]))
    with kernels_as(scores_together=scores_together):
        assert_exact(case, [*at_once(case), maps, rows, few])


@pytest.mark.parametrize("scores_together", [1, 1 << 20])
def test_what_was_taken_of_a_layer_stays_as_it_is(scores_together: int) -> None:
    with kernels_as(scores_together=scores_together):
        assert_exact(Case(), [first_query, of_all_heads, maps])


@every_case
def test_where_nobody_asks_for_sums_maps_are_the_same(case: Case) -> None:
    assert_exact(case, [maps])


@pytest.mark.parametrize("scores_together", [1, 1 << 20])
def test_a_nan_is_not_lost(scores_together: int) -> None:
    case = Case()
    calls = case.calls
    calls[1].query[1, 2, 3] = torch.nan
    calls[1].key[0, 1, 4] = torch.nan
    with kernels_as(scores_together=scores_together):
        found = reduced(calls, case.texts, at_once(case), backend="kernels")["encoder"]
    for values in found:
        broken = values.flatten(3).isnan().any(-1) if values.dim() > 3 else values.isnan()
        assert broken.nonzero().tolist() == [[0, 1, 1], [1, 1, 2]]


def test_a_value_of_padding_may_be_nan() -> None:
    case = Case()
    calls = case.calls
    for call in calls:
        call.stream[1, 9:] = torch.nan
    assert_exact(case, [OUTPUT_NORMS], calls)
