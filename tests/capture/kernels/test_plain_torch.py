"""Attention by torch alone against attention in float64: by fused attention and the identities, and by blocks."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from tests.helpers.exact import exact_weights
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

pytest.importorskip("triton", reason="the cases are those of Triton's kernels, which are not installed")

from tests.helpers.fused import CASES, DEVICE, Case
from tests.helpers.plain_torch import Tried, assert_near, check, check_sums

from headscope.batches import even_attention
from headscope.capture.call import AttentionInputs
from headscope.capture.kernels import identities
from headscope.measures.reductions import mean_entropy

NOT_PRODUCTS = ("bias", "soft cap", "sinks")
"""The cases whose scores are not products of queries and keys alone."""

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.fixture(params=["fused", "blocks"])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """By torch's fused attention where it can, or all by blocks."""
    if request.param == "blocks":
        monkeypatch.setattr(identities, "_FUSED", {})
    return str(request.param)


@pytest.fixture(params=[1, 3000, 1 << 24])
def room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """One query and one text at a time, some, or all."""
    monkeypatch.setattr(identities, "TOGETHER", request.param)
    return int(request.param)


@every_case
def test_everything_is_what_float64_gives(case: Case, road: str, room: int) -> None:
    check(case)


@pytest.mark.parametrize("name", CASES)
def test_fused_attention_is_asked_wherever_the_identities_hold(name: str) -> None:
    tried = Tried.of(CASES[name])
    attention = identities.Attention(tried.inputs, tried.sides, None, causal=tried.case.causal)
    assert (attention.found() is None) == (name in NOT_PRODUCTS)


def test_a_mask_that_adds_to_scores_is_no_matter_of_the_identities(road: str) -> None:
    tried = Tried.of(Case(masked=True))
    assert tried.inputs.mask is not None
    steep = torch.linspace(-3, 3, tried.inputs.mask.shape[-1], device=DEVICE)
    tried = replace(tried, inputs=replace(tried.inputs, mask=tried.inputs.mask + steep))
    stack = tried.stack()
    found = stack.layer(1, stack.attend(1, tried.inputs, tried.asked()), None)
    check_sums(found, tried.exact())
    check_sums(found.moved, tried.exact().moved)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("longer", [4, 16])
def test_entropy_keeps_its_digits_where_scores_are_large(
    longer: float, dtype: torch.dtype, road: str
) -> None:
    tried = Tried.of(Case(queries=128, width=64, dtype=dtype))
    tried = replace(tried, inputs=replace(tried.inputs, query=tried.inputs.query * longer))
    stack = tried.stack()
    stack.attend(0, tried.inputs, tried.asked())
    for way, exact in enumerate((tried.exact(), tried.exact().moved)):
        assert_near(stack.left(0).sums(way).entropies, exact.reduce(mean_entropy), 1e-4, f"entropy {way}")


@pytest.mark.parametrize("causal", [True, False])
def test_even_attention_needs_no_map(causal: bool) -> None:
    tried = Tried.of(Case(causal=causal, texts=3))
    found = tried.stack().even(causal=causal)
    check_sums(found, even_attention(*tried.sides, causal=causal, dtype=torch.float64))


@every_case
def test_no_map_is_ever_whole(case: Case, road: str, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = 8 * case.groups // case.heads
    case = replace(case, queries=256, keys=300 if case.keys else 0, heads=8, groups=groups, width=8)
    tried = Tried.of(case)
    texts, heads, _, keys = exact_weights(tried.inputs).shape
    monkeypatch.setattr(identities, "TOGETHER", 16 * texts * heads * keys)
    stack = tried.stack()
    stack.attend(0, tried.inputs, tried.asked())  # what is known of the tokens is derived
    with Largest(tried.inputs) as largest:
        stack.attend(1, tried.inputs, tried.asked())
    assert 0 < largest.size < texts * heads * case.queries * keys / 4


class Largest(TorchDispatchMode):
    """How many numbers the largest tensor holds that is made inside; what a call was given is none of these."""

    def __init__(self, inputs: AttentionInputs) -> None:
        super().__init__()
        given = (tensor for tensor in vars(inputs).values() if isinstance(tensor, Tensor))
        self.given = {tensor.untyped_storage().data_ptr() for tensor in given}
        self.size = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        made = function(*args, **(kwargs or {}))
        for tensor in _tensors(made):
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in self.given:
                self.size = max(self.size, storage.nbytes() // 4)
        return made


def _tensors(made: object) -> Iterator[Tensor]:
    if isinstance(made, Tensor):
        yield made
    elif isinstance(made, tuple | list):
        for each in made:
            yield from _tensors(each)


def test_a_query_that_sees_nothing_is_no_nan(road: str) -> None:
    tried = Tried.of(Case(texts=1, masked=True))
    assert tried.inputs.mask is not None
    tried.inputs.mask[0, 0, 4] = -torch.inf
    stack = tried.stack()
    assert stack.attend(0, tried.inputs, tried.asked()).output.isfinite().all()
    for way in range(2):
        sums = stack.left(0).sums(way)
        assert sums.mass.isfinite().all()
        assert sums.entropies.isfinite().all()


def test_a_nan_is_not_lost(road: str) -> None:
    tried = Tried.of(Case())
    tried.inputs.query[1, 1, 3] = torch.nan
    tried.inputs.key[0, 0, 4] = torch.nan
    stack = tried.stack()
    stack.attend(0, tried.inputs)
    entropies = stack.left(0).sums(0).entropies[:, :, 0]  # of all queries
    assert entropies.isnan().nonzero().tolist() == [[0, 0], [1, 1]]


def test_a_nan_of_padding_leaves_no_trace(road: str) -> None:
    tried = Tried.of(Case())
    plain, other = tried.stack(), tried.stack()
    plain.attend(0, tried.inputs, tried.asked())
    query = tried.inputs.query.masked_fill(~tried.real.transpose(1, 2), torch.nan)
    other.attend(0, replace(tried.inputs, query=query), tried.asked())
    for way in range(2):
        before, after = plain.left(0).sums(way), other.left(0).sums(way)
        assert torch.equal(before.mass, after.mass)
        assert torch.equal(before.entropies, after.entropies)
        assert before.by_distance is not None
        assert after.by_distance is not None
        assert torch.equal(before.by_distance, after.by_distance)
