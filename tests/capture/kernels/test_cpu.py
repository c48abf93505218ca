"""Attention on a CPU with its sums in one pass, against attention in float64 and reductions in plain torch."""

from dataclasses import dataclass, replace

import pytest
import torch
from tests.helpers.attention import random_texts, token_batch
from tests.helpers.exact import exact_weights
from torch import Tensor, nn

from headscope.batches import AttentionBatch, Carried, ChosenRows, TokenBatch
from headscope.capture.call import AttentionInputs
from headscope.capture.kernels import cpu
from headscope.capture.kernels.batch import NOTHING, Asked, Root
from headscope.errors import CaptureError
from headscope.measures.loudness import given_sums
from headscope.measures.reductions import (
    class_mass,
    mean_entropy,
    near_diagonals,
    pattern_sums,
    window_sums,
)
from headscope.types import HeadGrid

LEAST = torch.finfo(torch.float32).min
WITHIN = [near_diagonals, window_sums, pattern_sums]


@dataclass(frozen=True)
class Case:
    lengths: tuple[int, ...] = (23, 9, 140)
    keys: tuple[int, ...] = ()
    """Lengths of other texts that are looked at."""
    heads: int = 4
    groups: int = 4
    causal: bool = False
    window: int | None = None
    masked: bool = True
    bias: bool = False
    cap: float | None = None
    sink: bool = False
    scaling: float | None = None
    sharp: float = 2.0

    @property
    def grid(self) -> HeadGrid:
        return HeadGrid("decoder" if self.causal else "encoder", 3, self.heads, causal=self.causal)

    def sides(self) -> tuple[TokenBatch, TokenBatch]:
        queries = token_batch(random_texts(self.grid, list(self.lengths)))
        return queries, token_batch(
            random_texts(self.grid, list(self.keys), seed=1)
        ) if self.keys else queries

    def inputs(self, queries: TokenBatch, keys: TokenBatch) -> AttentionInputs:
        torch.manual_seed(0)
        (texts, asking), seen, width = queries.ids.shape, keys.ids.shape[1], 8
        visible = keys.is_token[:, None, None, :].expand(texts, 1, asking, seen)
        offset = torch.arange(seen) - torch.arange(asking)[:, None]
        if self.causal:
            visible = visible & (offset <= 0)
        if self.window:
            visible = visible & (offset > -self.window)
        module = nn.Module()
        if self.sink:
            module.sinks = nn.Parameter(torch.randn(self.heads))
        query, key, value = (
            torch.randn(texts, count, heads, width).transpose(1, 2)
            for count, heads in ((asking, self.heads), (seen, self.groups), (seen, self.groups))
        )
        mask = torch.zeros(visible.shape).masked_fill(~visible, LEAST) if self.masked else None
        bias = torch.randn(1, self.heads, asking, seen) if self.bias else None
        return AttentionInputs(module, self.sharp * query, key, value, mask, bias, self.scaling, self.cap)


CASES = {
    "plain": Case(),
    "no padding": Case(lengths=(30, 30)),
    "no mask": Case(lengths=(30, 30), masked=False),
    "causal": Case(causal=True),
    "sliding": Case(causal=True, window=7),
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


def in_float64(case: Case, inputs: AttentionInputs, root: Tensor, stream: Tensor) -> AttentionBatch:
    weights = exact_weights(inputs)
    value = inputs.value.double()
    output = weights @ value.repeat_interleave(case.heads // case.groups, 1)
    carried = Carried(value, output.transpose(1, 2), root.double(), stream.double())
    return AttentionBatch.observed(1, weights, *case.sides(), carried)


@pytest.mark.parametrize("room", [1, 3000, 1 << 20])
@every_case
def test_everything_is_what_float64_gives(case: Case, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "SCORES", room)
    queries, keys = case.sides()
    inputs = case.inputs(queries, keys)
    root, stream = torch.randn(case.heads, 8, 8), torch.randn(*queries.ids.shape, 5)
    rows = ChosenRows(torch.tensor([[0, 0]] * len(case.lengths)), None)
    few = ChosenRows(torch.tensor([[min(case.lengths) - 1]]), torch.tensor([len(case.lengths) - 1]))
    stack = cpu.CompiledStack(case.grid, (queries, keys), [rows, few])
    asked = Asked(Root.of(root, torch.float32), stream)
    calls = [stack.attend(layer, inputs, asked) for layer in range(3)]
    call = calls[1]
    exact = in_float64(case, inputs, root, stream)
    found = stack.layer(1, call, None)
    real = queries.is_token[:, :, None, None]
    assert call.output.is_contiguous(), "some models view it, as they may their own function's"
    torch.testing.assert_close(call.output.double() * real, exact.carried.output * real, atol=2e-5, rtol=2e-5)
    for reduction in [class_mass, mean_entropy, *([] if case.keys else WITHIN)]:
        for ours, theirs in ((found, exact), (found.moved, exact.moved)):
            torch.testing.assert_close(
                ours.reduce(reduction), theirs.reduce(reduction).double(), atol=2e-5, rtol=1e-5
            )
    torch.testing.assert_close(found.reduce(given_sums), exact.reduce(given_sums), atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(found.attention.double(), exact.attention, atol=2e-5, rtol=1e-5)
    whole = stack.whole()
    heads = slice(case.heads, 2 * case.heads)
    for chosen in (rows, few):
        ours = whole.rows(chosen.places, chosen.texts)[:, heads]
        torch.testing.assert_close(
            ours.double(), exact.rows(chosen.places, chosen.texts), atol=2e-5, rtol=1e-5
        )
    torch.testing.assert_close(whole.reduce(class_mass)[:, heads], found.reduce(class_mass))


@pytest.mark.parametrize("room", [1, 1 << 20])
def test_maps_that_were_taken_stay_as_they_are(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "SCORES", room)
    case = Case()
    queries, keys = case.sides()
    inputs = case.inputs(queries, keys)
    other = replace(inputs, query=-inputs.query)
    exact = exact_weights(inputs) * queries.is_token[:, None, :, None]
    stack = cpu.CompiledStack(case.grid, (queries, keys))
    first = stack.layer(0, stack.attend(0, inputs), None)
    text, attention = first.map_of(2), first.attention
    second = stack.layer(1, stack.attend(1, inputs), None)
    stack.attend(2, other)
    for found in (attention, second.attention):  # taken while it was the last layer, and after
        torch.testing.assert_close(found.double(), exact, atol=2e-5, rtol=1e-5)
    for found in (text, second.map_of(2)):
        torch.testing.assert_close(found.double(), exact[2], atol=2e-5, rtol=1e-5)


def test_what_nobody_asked_for_is_computed_from_the_maps() -> None:
    case = Case()
    inputs = case.inputs(*case.sides())
    root, stream = torch.randn(case.heads, 8, 8), torch.randn(*case.sides()[0].ids.shape, 5)
    stack = cpu.CompiledStack(case.grid, case.sides())
    call = stack.attend(1, inputs, NOTHING)
    found = stack.layer(1, call, Carried(inputs.value, call.output, root, stream))
    exact = in_float64(case, inputs, root, stream)
    torch.testing.assert_close(
        found.reduce(given_sums).double(), exact.reduce(given_sums), atol=1e-4, rtol=1e-5
    )
    moved = found.moved.reduce(class_mass)
    torch.testing.assert_close(moved.double(), exact.moved.reduce(class_mass), atol=1e-5, rtol=1e-5)


@every_case
def test_where_nobody_asks_for_sums_maps_are_the_same_and_sums_can_be_made_of_them(case: Case) -> None:
    sides = case.sides()
    inputs = case.inputs(*sides)
    root, stream = torch.randn(case.heads, 8, 8), torch.randn(*sides[0].ids.shape, 5)
    stacks = [cpu.CompiledStack(case.grid, sides) for _ in range(2)]
    batches = []
    for stack, sums in zip(stacks, (True, False), strict=True):
        call = stack.attend(1, inputs, Asked(Root.of(root, torch.float32), stream, sums=sums))
        batches.append(stack.layer(1, call, Carried(inputs.value, call.output, root, stream)))
    with_sums, without = batches
    assert stacks[1]._given is None, "what heads give is a sum"
    assert torch.equal(without.call.output, with_sums.call.output)
    for mine, theirs in ((without, with_sums), (without.moved, with_sums.moved)):
        torch.testing.assert_close(mine.attention, theirs.attention, atol=1e-6, rtol=1e-5)
        for reduction in [class_mass, mean_entropy, *([] if case.keys else WITHIN)]:
            ours = mine.reduce(reduction).double()
            torch.testing.assert_close(ours, theirs.reduce(reduction), atol=2e-5, rtol=1e-5)


def test_rows_that_were_not_asked_for_beforehand_are_refused() -> None:
    stack = cpu.CompiledStack(Case().grid, Case().sides())
    stack.attend(0, Case().inputs(*Case().sides()))
    with pytest.raises(CaptureError, match="let its `wanted` name them"):
        stack.whole().rows(torch.zeros(3, 1, dtype=torch.long))


@pytest.mark.parametrize("sums", [True, False], ids=["sums", "maps"])
def test_a_nan_is_not_lost(sums: bool) -> None:
    queries, keys = Case().sides()
    inputs = Case().inputs(queries, keys)
    inputs.query[1, 2, 3] = torch.nan
    inputs.key[0, 1, 4] = torch.nan
    stack = cpu.CompiledStack(Case().grid, (queries, keys))
    stack.attend(0, inputs, Asked(sums=sums))
    entropies = stack.left(0).sums(0).entropies[:, :, 0]  # of all queries
    assert entropies.isnan().nonzero().tolist() == [[0, 1], [1, 2]]


def test_blocks_hold_texts_or_heads_of_one() -> None:
    for texts, groups, heads, size in ((5, 2, 6, 300), (3, 4, 4, 1 << 19), (2, 3, 3, 1 << 30)):
        blocks = list(cpu._blocks(texts, groups, heads, size))
        units = [unit for block in blocks for unit in range(block.units.start, block.units.stop)]
        assert units == list(range(texts * groups))
        for block in blocks:
            count = block.units.stop - block.units.start
            assert block.shape[0] * block.shape[1] == count * heads // groups
            assert count == 1 or count * size <= cpu.SCORES
            assert block.shape[0] == 1 or block.heads == slice(0, heads)
