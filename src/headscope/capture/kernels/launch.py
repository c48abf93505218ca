"""Launching the kernels: an attention call and what is known of its tokens in, output and reductions out."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from headscope.capture.kernels import chosen, folding, fused, sums
from headscope.capture.kernels.batch import NOTHING, Asked, Root
from headscope.capture.kernels.launching import Launcher
from headscope.capture.kernels.view import NARROW, Tiling, View, padded, tensor_or
from headscope.measures.reductions import FARTHEST

_CLASSES, _GROUPS, _PATTERNS = sums.CLASSES.value, sums.GROUPS.value, sums.PATTERNS.value
_OFFSETS = 512  # so many offsets are added up together
_WINDOWS = 32  # room for so many windows of distance
_STAGES = 3  # so many tiles are on their way to the matrix units
_PROGRAMS = 1024  # so many keep a GPU busy
_ATTEND, _FETCHED, _GIVEN = map(Launcher, (fused.attend, fused.fetch_lengths, fused.given_lengths))
_SUMMED, _CROWDED, _FOLDED = map(Launcher, (sums.summed, sums.crowded, folding.folded))
_ROWS_OF = Launcher(chosen.rows_of)


class WaySums:
    """The sums of a stack's layers by one way to weigh attention, as the kernels leave them, heads side by side."""

    mass: Tensor  # (text, head, block, group, class) of groups of queries to classes of keys
    entropies: Tensor  # (text, head, block, group) in nats
    windows: Tensor  # (text, head, part, window) of ordinary keys, by distance; room for 32
    close: Tensor  # (text, head, offset + FARTHEST) of ordinary keys
    near: Tensor  # likewise, of all other keys
    pairs: Tensor  # (text, head, block, pattern)

    def __init__(self, view: View, lines: int, blocks: int) -> None:
        texts, queries, keys = len(view.inputs.query), view.inputs.query.shape[2], view.inputs.key.shape[2]
        within = view.tables.pairs is not None
        self.mass = view.room(texts, lines, blocks, _GROUPS, _CLASSES)
        self.entropies = view.room(texts, lines, blocks, _GROUPS)
        parts = -(-(queries + keys - 1) // _offsets_together(queries, keys))
        offsets = 2 * FARTHEST + 1 if within else 0
        self.windows = view.room(texts, lines, parts, _WINDOWS if within else 0)
        # What lies past the end of a short text is nobody's to write.
        self.close = torch.zeros(texts, lines, offsets, device=view.inputs.query.device)
        self.near = view.room(texts, lines, offsets)
        self.pairs = view.room(texts, lines, blocks, _PATTERNS if within else 0)


class StackSums:
    """All that the kernels leave of a stack's layers, heads side by side; room is made for calls like the first."""

    ways: list[WaySums]  # looked and, where somebody asks, moved
    given: Tensor | None = (
        None  # (text, head, block, sum) lengths given, their squares, against the residual stream
    )
    vectors: Tensor | None = None  # (text, head, block, rank) the sum of what is given
    fetched: Tensor | None = None  # (text, head, key) the lengths of what is fetched at each key

    def __init__(self, layers: int, heads: int) -> None:
        self.layers, self.heads = layers, heads
        self.lines = layers * heads
        self.ways = []

    def make_room(self, view: View, asked: Asked, tiling: Tiling) -> None:
        """Room for all layers, of calls like the first."""
        if self.ways:
            return
        (texts, _, queries, _), keys = view.inputs.query.shape, view.inputs.key.shape[2]
        blocks, _ = tiling.counts(queries, keys)
        moved = asked.root is not None and asked.moved
        self.ways = [WaySums(view, self.lines, blocks) for _ in range(2 if moved else 1)]
        if asked.root is None:
            return
        parts = (texts, self.lines, -(-queries // _rows_together(view)))
        self.given = view.room(*parts, 4)
        self.given[..., 2:3] = torch.nan  # where the residual stream is not seen
        self.vectors = view.room(*parts, asked.root.coarse.shape[-1])
        if moved:
            self.fetched = view.room(texts, self.lines, keys)

    def of_layer(self, place: int) -> "StackSums":
        """Those of the layer at that place alone."""
        own = StackSums(1, self.heads)
        heads = slice(place * self.heads, (place + 1) * self.heads)
        own.ways = [_part(way, heads) for way in self.ways]
        for name in ("given", "vectors", "fetched"):
            whole = getattr(self, name)
            setattr(own, name, None if whole is None else whole[:, heads])
        return own


def _part(way: WaySums, heads: slice) -> WaySums:
    part = WaySums.__new__(WaySums)
    for name in WaySums.__annotations__:
        setattr(part, name, getattr(way, name)[:, heads])
    return part


@dataclass(frozen=True)
class Call:
    """An attention call that was computed by the kernel."""

    view: View
    output: Tensor  # (text, query, head, dim)
    normaliser: Tensor  # (text, head, query) log-sum-exp of the scores, to the base of 2

    def rows(
        self, places: Tensor, texts: Tensor | None = None, *, into: Tensor | None = None, first: int = 0
    ) -> Tensor:
        """(text, head, row, key) the weights of the queries at `places` (text, row) of all or some `texts`.

        With `into` they stand among those of a stack's heads, from `first` on.
        """
        query, key, view = self.view.inputs.query, self.view.inputs.key, self.view
        heads, width = query.shape[1], query.shape[3]
        if texts is None:
            texts = torch.arange(len(query), device=query.device)
        count, keys = places.shape[1], key.shape[2]
        if into is None:
            into = view.room(len(texts), heads, count, keys)
        if into.numel():
            _ROWS_OF[(-(-count // 16), heads, len(texts))](
                query, key, *view.pointers, self.normaliser, texts, places, into,
                *query.stride(), *key.stride(), *view.steps,
                heads, key.shape[1], query.shape[2], keys, count, width, into.shape[1], first,
                *view.score, LINES=16, BLOCK=64, DIM=padded(width), **view.flags(64),
            )  # fmt: skip
        return into


def attend(view: View, left: StackSums, place: int, asked: Asked = NOTHING) -> Call:
    """Attention of a stack's layer at that `place`; its sums are `left`."""
    call = _attended(view)
    tiling = Tiling.fitting(padded(view.inputs.query.shape[-1]), half=view.half)
    left.make_room(view, asked, tiling)
    first = place * left.heads
    if asked.root is not None:
        _give(call, left, first, asked.root, asked.residual)
        if left.fetched is not None:
            _fetch(view, left.fetched, first, asked.root)
    for number, way in enumerate(left.ways):
        _sum(call, way, tiling, first, left.fetched if number else None)
    return call


def _attended(view: View) -> Call:
    """The output and the log-sum-exps of a call: by torch's own fused attention, where that does the same."""
    if not _is_torchs(view):
        return _by_kernel(view)
    inputs, causal = view.inputs, view.flags(1)["CAUSAL"]
    known_by = (inputs.query.dtype, inputs.query.shape[-1], causal)
    if known_by not in _PROVED:
        alone = {name: getattr(inputs, name)[:1] for name in ("query", "key", "value")}
        first = replace(view, inputs=replace(inputs, **alone))
        _PROVED[known_by] = _agree(_by_torch(first), _by_kernel(first))
    return (_by_torch(view) if _PROVED[known_by] else None) or _by_kernel(view)


_PROVED: dict[tuple[torch.dtype, int, bool], bool] = {}
"""Whether torch's own fused attention gives what the kernel gives, by precision, width and direction."""


def _is_torchs(view: View) -> bool:
    """Whether a call is one that torch's own fused attention knows and tells the log-sum-exp of."""
    inputs, flags = view.inputs, view.flags(1)
    (_, heads, queries, width), causal = inputs.query.shape, flags.pop("CAUSAL")
    same = inputs.key.shape[1] == heads and inputs.value.shape[-1] == width and width % 8 == 0
    plain = inputs.sinks is None and not any(flags.values())
    return (
        inputs.query.is_cuda
        and view.half
        and same
        and plain
        and (queries == inputs.key.shape[2] or not causal)
    )


def _by_torch(view: View) -> Call | None:
    """By the kernel that torch itself would take; None where there is none."""
    inputs = view.inputs
    try:
        output, logarithms, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention(
            inputs.query, inputs.key, inputs.value, None, True, 0.0, view.flags(1)["CAUSAL"], False,
            scale=inputs.scale,
        )  # fmt: skip
    except (RuntimeError, AttributeError, TypeError):  # another torch, or another GPU
        return None
    normaliser = logarithms.view(output.shape[:3]) * fused.LOG2_E.value
    return Call(view, output.transpose(1, 2).contiguous(), normaliser)


def _agree(one: Call | None, other: Call) -> bool:
    """Whether two calls of half precision are the same to rounding."""
    if one is None:
        return False
    pairs = ((one.output, other.output), (one.normaliser, other.normaliser))
    return all(torch.allclose(mine.float(), theirs.float(), rtol=1e-2, atol=1e-2) for mine, theirs in pairs)


def _by_kernel(view: View) -> Call:
    """By the kernel of our own, which knows all kinds of calls."""
    inputs = view.inputs
    query, key, value, sinks = inputs.query, inputs.key, inputs.value, inputs.sinks
    texts, heads, queries, width = query.shape
    keys, value_width = key.shape[2], value.shape[-1]
    out = query.new_empty(texts, queries, heads, value_width)
    normaliser = view.room(texts, heads, queries)
    dims = {"DIM": padded(width), "VALUE_DIM": padded(value_width)}
    widest = max(dims.values())
    block = (128 if widest <= 128 else 64) if view.half else 32
    step = (64 if widest <= 128 else 32) if view.half else 32
    _ATTEND[(-(-queries // block), heads, texts)](
        query, key, value, *view.pointers, tensor_or(sinks, query), out, normaliser,
        *query.stride(), *key.stride(), *value.stride(), *view.steps,
        heads, key.shape[1], queries, keys, width, value_width, *view.score,
        BLOCK=block, KEYS=step, **dims, **view.flags(step), HAS_SINK=sinks is not None, WHOLE=view.whole,
        num_warps=4, num_stages=(3 if widest <= 64 else 2) if view.half else 1,
    )  # fmt: skip
    return Call(view, out, normaliser)


def _sum(call: Call, way: WaySums, tiling: Tiling, first: int, fetched: Tensor | None) -> None:
    """All that measures ask of the weights of a call; with the lengths of what is `fetched`, by what heads move."""
    view, tables = call.view, call.view.tables
    query, key = view.inputs.query, view.inputs.key
    texts, heads, queries, width = query.shape
    keys, lines = key.shape[2], way.mass.shape[1]
    blocks, tiles = tiling.counts(queries, keys)
    within = tables.pairs is not None
    nothing = tables.real  # a pointer where the kernel will not look
    entries, counts = (nothing, nothing) if tables.pairs is None else tables.pairs.of(tiling)
    diagonals = view.room(texts, heads, blocks, tiles, tiling.size if within else 0)
    near = view.room(texts, heads, blocks, tiling.near, tiling.size if within else 0)
    cut = {"WARPS": tiling.warps, "KEYS": tiling.keys}
    around = {"FAR": FARTHEST, "NEAR": tiling.near}
    flags = view.flags(tiling.keys)
    full = view.whole and not tables.padded and queries % tiling.rows == 0
    kind = {"MOVED": fetched is not None, "WHOLE": view.whole, "EVEN": keys % tiling.keys == 0, "FULL": full}
    lengths = tensor_or(fetched, call.normaliser)
    sizes = (
        *query.stride(),
        *key.stride(),
        *view.steps,
        heads,
        key.shape[1],
        queries,
        keys,
        width,
        tiles,
        lines,
        first,
    )
    _SUMMED[(blocks, heads, texts)](
        query, key, *view.pointers, call.normaliser, lengths, tables.ordinary_bits, tables.special_bits,
        tables.half_classes if view.half else tables.classes, tables.asking, tables.member, entries, counts,
        way.mass, way.entropies, diagonals, near, way.pairs, *sizes, *view.score,
        **cut, DIM=padded(width), LINES=padded(tiling.lines), CHUNK=tiling.listed, LANES=tiling.threads,
        **around, **flags, **kind, WITHIN=within, HALF=view.half,
        num_warps=tiling.threads // 32, num_stages=_STAGES if view.half else 1,
    )  # fmt: skip
    if tables.pairs is None:
        return
    _CROWDED[(blocks, heads, texts)](
        query, key, *view.pointers, call.normaliser, lengths, tables.asking, tables.pairs.codes, counts, way.pairs,
        *sizes, *view.score, **cut, DIM=padded(width), CHUNK=tiling.listed, **flags, **kind, num_stages=1,
    )  # fmt: skip
    _FOLDED[(way.windows.shape[2], texts * heads)](
        diagonals, near, tables.windows, way.windows, way.close, way.near,
        heads, lines, first, queries, keys, blocks, tiles, **cut, **around,
        CHUNK=_offsets_together(queries, keys), WINDOWS=_WINDOWS, CAUSAL=flags["CAUSAL"], num_warps=2,
    )  # fmt: skip


def _give(call: Call, left: StackSums, first: int, root: Root, residual: Tensor | None) -> None:
    """How long what heads give is."""
    view, (texts, queries, heads, width) = call.view, call.output.shape
    rank, block = root.coarse.shape[-1], _rows_together(call.view)
    blocks = -(-queries // block)
    _GIVEN[_dealt(heads, texts * blocks)](
        call.output, view.tables.real, tensor_or(residual, call.output), root.coarse, root.fine,
        left.given, left.vectors, heads, queries, width, rank, left.lines, first, blocks, texts * blocks,
        BLOCK=block, DIM=padded(width), **_ranks(view, rank), HALF=view.half, HAS_RESIDUAL=residual is not None,
    )  # fmt: skip


def _fetch(view: View, fetched: Tensor, first: int, root: Root) -> None:
    """How long what heads fetch at each key is."""
    value = view.inputs.value
    texts, groups, keys, width = value.shape
    heads, _, rank = root.coarse.shape
    block = _rows_together(view)
    blocks = -(-keys // block)
    _FETCHED[_dealt(heads, texts * blocks)](
        value, view.tables.seen, root.coarse, root.fine, fetched, *value.stride(),
        heads, groups, keys, width, rank, fetched.shape[1], first, blocks, texts * blocks,
        BLOCK=block, DIM=padded(width), **_ranks(view, rank), HALF=view.half,
    )  # fmt: skip


def _offsets_together(queries: int, keys: int) -> int:
    """How many offsets are added up together."""
    return min(_OFFSETS, padded(queries + keys - 1))


def _dealt(heads: int, items: int) -> tuple[int, int]:
    """How many programs go through items, for each head."""
    return heads, max(1, min(items, _PROGRAMS // heads))


def _rows_together(view: View) -> int:
    """How many vectors go through a projection together."""
    wide = padded(view.inputs.value.shape[-1]) > NARROW
    return (64 if wide else 128) if view.half else 32


def _ranks(view: View, rank: int) -> dict[str, int]:
    """How many dimensions of a projection's root go together, and whether these are all."""
    most = 64 if view.half and padded(view.inputs.value.shape[-1]) <= 2 * NARROW else 32
    step = min(most, padded(rank))
    return {"RANK": step, "ONCE": step >= rank}
