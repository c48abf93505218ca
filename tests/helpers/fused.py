"""Attention calls to try the kernel on, and attention in float64 to hold it against; needs torch and triton alone."""

from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor, nn

from headscope.capture.call import AttentionInputs
from headscope.capture.kernels.launch import FusedCall, Pairs, TokenTables, View, attend

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"


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
    scaling: float | None = None
    padded: bool = True
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
        classes = ((torch.rand(texts, keys, 8) < 0.3) & is_key[..., None]).float().repeat(1, 1, 2)
        ordinary = (torch.rand(texts, keys) < 0.7) & is_key
        tables = TokenTables(
            *(tensor.to(DEVICE) for tensor in (classes, ordinary, is_key, real)),
            padded=not bool(is_key.all() and real.all()),
        )
        view = View(inputs, tables, causal=self.causal, masked=self.window is not None or self.masked)
        return view, torch.randn(self.heads, self.width, self.width, device=DEVICE)


def exact_weights(inputs: AttentionInputs) -> Tensor:
    """(text, head, query, key) in float64."""
    query, key = inputs.query.double(), inputs.key.double()
    key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    scores = query @ key.mT * inputs.scale
    if inputs.soft_cap:
        scores = inputs.soft_cap * torch.tanh(scores / inputs.soft_cap)
    for added in (inputs.bias_of_all, inputs.mask_of_all):
        scores = scores if added is None else scores + added.double()
    if inputs.sinks is not None:
        sink = inputs.sinks.double()[None, :, None, None].expand(*scores.shape[:3], 1)
        return torch.cat([scores, sink], -1).softmax(-1)[..., :-1]
    return scores.softmax(-1)


def exact_diagonals(weights: Tensor, tables: TokenTables) -> Tensor:
    """(text, head, offset + queries) in float64."""
    queries, keys = weights.shape[2:]
    counted = weights * (tables.real[:, None, :, None] & tables.ordinary[:, None, None, :])
    offset = torch.arange(keys, device=DEVICE) - torch.arange(queries, device=DEVICE)[:, None]
    diagonals = weights.new_zeros(*weights.shape[:2], queries + keys + 1)
    return diagonals.index_add_(2, (offset + queries).flatten(), counted.flatten(2))


def exact_pair_sums(weights: Tensor, pairs: Pairs) -> Tensor:
    """(text, head, kind) in float64."""
    at = weights.flatten(2).gather(2, pairs.places[:, None].expand(-1, weights.shape[1], -1))
    return torch.stack([(at * (pairs.codes[:, None] >> kind & 1)).sum(-1) for kind in range(pairs.kinds)], -1)


def assert_near(name: str, own: Tensor, wanted: Tensor, bar: float) -> None:
    gap = float((own.double() - wanted).abs().amax() / wanted.abs().amax().clamp_min(1e-3))
    assert gap < bar, f"{name} is {gap:.1e} off"


def check_sums(found: FusedCall, way: int, weights: Tensor, bar: float) -> None:
    tables = found.view.tables
    kept = tables.real[:, None].expand(weights.shape[:3])
    mass = weights @ tables.classes[:, None, :, :8].double()
    entropies = -torch.special.xlogy(weights, weights).sum(-1)
    assert_near("mass", found.mass[..., 8 * way : 8 * way + 8][kept], mass[kept], bar)
    assert_near("entropy", found.entropies[:, :, way][kept], entropies[kept], bar)
    assert_near("diagonals", found.diagonals[:, :, way], exact_diagonals(weights, tables), bar)


def check(case: Case) -> FusedCall:
    view, root = case.made()
    inputs, tables = view.inputs, view.tables
    weights = exact_weights(inputs)
    residual = torch.rand(tables.real.shape, device=DEVICE) + 0.5
    found = attend(view, root=root if case.moved else None, residual=residual)
    half = case.dtype != torch.float32
    bar = 1e-3 if half else 1e-5
    check_sums(found, 0, weights, bar)
    value = inputs.value.double().repeat_interleave(case.heads // case.groups, 1)
    real = tables.real[:, :, None, None]
    output = (weights @ value).transpose(1, 2) * real
    assert_near("output", found.output * real, output, 1e-2 if half else 1e-5)
    rows = torch.arange(case.queries, device=DEVICE).expand(case.texts, -1)
    again = found.rows(rows).double() * tables.real[:, None, :, None]
    torch.testing.assert_close(again, weights * tables.real[:, None, :, None], atol=bar, rtol=0)
    last = torch.tensor([case.texts - 1], device=DEVICE)
    torch.testing.assert_close(found.rows(rows[last], last).double(), weights[last], atol=bar, rtol=0)
    places = torch.randint(0, weights[0, 0].numel(), (case.texts, 70)).to(DEVICE)
    pairs = Pairs(places, torch.randint(0, 1 << 6, places.shape, dtype=torch.int32).to(DEVICE), 6)
    assert_near("pairs", found.pair_sums(pairs)[:, :, 0], exact_pair_sums(weights, pairs), bar)
    if case.moved:
        check_moved(
            found, weights, value, root=root.double(), pairs=pairs, residual=residual.double(), bar=bar
        )
    return found


def check_moved(
    found: FusedCall,
    weights: Tensor,
    value: Tensor,
    *,
    root: Tensor,
    pairs: Pairs,
    residual: Tensor,
    bar: float,
) -> None:
    assert found.moving is not None
    tables = found.view.tables
    lengths = torch.linalg.vector_norm(value @ root, dim=-1) * tables.seen[:, None]  # (text, head, key)
    torch.testing.assert_close(found.moving.fetched.double(), lengths, atol=0, rtol=bar)
    moved = weights * lengths[:, :, None]
    scale = 1 / moved.sum(-1)
    moved = moved * scale[..., None]
    kept = tables.real[:, None].expand(scale.shape)
    torch.testing.assert_close(found.moving.scale.double()[kept], scale[kept], atol=0, rtol=bar)
    check_sums(found, 1, moved, bar)
    assert_near("moved pairs", found.pair_sums(pairs)[:, :, 1], exact_pair_sums(moved, pairs), bar)
    given = (found.output.double() * tables.real[:, :, None, None]).transpose(1, 2) @ root
    length = torch.linalg.vector_norm(given, dim=-1)  # (text, head, query)
    together = torch.linalg.vector_norm(given.sum(2), dim=-1)
    expected = torch.stack(
        [length.sum(-1), length.square().sum(-1), (length / residual[:, None]).sum(-1), together], -1
    )
    torch.testing.assert_close(found.moving.given.double(), expected, atol=1e-4, rtol=bar)


CASES = {
    "plain": Case(),
    "whole tiles, no padding": Case(queries=64, texts=1),
    "no padding": Case(padded=False),
    "mask": Case(masked=True),
    "looked alone": Case(moved=False),
    "several tiles": Case(queries=70, texts=1),
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
