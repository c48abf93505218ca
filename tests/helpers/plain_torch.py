"""Attention calls to try attention by torch alone on, the same as for Triton's kernels; needs no pytest."""

from dataclasses import dataclass

import torch
from tests.helpers.attention import random_texts, token_batch
from tests.helpers.exact import exact_weights
from tests.helpers.fused import DEVICE, Case
from torch import Tensor

from headscope.batches import AttentionBatch, Carried, ChosenRows, TokenBatch
from headscope.capture.call import AttentionInputs
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
BAR = 1e-5
"""What sums may be off float64, whatever the model's precision."""
ROUNDING = {torch.float32: BAR, torch.float16: 1e-3, torch.bfloat16: 5e-3}
"""What the output may be off."""


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
        case = self.case
        return Asked(Root.of(self.root, case.dtype) if case.given else None, self.stream, case.moved)

    def exact(self) -> AttentionBatch:
        """In float64."""
        weights, value = exact_weights(self.inputs), self.inputs.value.double()
        output = weights @ value.repeat_interleave(self.case.heads // self.case.groups, 1)
        carried = Carried(value, output.transpose(1, 2), self.root.double(), self.stream.double())
        return AttentionBatch.observed(1, weights, *self.sides, carried)


def assert_near(ours: Tensor, theirs: Tensor, bar: float, name: str) -> None:
    gap = float((ours.double() - theirs).abs().amax() / theirs.abs().amax().clamp_min(0.1))
    assert gap < bar, f"{name} is {gap:.1e} off"


def check_sums(found: AttentionBatch, exact: AttentionBatch, bar: float = BAR) -> None:
    """All that is asked of a batch, to the digits of float32: half precision is none of its sums'."""
    within = found.queries is found.keys
    for reduction in [class_mass, mean_entropy, *(WITHIN if within else [])]:
        assert_near(found.reduce(reduction), exact.reduce(reduction), bar, reduction.__name__)


def check(case: Case) -> None:
    """Everything of a case."""
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
    rounding = ROUNDING[case.dtype]
    assert_near(calls[1].output * tried.real, exact.carried.output * tried.real, rounding, "output")
    check_sums(found, exact)
    if case.given:
        assert_near(found.reduce(given_sums), exact.reduce(given_sums), rounding, "what is given")
        assert torch.equal(whole.reduce(given_sums)[:, heads], found.reduce(given_sums))
    if case.given and case.moved:
        check_sums(found.moved, exact.moved)
        assert_near(whole.left.fetched[:, heads], exact.moved.lengths, BAR, "what is fetched")
    assert_near(found.attention, exact.attention, BAR, "maps")
    for chosen in (rows, few):
        ours = whole.rows(chosen.places, chosen.texts)[:, heads]
        assert_near(ours, exact.rows(chosen.places, chosen.texts), BAR, "rows")
    assert torch.equal(whole.reduce(class_mass)[:, heads], found.reduce(class_mass))
