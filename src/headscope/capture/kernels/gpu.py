"""A stack's attention by the kernels that Triton compiles for a GPU."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from headscope.batches import ALL_LAYERS, AttentionBatch, ChosenRows, TokenBatch
from headscope.capture.call import AttentionInputs
from headscope.capture.kernels.batch import NOTHING, Asked, FusedBatch, FusedStack, is_plain
from headscope.capture.kernels.launch import Call, StackSums, attend
from headscope.capture.kernels.view import PairLists, TokenTables, View
from headscope.measures.reductions import (
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
from headscope.types import HeadGrid

_PATTERNS = len(PAIR_PATTERNS)
_NARROW = 16  # the fewest neurons that a kernel takes


class _Left:
    """The sums of blocks that kernels leave, added up."""

    def __init__(self, sums: StackSums, sides: tuple[TokenBatch, TokenBatch]) -> None:
        self.fetched = sums.fetched
        self._left, self._sides = sums, sides

    def given_sums(self) -> Tensor | None:
        """(text, head, 4) what heads give."""
        if self._left.given is None or self._left.vectors is None:
            return None
        given = self._left.given.sum(2)
        given[..., 3] = torch.linalg.vector_norm(self._left.vectors.sum(2), dim=-1)
        return given

    def sums(self, way: int) -> MapSums:
        """What measures ask of maps."""
        left, (queries, keys) = self._left.ways[way], self._sides
        by_distance = by_offset = by_pattern = None
        if queries is keys:  # distances and patterns mean nothing between two texts
            by_distance = left.windows.sum(2)[..., : 1 + WINDOWS]
            by_offset = left.close + left.near
            by_pattern = left.pairs.sum(2)[..., :_PATTERNS]
        groups = len(QueryGroup)
        return MapSums(
            left.mass.sum(2)[:, :, :groups],
            left.entropies.sum(2)[..., :groups],
            by_distance,
            by_offset,
            by_pattern,
        )


class TritonStack(FusedStack):
    """A stack's layers, each by one launch or few."""

    def __init__(
        self, grid: HeadGrid, sides: tuple[TokenBatch, TokenBatch], wanted: Sequence[ChosenRows] = ()
    ) -> None:
        """`wanted` rows are computed of every layer."""
        super().__init__(grid, sides, wanted)
        self.sums = StackSums(grid.layers, grid.heads)
        _tables(*sides)  # now, while an accelerator is still busy with the batch before

    def attend(self, layer: int, inputs: AttentionInputs, asked: Asked = NOTHING) -> Call:
        """One layer's attention, its sums, and the rows that were asked for."""
        call = attend(view_of(inputs, *self.sides, causal=self.grid.causal), self.sums, layer, asked)
        for key, rows in self.wanted.items():
            if key not in self.chosen:
                texts = len(self.sides[0].ids) if rows.texts is None else len(rows.texts)
                shape = (texts, self.lines, rows.places.shape[1], self.sides[1].ids.shape[1])
                digits = torch.float32 if inputs.query.dtype == torch.float32 else torch.float16
                self.chosen[key] = torch.empty(shape, device=inputs.query.device, dtype=digits)
            call.rows(rows.places, rows.texts, into=self.chosen[key], first=layer * self.grid.heads)
        return call

    def even(self, *, causal: bool) -> AttentionBatch:
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
    """What the kernels need to know of the keys of a batch."""

    def __init__(self, keys: TokenBatch) -> None:
        self.classes = keys.derive(class_table)[..., : len(KeyClass)].float().contiguous()
        self._of: dict[int, TokenTables] = {}

    def of(self, queries: TokenBatch, keys: TokenBatch) -> TokenTables:
        """With what is known of who asks."""
        if id(queries) not in self._of:
            member = torch.nn.functional.pad(queries.derive(group_weights).float(), (0, 0, 0, 1))
            self._of[id(queries)] = TokenTables(
                self.classes,
                keys.derive(ordinary_keys).contiguous(),
                keys.is_token.contiguous(),
                queries.is_token.contiguous(),
                member.contiguous(),
                keys.derive(window_of_offsets).int() if queries is keys else member,
                keys.derive(_pairs) if queries is keys else None,
                padded=not (queries.is_full and keys.is_full),
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
