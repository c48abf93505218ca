"""A stack's attention by the kernels that Triton compiles for a GPU."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import torch
from torch import Tensor

from headscope.attention import ChosenRows, LayerAttention, TokenBatch
from headscope.kernels.batch import ALL_LAYERS, NOTHING, Asked, FusedBatch, FusedStack, is_plain
from headscope.kernels.triton.codes_kernel import narrow
from headscope.kernels.triton.launch import Call, Launches, RowsWanted, attend
from headscope.kernels.triton.stack_sums import StackSums
from headscope.kernels.triton.view import PairLists, TokenTables, View
from headscope.reductions import (
    FARTHEST,
    PAIR_PATTERNS,
    WINDOWS,
    KeyClass,
    MapSums,
    QueryGroup,
    class_table,
    group_weights,
    ordinary_keys,
    pattern_codes,
    window_of_offsets,
)
from headscope.trace.call import AttentionInputs
from headscope.types import HeadGrid

_PATTERNS = len(PAIR_PATTERNS)
_NARROW = 16  # the fewest neurons that a kernel takes
_SUMMED_BYTES = 3 << 24  # rows that only their sums are wanted of may take so much before they are summed up,
_SUMMED_BYTES_ALONE = 1 << 24  # or so much if they are of one text, as in few batches


class _Left:
    """The sums of blocks that kernels leave, added up."""

    def __init__(self, sums: StackSums, sides: tuple[TokenBatch, TokenBatch]) -> None:
        self._left, self._sides = sums, sides

    @property
    def fetched(self) -> Tensor | None:
        """(text, head, key) the lengths of what is fetched at each key, of one layer; None where nobody asked."""
        return self._left.fetched

    def given_sums(self) -> Tensor | None:
        """(text, head, 4) what heads give."""
        if self._left.given is None or self._left.vectors is None:
            return None
        given = _over_blocks(self._left.given).clone()
        roots = torch.cat(
            [self._left.roots[place] for place in sorted(self._left.roots)]
        )  # (head, dim, rank)
        together = torch.bmm(_over_blocks(self._left.vectors).transpose(0, 1), roots)  # (head, text, rank)
        given[..., 3] = torch.linalg.vector_norm(together, dim=-1).mT
        return given

    def sums(self, way: int) -> MapSums:
        """What measures ask of maps."""
        left, (queries, keys) = self._left.ways[way], self._sides
        by_distance = by_offset = by_pattern = None
        if queries is keys:  # distances and patterns mean nothing between two texts
            by_distance = _over_blocks(left.windows)[..., : 1 + WINDOWS]
            by_offset = left.offsets[..., : 2 * FARTHEST + 1]
            by_pattern = _over_blocks(left.pairs)[..., :_PATTERNS]
        groups = len(QueryGroup)
        return MapSums(
            _over_blocks(left.mass)[:, :, :groups],
            _over_blocks(left.entropies)[..., :groups],
            by_distance,
            by_offset,
            by_pattern,
        )


def _over_blocks(sums: Tensor) -> Tensor:
    """(text, head, ...) the sum over blocks (text, head, block, ...)."""
    return sums[:, :, 0] if sums.shape[2] == 1 else sums.sum(2)


def own_tables(tokens: TokenBatch) -> TokenTables:
    """What the kernels need to know of tokens that look at each other, but for pairs."""
    return _joined(tokens, tokens, tokens.derive(window_of_offsets).int())


def _joined(queries: TokenBatch, keys: TokenBatch, windows: Tensor) -> TokenTables:
    classes = keys.derive(class_table)[..., : len(KeyClass)].float().contiguous()
    return TokenTables.of(
        (classes, keys.derive(ordinary_keys), keys.is_token.contiguous()),
        (queries.is_token.contiguous(), queries.derive(_members), queries.derive(_shares)),
        windows,
        padded=not (queries.is_full and keys.is_full),
    )


def _members(tokens: TokenBatch) -> Tensor:
    """(text, query) a bit for each QueryGroup that a query is in."""
    weights = tokens.derive(group_weights)  # (text, group, query)
    bits = 1 << torch.arange(weights.shape[1], device=weights.device, dtype=torch.uint8)
    return ((weights > 0) * bits[:, None]).sum(1, dtype=torch.uint8)


def _shares(tokens: TokenBatch) -> Tensor:
    """(text, 8) what a query of each QueryGroup counts in the mean over it."""
    return torch.nn.functional.pad(tokens.derive(group_weights).amax(-1).float(), (0, 1))


class TritonStack(FusedStack):
    """A stack's layers, each by one launch or few."""

    rows_are_moved = True
    derives = (own_tables, narrow)

    def __init__(
        self, grid: HeadGrid, sides: tuple[TokenBatch, TokenBatch], wanted: Sequence[ChosenRows] = ()
    ) -> None:
        """`wanted` rows are computed of every layer."""
        super().__init__(grid, sides, wanted)
        self.sums = StackSums(grid.layers, grid.heads)
        self._launches: dict[tuple[object, ...], Launches] = {}
        _tables(*sides)  # now, while an accelerator is still busy with the batch before

    def attend(self, layer: int, inputs: AttentionInputs, asked: Asked = NOTHING) -> Call:
        """One layer's attention, its sums, and the rows that were asked for."""
        view = view_of(inputs, *self.sides, causal=self.grid.causal)
        rows = [self._rows(rows, layer, inputs) for rows in self.wanted.values()]
        call = attend(view, self.sums, layer, asked, wanted=rows, known=self._launches)
        for wanted in self.wanted.values():
            self._sum_up_last(wanted, layer)
        return call

    def _rows(self, rows: ChosenRows, layer: int, inputs: AttentionInputs) -> RowsWanted:
        """Where rows of a layer go: among those of all layers, or of as many as are summed up together."""
        if rows.key not in self.chosen:
            texts = len(self.sides[0].ids) if rows.texts is None else len(rows.texts)
            sizes = (rows.places.shape[1], self.sides[1].ids.shape[1])
            digits = torch.float16 if inputs.query.dtype.itemsize < torch.float32.itemsize else torch.float32
            most = _SUMMED_BYTES if texts > 1 else _SUMMED_BYTES_ALONE
            fitting = most // max(1, texts * self.grid.heads * prod(sizes) * digits.itemsize)
            layers = max(1, min(fitting, self.grid.layers)) if rows.summed else self.grid.layers
            shape = (texts, layers * self.grid.heads, *sizes)
            self.chosen[rows.key] = torch.empty(shape, device=inputs.query.device, dtype=digits)
        into = self.chosen[rows.key]
        return RowsWanted(rows, into, layer * self.grid.heads % into.shape[1])

    def _sum_up_last(self, rows: ChosenRows, layer: int) -> None:
        """Sum up the rows of the last few layers, where that is what is wanted of them."""
        if rows.summed is None:
            return
        room, heads = self.chosen[rows.key], (layer + 1) * self.grid.heads
        is_last = layer == self.grid.layers - 1
        if is_last or heads % room.shape[1] == 0:
            self.sum_up(rows, room[:, : (heads - 1) % room.shape[1] + 1])
        if is_last:
            del self.chosen[rows.key]

    def even(self, *, causal: bool) -> LayerAttention:
        """Attention of queries that are 0: a map of it would take memory."""
        (texts, queries), keys = self.sides[0].ids.shape, self.sides[1].ids.shape[1]
        nothing = torch.zeros(texts, 1, max(queries, keys), _NARROW, device=self.sides[1].ids.device)
        inputs = AttentionInputs(
            torch.nn.Identity(), nothing[:, :, :queries], nothing[:, :, :keys], nothing[:, :, :keys], None
        )
        stack = TritonStack(HeadGrid(self.grid.stack, 1, 1, causal=causal), self.sides)
        view = View(inputs, _tables(*self.sides), causal=causal, masked=False)
        return FusedBatch(0, stack, attend(view, stack.sums, 0))

    def left(self, layer: int) -> _Left:
        """What the kernels left of one layer, or of ALL_LAYERS."""
        return _Left(self.sums if layer == ALL_LAYERS else self.sums.of_layer(layer), self.sides)


def _pairs(tokens: TokenBatch) -> PairLists:
    """The pairs that named patterns point at."""
    return PairLists(tokens.derive(pattern_codes)[0].contiguous())


def _tables(queries: TokenBatch, keys: TokenBatch) -> TokenTables:
    """What the kernels need to know of the tokens of a batch."""
    return keys.derive(_Tables).of(queries, keys)


class _Tables:
    """What the kernels need to know of the keys of a batch, by who asks."""

    def __init__(self, keys: TokenBatch) -> None:
        self._of: dict[int, TokenTables] = {}

    def of(self, queries: TokenBatch, keys: TokenBatch) -> TokenTables:
        """With what is known of who asks."""
        if id(queries) not in self._of:
            self._of[id(queries)] = (
                replace(keys.derive(own_tables), pairs=keys.derive(_pairs))
                if queries is keys
                else _joined(queries, keys, queries.derive(_members))
            )
        return self._of[id(queries)]


def view_of(inputs: AttentionInputs, queries: TokenBatch, keys: TokenBatch, *, causal: bool) -> View:
    """How the queries of a call see its keys; a mask that only hides padding, and what lies ahead, is not looked at."""
    tables = _tables(queries, keys)
    mask = inputs.mask
    if mask is None:
        if keys.is_full:
            return View(inputs, tables, causal=False, masked=False)
        hidden_nowhere = inputs.query.new_zeros(1, 1, 1, inputs.key.shape[2])
        return View(replace(inputs, mask=hidden_nowhere), tables, causal=False, masked=True)
    masked = not is_plain(inputs, (queries, keys), causal=causal)
    return View(inputs, tables, causal=causal, masked=masked)
