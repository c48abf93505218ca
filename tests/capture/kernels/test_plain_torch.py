"""Attention by torch alone against attention in float64: by fused attention and the identities, and by blocks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
import torch
from tests.helpers.attention import random_texts, token_batch
from tests.helpers.exact import exact_weights
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

pytest.importorskip("triton", reason="the cases are those of Triton's kernels, which were not installed")

from tests.helpers.fused import CASES, DEVICE, Case

from headscope.batches import AttentionBatch, Carried, ChosenRows, TokenBatch, even_attention
from headscope.capture.call import AttentionInputs
from headscope.capture.kernels import identities
from headscope.capture.kernels.batch import Asked, Root
from headscope.capture.kernels.plain_torch import TorchStack
from headscope.measures.loudness import given_sums
from headscope.measures.reductions import (
    class_mass,
    mean_entropy,
    near_diagonals,
    pattern_sums,
    window_sums,
)
from headscope.types import HeadGrid

WITHIN = [near_diagonals, window_sums, pattern_sums]
NOT_PRODUCTS = ("bias", "soft cap", "sinks")
"""The cases whose scores are not products of queries and keys alone."""

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@dataclass(frozen=True)
class Tried:
    """A case with tokens of the lengths that its mask tells of."""

    case: Case
    inputs: AttentionInputs
    sides: tuple[TokenBatch, TokenBatch]
    root: Tensor  # (head, dim, rank)
    stream: Tensor  # (text, query, hidden)

    @classmethod
    def of(cls, case: Case) -> "Tried":
        view, root = case.made()
        keys = cls.tokens(case, view.tables.seen, seed=0)
        queries = keys if case.queries == keys.ids.shape[1] else cls.tokens(case, view.tables.real, seed=1)
        stream = torch.randn(*queries.ids.shape, 5, device=DEVICE)
        return cls(case, view.inputs, (queries, keys), root, stream)

    @staticmethod
    def tokens(case: Case, is_token: Tensor, *, seed: int) -> TokenBatch:
        texts = random_texts(Tried.grid_of(case), is_token.sum(-1).tolist(), seed=seed)
        return token_batch(texts).to(torch.device(DEVICE))

    @staticmethod
    def grid_of(case: Case) -> HeadGrid:
        return HeadGrid("decoder" if case.causal else "encoder", 2, case.heads, causal=case.causal)

    @property
    def real(self) -> Tensor:
        return self.sides[0].is_token[:, :, None, None]

    def stack(self, wanted: tuple[ChosenRows, ...] = ()) -> TorchStack:
        return TorchStack(self.grid_of(self.case), self.sides, wanted)

    def asked(self) -> Asked:
        case, lengths = self.case, torch.linalg.vector_norm(self.stream, dim=-1)
        return Asked(Root.of(self.root, case.dtype) if case.given else None, lengths, case.moved)

    def exact(self) -> AttentionBatch:
        """In float64."""
        weights, value = exact_weights(self.inputs), self.inputs.value.double()
        output = weights @ value.repeat_interleave(self.case.heads // self.case.groups, 1)
        carried = Carried(value, output.transpose(1, 2), self.root.double(), self.stream.double())
        return AttentionBatch.observed(1, weights, *self.sides, carried)


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


def assert_near(ours: Tensor, theirs: Tensor, bar: float, name: str) -> None:
    gap = float((ours.double() - theirs).abs().amax() / theirs.abs().amax().clamp_min(0.1))
    assert gap < bar, f"{name} is {gap:.1e} off"


def check_sums(found: AttentionBatch, exact: AttentionBatch, bar: float = 2e-6) -> None:
    """All that is asked of a batch, to the digits of float32: half precision is none of its sums'."""
    within = found.queries is found.keys
    for reduction in [class_mass, mean_entropy, *(WITHIN if within else [])]:
        assert_near(found.reduce(reduction), exact.reduce(reduction), bar, reduction.__name__)


@every_case
def test_everything_is_what_float64_gives(case: Case, road: str, room: int) -> None:
    tried = Tried.of(case)
    last = len(tried.real) - 1
    rows = ChosenRows(torch.tensor([[0, 0]] * (last + 1), device=DEVICE), None)
    few = ChosenRows(torch.tensor([[case.queries // 2]], device=DEVICE), torch.tensor([last], device=DEVICE))
    stack, exact = tried.stack((rows, few)), tried.exact()
    calls = [stack.attend(layer, tried.inputs, tried.asked()) for layer in range(2)]
    found, whole, heads = stack.layer(1, calls[1], None), stack.whole(), slice(case.heads, 2 * case.heads)
    assert exact.carried is not None
    assert calls[1].output.is_contiguous(), "some models view it, as they may their own function's"
    assert calls[1].output.dtype == case.dtype
    rounding = {torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 5e-3}[case.dtype]
    assert_near(calls[1].output * tried.real, exact.carried.output * tried.real, rounding, "output")
    check_sums(found, exact)
    if case.given:
        assert_near(found.reduce(given_sums), exact.reduce(given_sums), rounding, "what is given")
        assert torch.equal(whole.reduce(given_sums)[:, heads], found.reduce(given_sums))
    if case.given and case.moved:
        check_sums(found.moved, exact.moved)
        assert_near(whole.left.fetched[:, heads], exact.moved.lengths, 2e-6, "what is fetched")
    assert_near(found.attention, exact.attention, 2e-6, "maps")
    for chosen in (rows, few):
        ours = whole.rows(chosen.places, chosen.texts)[:, heads]
        assert_near(ours, exact.rows(chosen.places, chosen.texts), 2e-6, "rows")
    assert torch.equal(whole.reduce(class_mass)[:, heads], found.reduce(class_mass))


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
