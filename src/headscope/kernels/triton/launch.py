"""Launching the kernels: an attention call and what is known of its tokens in, output and reductions out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from headscope.attention import ChosenRows
from headscope.kernels.batch import NOTHING, Asked
from headscope.kernels.triton import chosen, folding, fused, sums
from headscope.kernels.triton.launching import LATER, Bound, Launcher
from headscope.kernels.triton.stack_sums import SWEEPS_TOGETHER, StackSums, rows_together
from headscope.kernels.triton.view import NARROW, Tiling, View, padded, tensor_or
from headscope.reductions import FARTHEST

_HEADS_TOGETHER = 16  # so many are added up by one program
_STAGES = 3  # so many tiles are on their way to the matrix units
_PROGRAMS = 1024  # so many keep a GPU busy
_ATTEND, _FETCHED, _GIVEN = map(Launcher, (fused.attend, fused.fetch_lengths, fused.given_lengths))
_SUMMED, _CROWDED, _FOLDED = map(Launcher, (sums.summed, sums.crowded, folding.folded))
_ROWS_OF = Launcher(chosen.rows_of)


@dataclass(frozen=True)
class Call:
    """An attention call that was computed by the kernel."""

    view: View
    output: Tensor  # (text, query, head, dim)
    normaliser: Tensor  # (text, head, query) log-sum-exp of the scores

    def rows(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the weights of the queries at `places` (text, row) of all or some `texts`."""
        query, view = self.view.inputs.query, self.view
        if texts is None:
            texts = torch.arange(len(query), device=query.device)
        rows = view.room(len(texts), query.shape[1], places.shape[1], view.inputs.key.shape[2])
        if rows.numel():
            launch = _rows_launch(view, ChosenRows(places, texts), rows, self.normaliser)
            launch(query, view.inputs.key, *view.pointers[1:], self.normaliser, 0)
        return rows


@dataclass(frozen=True)
class RowsWanted:
    """Rows of a layer, and where they are to stand."""

    rows: ChosenRows
    into: Tensor  # (text, head, row, key)
    first: int  # of the layer's heads there


def attend(
    view: View,
    left: StackSums,
    place: int,
    asked: Asked = NOTHING,
    *,
    wanted: Sequence[RowsWanted] = (),
    known: "dict[tuple[object, ...], Launches] | None" = None,
) -> Call:
    """Attention of a stack's layer at that `place`; its sums are `left`, and rows that are `wanted` with them.

    Launches for calls of one kind are `known` from call to call.
    """
    launches = Launches.of(view, left, asked, {} if known is None else known)
    call = _by_torch(view) if _is_torchs(view) else None
    call = call or launches.attended(view)
    launches.summed(call, place * left.heads, asked)
    for rows in wanted:
        launches.rows(rows, call)
    return call


_PROVED: dict[tuple[torch.dtype, int, bool], bool] = {}
"""Whether torch's own fused attention gives what the kernel gives, by precision, width and direction."""


def _is_torchs(view: View) -> bool:
    """Whether a call is one that torch's own fused attention knows, tells the log-sum-exp of, and does as we do."""
    inputs, flags = view.inputs, view.flags(1)
    (_, heads, queries, width), causal = inputs.query.shape, flags.pop("CAUSAL")
    same = inputs.value.shape[-1] == width and width % 8 == 0
    plain = inputs.sinks is None and not any(flags.values())
    if not (inputs.query.is_cuda and view.half and same and plain):
        return False
    if causal and queries != inputs.key.shape[2]:
        return False
    known_by = (inputs.query.dtype, width, causal)
    if known_by not in _PROVED:
        alone = {name: getattr(inputs, name)[:1] for name in ("query", "key", "value")}
        first = replace(view, inputs=replace(inputs, **alone))
        own = Launches.of(first, StackSums(1, heads), NOTHING, {}).attended(first)
        _PROVED[known_by] = _agree(_by_torch(first), own)
    return _PROVED[known_by]


def _by_torch(view: View) -> Call | None:
    """By the kernel that torch itself would take; None where there is none."""
    inputs = view.inputs
    try:
        output, logarithms, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention(
            inputs.query, inputs.key, inputs.value, None, True, 0.0, view.causal, False,
            scale=inputs.scale,
        )  # fmt: skip
    except (RuntimeError, AttributeError, TypeError):  # another torch, or another GPU
        return None
    return Call(view, output.transpose(1, 2).contiguous(), logarithms.view(output.shape[:3]))


def _agree(one: Call | None, other: Call) -> bool:
    """Whether two calls of half precision are the same to rounding."""
    if one is None:
        return False
    pairs = ((one.output, other.output), (one.normaliser, other.normaliser))
    return all(torch.allclose(mine.float(), theirs.float(), rtol=1e-2, atol=1e-2) for mine, theirs in pairs)


class Launches:
    """The launches for a stack's calls of one kind on one batch: of layers that differ by where their numbers lie."""

    def __init__(self, view: View, left: StackSums, tiling: Tiling, hidden: int) -> None:
        """For calls like that `view`; `hidden` is the width of the residual stream, 0 where it is not seen."""
        self._like, self._left, self._tiling, self._hidden = view, left, tiling, hidden
        self._rows: dict[int, Bound] = {}

    @classmethod
    def of(
        cls, view: View, left: StackSums, asked: Asked, known: "dict[tuple[object, ...], Launches]"
    ) -> "Launches":
        """Those for calls of this kind, of which some are `known`."""
        hidden = 0 if asked.stream is None else asked.stream.shape[-1]
        kind = (*view.kind, hidden)
        if kind not in known:
            tiling = Tiling.fitting(view)
            left.make_room(view, asked, tiling)
            known[kind] = cls(view.outline, left, tiling, hidden)
        return known[kind]

    def attended(self, view: View) -> Call:
        """The output and the log-sum-exps of a call, by the kernel of our own, which knows all kinds of calls."""
        inputs = view.inputs
        texts, heads, queries, _ = inputs.query.shape
        out = inputs.query.new_empty(texts, queries, heads, inputs.value.shape[-1])
        normaliser = view.room(texts, heads, queries)
        sinks = tensor_or(inputs.sinks, inputs.query)
        self._attend(inputs.query, inputs.key, inputs.value, *view.pointers[1:], sinks, out, normaliser)
        return Call(view, out, normaliser)

    def summed(self, call: Call, first: int, asked: Asked) -> None:
        """All that is asked of a call; its heads are those of the stack from the `first` on."""
        view, left = call.view, self._left
        if asked.root is not None:
            left.roots[first // left.heads] = asked.root.whole
            root = asked.root.coarse, asked.root.fine
            self._give(call.output, tensor_or(asked.stream, call.output), *root, first)
            if left.logs_fetched is not None:
                self._fetch(view.inputs.value, *root)
        placed = (view.inputs.query, view.inputs.key, *view.pointers[1:])
        diagonals, near = self._room_for_diagonals()
        for (sum_up, crowd, fold), normaliser in zip(
            self._ways, (call.normaliser, self._moving), strict=False
        ):
            sum_up(*placed, normaliser, diagonals, near, first)
            if crowd is not None and fold is not None:
                crowd(*placed, normaliser, first)
                fold(diagonals, near, first)

    def _room_for_diagonals(self) -> tuple[Tensor, Tensor]:
        """For a call, and let go of after it: what follows in a layer takes more room than attention."""
        view, tiling = self._like, self._tiling
        (texts, heads, queries, _), keys = view.inputs.query.shape, view.inputs.key.shape[2]
        blocks, _ = tiling.counts(queries, keys)
        dtype = torch.float16 if view.half else torch.float32
        return (
            view.room(texts, heads, blocks, tiling.sweeps(keys) + 1, tiling.size, dtype=dtype),
            view.room(texts, heads, blocks, 2, tiling.size, dtype=dtype),
        )

    def rows(self, wanted: RowsWanted, call: Call) -> None:
        """Compute some rows of a layer, after its sums."""
        if id(wanted.into) not in self._rows:
            self._rows[id(wanted.into)] = _rows_launch(
                self._like, wanted.rows, wanted.into, self._logs_fetched
            )
        view, normaliser = call.view, self._moving if wanted.rows.moved else call.normaliser
        launch = self._rows[id(wanted.into)]
        launch(view.inputs.query, view.inputs.key, *view.pointers[1:], normaliser, wanted.first)

    @cached_property
    def _attend(self) -> Bound:
        view = self._like
        (texts, heads, queries, width), value_width = view.inputs.query.shape, view.inputs.value.shape[-1]
        dims = {"DIM": padded(width), "VALUE_DIM": padded(value_width)}
        widest = max(dims.values())
        block = (128 if widest <= 128 else 64) if view.half else 32
        step = (64 if widest <= 128 else 32) if view.half else 32
        return _ATTEND.bound(
            (-(-queries // block), heads, texts),
            LATER, LATER, LATER, view.pointers[0], LATER, LATER, LATER, LATER, LATER,
            *view.inputs.query.stride(), *view.inputs.key.stride(), *view.inputs.value.stride(), *view.steps,
            heads, view.inputs.key.shape[1], queries, view.inputs.key.shape[2], width, value_width, *view.score,
            BLOCK=block, KEYS=step, **dims, **view.flags(step), HAS_SINK=view.inputs.sinks is not None,
            WHOLE=view.whole, num_warps=4, num_stages=(3 if widest <= 64 else 2) if view.half else 1,
            maxnreg=view.registers,
        )  # fmt: skip

    @cached_property
    def _ways(self) -> list[tuple[Bound, Bound | None, Bound | None]]:
        """For each way to weigh attention, what sums it up, what does so where pairs are many, and what folds."""
        view, tables, tiling = self._like, self._like.tables, self._tiling
        query, key = view.inputs.query, view.inputs.key
        (texts, heads, queries, width), keys = query.shape, key.shape[2]
        blocks, tiles = tiling.counts(queries, keys)
        sweeps, flags = tiling.sweeps(keys), view.flags(tiling.keys)
        lists = None if tables.pairs is None else tables.pairs.of(tiling)
        full = view.whole and not tables.padded and queries % tiling.rows == 0
        sizes = (
            *(*query.stride(), *key.stride(), *view.steps),
            *(heads, key.shape[1], queries, keys, width, tiles, self._left.lines),
        )
        made: list[tuple[Bound, Bound | None, Bound | None]] = []
        weighed = self._left.logs_fetched is not None
        for number, way in enumerate(self._left.ways):
            kind = {"MOVED": number > 0, "WHOLE": view.whole, "EVEN": keys % tiling.keys == 0, "FULL": full}
            sum_up = _SUMMED.bound(
                (blocks, heads, texts),
                LATER, LATER, view.pointers[0], LATER, LATER, LATER, self._logs_fetched, tables.ordinary,
                tables.half_classes if view.half else tables.classes, tables.asking, tables.members,
                tables.shares,
                tables.members if lists is None else lists.entries,
                way.mass, way.entropies, LATER, LATER, way.pairs, self._moving, *sizes, LATER, *view.score,
                **tiling.cut, DIM=padded(width), CHUNK=tiling.listed, LANES=tiling.threads,
                **flags, **kind, WITHIN=lists is not None, FINDS=weighed and number == 0, HALF=view.half,
                num_warps=tiling.threads // 32,
                num_stages=_STAGES if view.half else 1, maxnreg=tiling.registers,
            )  # fmt: skip
            if lists is None or tables.pairs is None:
                made.append((sum_up, None, None))
                continue
            crowd = _CROWDED.bound(
                (blocks, heads, texts),
                LATER, LATER, view.pointers[0], LATER, LATER, LATER, self._logs_fetched, tables.asking,
                tables.pairs.codes, lists.counts, lists.is_crowded, way.pairs, *sizes, LATER, *view.score,
                **tiling.cut, DIM=padded(width), CHUNK=tiling.listed, **flags, **kind, num_stages=1,
                maxnreg=view.registers,
            )  # fmt: skip
            fold = _FOLDED.bound(
                (way.windows.shape[2] + 1, -(-heads // _HEADS_TOGETHER), texts),
                LATER, LATER, tables.windows, way.windows, way.offsets,
                heads, self._left.lines, LATER, queries, keys, blocks, sweeps,
                **tiling.cut, HEADS=_HEADS_TOGETHER, FAR=FARTHEST, CHUNK=SWEEPS_TOGETHER,
                CAUSAL=flags["CAUSAL"], HALF=view.half, num_warps=4,
            )  # fmt: skip
            made.append((sum_up, crowd, fold))
        return made

    @cached_property
    def _logs_fetched(self) -> Tensor:
        """(text, head, key) room for the logarithms of the lengths of what is fetched, where they are asked for."""
        return tensor_or(self._left.logs_fetched, self._moving)

    @cached_property
    def _moving(self) -> Tensor:
        """(text, head, query) room for the log-sum-exps of what is moved, where they are asked for."""
        return self._like.room(
            *(self._like.inputs.query.shape[:3] if self._left.logs_fetched is not None else (1,))
        )

    @cached_property
    def _give(self) -> Bound:
        """How long what heads give is."""
        view, left = self._like, self._left
        (texts, heads, queries, _), width = view.inputs.query.shape, view.inputs.value.shape[-1]
        assert left.given is not None
        block, rank = rows_together(view), left.rank
        return _GIVEN.bound(
            (-(-queries // block), texts),
            LATER, view.tables.real, LATER, LATER, LATER, left.given, left.vectors,
            heads, queries, width, rank, self._hidden, left.lines, LATER,
            BLOCK=block, DIM=padded(width), **_ranks(view, rank), HALF=view.half,
            HIDDEN=64, HAS_STREAM=self._hidden > 0, maxnreg=view.registers,
        )  # fmt: skip

    @cached_property
    def _fetch(self) -> Bound:
        """How long what heads fetch at each key is."""
        view, left = self._like, self._left
        value, heads = view.inputs.value, view.inputs.query.shape[1]
        texts, groups, keys, width = value.shape
        assert left.logs_fetched is not None
        block, rank = rows_together(view), left.rank
        items = texts * -(-keys // block)
        return _FETCHED.bound(
            (heads, max(1, min(items, _PROGRAMS // heads))),
            LATER, view.tables.seen, LATER, LATER, left.logs_fetched, *value.stride(),
            heads, groups, keys, width, rank, -(-keys // block), items,
            BLOCK=block, DIM=padded(width), **_ranks(view, rank), HALF=view.half, GROUPED=groups != heads,
            maxnreg=view.registers,
        )  # fmt: skip


def _rows_launch(view: View, rows: ChosenRows, into: Tensor, logs_fetched: Tensor) -> Bound:
    """What computes the weights of some queries, or the shares of what is moved."""
    query, key = view.inputs.query, view.inputs.key
    (_, heads, queries, width), (count, keys) = query.shape, into.shape[2:]
    texts = torch.arange(len(query), device=view.device) if rows.texts is None else rows.texts
    return _ROWS_OF.bound(
        (-(-count // 16), heads, len(texts)),
        LATER, LATER, view.pointers[0], LATER, LATER, LATER, logs_fetched, texts, rows.places.contiguous(), into,
        *query.stride(), *key.stride(), *view.steps,
        heads, key.shape[1], queries, keys, count, width, into.shape[1], LATER,
        *view.score, LINES=16, BLOCK=64, DIM=padded(width), **view.flags(64), MOVED=rows.moved,
    )  # fmt: skip


def _ranks(view: View, rank: int) -> dict[str, int]:
    """How many dimensions of a projection's root go together, and whether these are all."""
    most = 64 if view.half and padded(view.inputs.value.shape[-1]) <= 2 * NARROW else 32
    step = min(most, padded(rank))
    return {"RANK": step, "ONCE": step >= rank}
