"""Attention calls to try the kernel on, and attention in float64 to hold it against; needs torch and triton alone."""

from dataclasses import dataclass
from itertools import product

import torch
from tests.helpers.exact import exact_weights
from torch import Tensor, nn

from headscope.attention import ChosenRows
from headscope.kernels.batch import Asked, Root
from headscope.kernels.triton.launch import Call, RowsWanted, attend
from headscope.kernels.triton.stack_sums import StackSums
from headscope.kernels.triton.view import PairLists, TokenTables, View
from headscope.reductions import FARTHEST
from headscope.trace.call import AttentionInputs

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
PATTERNS = 6
"""So many sums over pairs there are."""


@dataclass(frozen=True)
class Case:
    """An attention call to try."""

    texts: int = 2
    heads: int = 2
    groups: int = 2
    queries: int = 21
    keys: int = 0
    width: int = 16
    dtype: torch.dtype = torch.float32
    causal: bool = False
    window: int | None = None
    bias: bool = False
    cap: float | None = None
    sink: bool = False
    moved: bool = True
    given: bool = True
    scaling: float | None = None
    padded: bool = True
    pairs: float = 0.1
    """The share of pairs of query and key that patterns point at."""
    masked: bool = False
    """Whether the mask is looked at though it hides padding and what lies ahead alone."""

    def made(self) -> tuple[View, Tensor]:
        """The call with what is known of its tokens, and the projection's root."""
        torch.manual_seed(0)
        texts, queries, keys = self.texts, self.queries, self.keys or self.queries
        lengths = torch.tensor([keys, *[max(1, keys - 5 * self.padded)] * (texts - 1)])
        is_key = torch.arange(keys) < lengths[:, None]
        real = is_key[:, :queries] if queries == keys else torch.ones(texts, queries, dtype=torch.bool)
        seen = is_key[:, None, None, :].expand(texts, 1, queries, keys)
        offset = torch.arange(keys) - torch.arange(queries)[:, None]
        if self.causal:
            seen = seen & (offset <= 0)
        if self.window:
            seen = seen & (offset > -self.window)
        mask = torch.zeros(seen.shape, dtype=self.dtype).masked_fill(~seen, torch.finfo(self.dtype).min)
        module = nn.Module()
        if self.sink:
            module.sinks = nn.Parameter(torch.randn(self.heads))
        inputs = AttentionInputs(
            module.to(DEVICE),
            *(
                torch.randn(texts, size, heads, self.width).transpose(1, 2).to(DEVICE, self.dtype)
                for size, heads in ((queries, self.heads), (keys, self.groups), (keys, self.groups))
            ),
            mask.to(DEVICE),
            torch.randn(1, self.heads, queries, keys).to(DEVICE, self.dtype) if self.bias else None,
            self.scaling,
            self.cap,
        )
        classes = ((torch.rand(texts, keys, 8) < 0.3) & is_key[..., None]).float()
        ordinary = (torch.rand(texts, keys) < 0.7) & is_key
        members = torch.randint(0, 256, (texts, queries), dtype=torch.uint8) * real
        shares = torch.rand(texts, 8)
        windows = torch.randint(0, 17, (texts, queries + keys + 1), dtype=torch.int32)
        tables = TokenTables.of(
            (classes.to(DEVICE), ordinary.to(DEVICE), is_key.to(DEVICE)),
            (real.to(DEVICE), members.to(DEVICE), shares.to(DEVICE)),
            windows.to(DEVICE),
            pairs=made_pairs(real, is_key, self.pairs) if queries == keys else None,
            padded=not bool(is_key.all() and real.all()),
        )
        view = View(inputs, tables, causal=self.causal, masked=self.window is not None or self.masked)
        return view, torch.randn(self.heads, self.width, self.width, device=DEVICE)


def exact_diagonals(weights: Tensor, tables: TokenTables, kept: Tensor) -> Tensor:
    """(text, head, offset + queries) in float64, of the keys that are `kept` (text, key)."""
    queries, keys = weights.shape[2:]
    counted = weights * (tables.real[:, None, :, None] & kept[:, None, None, :])
    offset = torch.arange(keys, device=DEVICE) - torch.arange(queries, device=DEVICE)[:, None]
    diagonals = weights.new_zeros(*weights.shape[:2], queries + keys + 1)
    return diagonals.index_add_(2, (offset + queries).flatten(), counted.flatten(2))


def around_middle(diagonals: Tensor) -> Tensor:
    """(text, head, offset + FARTHEST) those around the middle one, 0 past the ends."""
    room = torch.nn.functional.pad(diagonals, (FARTHEST, FARTHEST))
    middle = room.shape[-1] // 2
    return room[..., middle - FARTHEST : middle + FARTHEST + 1]


def made_pairs(real: Tensor, is_key: Tensor, share: float) -> PairLists:
    """Some pairs of each text."""
    codes = torch.randint(0, 1 << PATTERNS, (*real.shape, is_key.shape[1]), dtype=torch.uint8)
    codes *= (torch.rand(codes.shape) < share) & real[:, :, None] & is_key[:, None]
    return PairLists(codes.to(DEVICE))


def exact_pair_sums(weights: Tensor, pairs: PairLists) -> Tensor:
    """(text, head, sum) in float64."""
    bits = pairs.codes[..., None] >> torch.arange(PATTERNS, device=DEVICE) & 1  # (text, query, key, pattern)
    return torch.einsum("thqk,tqkp->thp", weights, bits.double())


def assert_near(name: str, own: Tensor, wanted: Tensor, bar: float) -> None:
    gap = float((own.double() - wanted).abs().amax() / wanted.abs().amax().clamp_min(0.05))
    assert gap < bar, f"{name} is {gap:.1e} off"


def check_sums(left: StackSums, view: View, way: int, weights: Tensor, bar: float) -> None:
    tables, sums = view.tables, left.ways[way]
    bits = tables.members[:, None] >> torch.arange(8, device=DEVICE)[:, None] & 1
    member = (bits * tables.shares[..., None]).double()[:, None]  # (text, 1, group, query)
    mass = member @ (weights @ tables.classes[:, None].double())
    assert_near("mass", sums.mass.sum(2), mass, bar)
    entropies = -torch.special.xlogy(weights, weights).sum(-1)  # (text, head, query)
    expected = (member @ entropies[..., None])[..., 0]
    assert_near("entropy", sums.entropies.sum(2), expected, bar)
    if tables.pairs is None:
        return
    windows = torch.nn.functional.one_hot(tables.windows.long(), 32).double()
    diagonals = exact_diagonals(weights, tables, tables.ordinary != 0)
    assert_near("windows", sums.windows.sum(2), diagonals @ windows, bar)
    near = around_middle(exact_diagonals(weights, tables, tables.seen))
    assert_near("offsets", sums.offsets[..., : 2 * FARTHEST + 1], near, bar)
    assert_near("pairs", sums.pairs.sum(2)[..., :PATTERNS], exact_pair_sums(weights, tables.pairs), bar)


def check(case: Case) -> Call:
    view, root = case.made()
    inputs, tables = view.inputs, view.tables
    weights = exact_weights(inputs)
    stream = torch.randn(*tables.real.shape, 40, device=DEVICE).to(case.dtype)
    whole = StackSums(2, case.heads)  # the second of two layers: what stands before it is another's
    asked = Asked(Root.of(root, case.dtype) if case.given else None, stream, case.moved)
    every = torch.arange(case.queries, device=DEVICE).repeat(case.texts, 1)
    shape = (case.texts, 2 * case.heads, case.queries, case.keys or case.queries)
    room = torch.zeros(
        shape, device=DEVICE, dtype=torch.float16 if case.dtype.itemsize < 4 else torch.float32
    )
    taken = RowsWanted(ChosenRows(every, None, moved=True), room, case.heads)
    found = attend(view, whole, 1, asked, wanted=[taken] if case.given and case.moved else [])
    left = whole.of_layer(1)
    half = case.dtype != torch.float32
    bar = 1e-3 if half else 1e-5
    check_sums(left, view, 0, weights, bar)
    value = inputs.value.double().repeat_interleave(case.heads // case.groups, 1)
    real = tables.real[:, :, None, None]
    output = (weights @ value).transpose(1, 2) * real
    assert_near("output", found.output * real, output, 1e-2 if half else 1e-5)
    again = found.rows(every).double() * tables.real[:, None, :, None]
    torch.testing.assert_close(again, weights * tables.real[:, None, :, None], atol=bar, rtol=0)
    last = torch.tensor([case.texts - 1], device=DEVICE)
    torch.testing.assert_close(found.rows(every[last], last).double(), weights[last], atol=bar, rtol=0)
    if case.given:
        check_given(found, left, root.double(), stream.double(), bar)
    if case.given and case.moved:
        lengths = torch.linalg.vector_norm(value @ root.double(), dim=-1) * tables.seen[:, None]
        assert left.fetched is not None
        torch.testing.assert_close(left.fetched.double(), lengths, atol=0, rtol=bar)
        moved = weights * lengths[:, :, None]
        moved /= moved.sum(-1, keepdim=True)
        check_sums(left, view, 1, moved, bar)
        again = room[:, case.heads :].double() * tables.real[:, None, :, None]
        torch.testing.assert_close(again, moved * tables.real[:, None, :, None], atol=bar, rtol=0)
    return found


def check_given(found: Call, left: StackSums, root: Tensor, stream: Tensor, bar: float) -> None:
    tables = found.view.tables
    given = (found.output.double() * tables.real[:, :, None, None]).transpose(1, 2) @ root
    length = torch.linalg.vector_norm(given, dim=-1)  # (text, head, query)
    residual = torch.linalg.vector_norm(stream, dim=-1)
    expected = torch.stack(
        [length.sum(-1), length.square().sum(-1), (length / residual[:, None]).sum(-1)], -1
    )
    assert left.given is not None
    assert left.vectors is not None
    torch.testing.assert_close(left.given.sum(2)[..., :3].double(), expected, atol=1e-4, rtol=bar)
    together = torch.linalg.vector_norm(given.sum(2), dim=-1)
    found_together = torch.linalg.vector_norm(left.vectors.sum(2).double()[:, :, None] @ root, dim=-1)[..., 0]
    torch.testing.assert_close(found_together, together, atol=1e-3, rtol=bar)


CASES = {
    "plain": Case(),
    "whole tiles, no padding": Case(queries=64, texts=1),
    "no padding": Case(padded=False),
    "mask": Case(masked=True),
    "looked alone": Case(given=False),
    "looked and given": Case(moved=False),
    "several tiles": Case(queries=70, texts=1),
    "every pair": Case(queries=70, texts=1, pairs=1.0),
    "causal": Case(queries=70, causal=True, texts=1),
    "sliding": Case(queries=70, causal=True, window=9, texts=1),
    "grouped": Case(heads=4, groups=2),
    "bias": Case(bias=True),
    "soft cap": Case(cap=2.0, scaling=0.7),
    "sinks": Case(sink=True),
    "cross": Case(queries=9, keys=33),
    "one token": Case(queries=1, texts=1),
    "odd width": Case(width=24),
    "wide": Case(width=256, queries=17, texts=1, heads=1, groups=1),
    "bfloat16": Case(dtype=torch.bfloat16, queries=40),
    "float16": Case(dtype=torch.float16, width=64),
    "several blocks": Case(dtype=torch.float16, width=32, queries=200, texts=1),
    "several blocks, causal": Case(
        dtype=torch.float16, width=32, queries=150, texts=1, causal=True, heads=4, groups=2
    ),
}

LARGE_CASES = {
    f"{dtype}, {width} wide, {queries} queries".removeprefix("torch."): Case(
        width=width, dtype=dtype, queries=queries, causal=causal, heads=4, groups=2
    )
    for width, dtype, (queries, causal) in product(
        (16, 32, 64, 80, 96, 128, 192, 256),
        (torch.float32, torch.float16, torch.bfloat16),
        ((128, False), (515, True), (2048, True)),
    )
}
"""Too large to be interpreted on a CPU."""
