"""A stack's attention by torch alone, for a GPU without Triton: fused attention, and weights a block at a time.

Of every query `identities` tells the output, entropy and mass by class of key. Sums by distance, offset and named
pattern cannot be had so: weights are formed for a block of queries, added up, and let go of.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from headscope.batches import ALL_LAYERS, AttentionBatch, Carried, ChosenRows, TokenBatch
from headscope.capture.call import AttentionInputs
from headscope.capture.kernels.batch import NOTHING, Asked, FusedBatch, FusedStack, Root
from headscope.capture.kernels.identities import Attention, Found, joined
from headscope.measures.reductions import (
    FARTHEST,
    PAIR_PATTERNS,
    WINDOWS,
    MapSums,
    group_weights,
    mean_over_groups,
    ordinary_keys,
    pattern_codes,
    window_table,
)
from headscope.types import HeadGrid

_ALWAYS, _BY_PLACE = ("mass", "entropies"), ("by_distance", "by_offset", "by_pattern")


@dataclass(frozen=True)
class _Left:
    """What is left of some heads of a stack."""

    ways: tuple[MapSums, ...]
    given: Tensor | None  # (text, head, 4)
    fetched: Tensor | None  # (text, head, key)

    def sums(self, way: int) -> MapSums:
        """What measures ask of maps."""
        return self.ways[way]

    def given_sums(self) -> Tensor | None:
        """(text, head, 4) what heads give."""
        return self.given


@dataclass(frozen=True)
class TorchCall:
    """An attention call that was computed here."""

    inputs: AttentionInputs
    output: Tensor  # (text, query, head, dim)

    def rows(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the weights of the queries at `places` (text, row) of all or some `texts`."""
        return self.inputs.weights_of(places, texts)


class TorchStack(FusedStack):
    """A stack's layers on one batch."""

    note = " (torch's own attention and sums by blocks: triton is not installed)"

    def __init__(
        self, grid: HeadGrid, sides: tuple[TokenBatch, TokenBatch], wanted: Sequence[ChosenRows] = ()
    ) -> None:
        """`wanted` rows are computed of every layer."""
        super().__init__(grid, sides, wanted)
        self._left: dict[int, _Left] = {}

    def attend(self, layer: int, inputs: AttentionInputs, asked: Asked = NOTHING) -> TorchCall:
        """One layer's attention; its sums, and the rows that were asked for, are kept."""
        return self._attend(layer, inputs, asked)

    def _attend(
        self, layer: int, inputs: AttentionInputs, asked: Asked, *, plain: bool | None = None
    ) -> TorchCall:
        """The same of a mask of which it may be known whether it is `plain`."""
        lengths = self._fetched(inputs.value, asked.root) if asked.root and asked.moved else None
        attention = Attention(inputs, self.sides, lengths, causal=self.grid.causal, plain=plain)
        found, ways = _reduced(attention)
        output = found.output.to(inputs.query.dtype)
        given = self._given(output, asked) if asked.root else None
        self._left[layer] = _Left(ways, given, lengths)
        call = TorchCall(attention.inputs, output.transpose(1, 2).contiguous())  # some models view it
        self._keep_rows(layer, call, lengths)
        return call

    def left(self, layer: int) -> _Left:
        """What is left of one layer, or of ALL_LAYERS."""
        if layer != ALL_LAYERS:
            return self._left[layer]
        layers = [self._left[each] for each in sorted(self._left)]
        ways = (_side_by_side(each) for each in zip(*(left.ways for left in layers), strict=True))
        return _Left(
            tuple(ways), *(_all([getattr(left, name) for left in layers]) for name in ("given", "fetched"))
        )

    def even(self, *, causal: bool) -> AttentionBatch:
        """Attention of queries that are 0: a map of it would take memory."""
        (texts, queries), keys = self.sides[0].ids.shape, self.sides[1].ids.shape[1]
        nothing = torch.zeros(texts, 1, max(queries, keys), 8, device=self.sides[1].ids.device)
        hidden = ~self.sides[1].is_token[:, None, None]  # (text, 1, 1, key)
        if causal:
            hidden = torch.ones(1, 1, queries, keys, dtype=torch.bool, device=hidden.device).triu(1)
        mask = torch.where(hidden, torch.finfo(torch.float32).min, 0.0)
        asking, seen = nothing[:, :, :queries], nothing[:, :, :keys]
        inputs = AttentionInputs(torch.nn.Identity(), asking, seen, seen, mask)
        stack = TorchStack(HeadGrid(self.grid.stack, 1, 1, causal=causal), self.sides)
        return FusedBatch(0, stack, stack._attend(0, inputs, NOTHING, plain=True))

    def _keep_rows(self, layer: int, call: TorchCall, lengths: Tensor | None) -> None:
        """The rows of a layer that were asked for, among those of all layers, or what they make of themselves."""
        first = layer * self.grid.heads
        for key, rows in self.wanted.items():
            weights = call.rows(rows.places, rows.texts)  # (text, head, row, key)
            if rows.summed is not None:
                self.sum_up(rows, weights, lengths if rows.moved else None)
                continue
            if key not in self.chosen:
                texts, _, *others = weights.shape
                self.chosen[key] = weights.new_empty(texts, self.lines, *others)
            self.chosen[key][:, first : first + self.grid.heads] = weights

    def _fetched(self, value: Tensor, root: Root) -> Tensor:
        """(text, head, key) the lengths of what is fetched; padding may hold nan."""
        lengths = Carried(value, value, root.whole.float()).fetched
        return lengths.masked_fill(~self.sides[1].is_token[:, None], 0)

    def _given(self, output: Tensor, asked: Asked) -> Tensor:
        """(text, head, 4) what heads give, from their output (text, head, query, dim)."""
        assert asked.root is not None
        real = self.sides[0].is_token[:, None]  # (text, 1, query)
        vectors = (output.float() @ asked.root.whole.float()).masked_fill(~real[..., None], 0)
        lengths: Tensor = torch.linalg.vector_norm(vectors, dim=-1)  # (text, head, query)
        against = torch.full_like(lengths[..., 0], torch.nan)
        if (residual := asked.residual) is not None:
            stream = residual[:, None]
            against = torch.where(real & (stream > 0), lengths / stream, 0).sum(-1)
        together = torch.linalg.vector_norm(vectors.sum(2), dim=-1)
        return torch.stack([lengths.sum(-1), lengths.square().sum(-1), against, together], -1)


class _Places:
    """Sums of a layer's weights by where query and key stand in one text, a block of queries at a time."""

    def __init__(self, attention: Attention) -> None:
        tokens = attention.sides[1]
        self.padding = None if tokens.is_full else ~tokens.is_token[:, None, :, None]  # (text, 1, query, 1)
        self.ordinary = tokens.derive(ordinary_keys)[:, None, None].float()  # (text, 1, 1, key)
        self.windows = tokens.derive(window_table).float()  # (text, offset + queries, self and windows)
        self.codes = tokens.derive(pattern_codes)[0]  # (text, query, key)
        sizes = (1 + WINDOWS, 2 * FARTHEST + 1, len(PAIR_PATTERNS))
        shape = (attention.ways, attention.texts, attention.heads)
        # (way, text, head, sum)
        self.by_distance, self.by_offset, self.by_pattern = (
            torch.zeros(*shape, size, device=self.codes.device) for size in sizes
        )

    def of(self, way: int) -> tuple[Tensor, Tensor, Tensor]:
        """(text, head, sum) by distance, offset and pattern."""
        return self.by_distance[way], self.by_offset[way], self.by_pattern[way]

    def add(self, way: int, shares: Tensor, rows: slice) -> None:
        """Count the shares (text, head, row, key) of some queries."""
        if self.padding is not None:
            shares = shares.masked_fill(self.padding[:, :, rows], 0)
        seen = shares.shape[-1]
        diagonals = _diagonals(shares * self.ordinary[..., :seen])
        first = self.codes.shape[1] - rows.stop
        self.by_distance[way] += diagonals @ self.windows[:, first : first + diagonals.shape[-1]]
        near = range(rows.start - FARTHEST, rows.start + FARTHEST + 1)
        self.by_offset[way] += torch.stack([shares.diagonal(each, 2, 3).sum(-1) for each in near], -1)
        bits = torch.arange(len(PAIR_PATTERNS), device=shares.device, dtype=torch.uint8)
        points = ((self.codes[:, rows, :seen, None] >> bits) & 1).float()  # (text, row, key, pattern)
        # Row by row, then over rows: one sum of a million weights in float32 would lose a digit.
        self.by_pattern[way] += (shares.transpose(1, 2) @ points).sum(1)


def _reduced(attention: Attention) -> tuple[Found, tuple[MapSums, ...]]:
    """What is known of every query of a layer, and its sums by each way to weigh them."""
    queries, keys = attention.sides
    places = _Places(attention) if queries is keys else None  # between two texts they mean nothing
    found = attention.found()
    if found is None or places is not None:
        parts = [_block(attention, rows, found, places) for rows in attention.blocks()]
        found = found or joined(parts, 2)
    sums, padding = [], ~queries.is_token[:, None]  # (text, 1, query) it may hold nan
    for way in range(attention.ways):
        mass = queries.derive(group_weights)[:, None] @ found.mass(way).masked_fill(padding[..., None], 0)
        entropies = mean_over_groups(found.entropies(way).masked_fill(padding, 0), queries)
        by_place = (None, None, None) if places is None else places.of(way)
        sums.append(MapSums(mass, entropies, *by_place))
    return found, tuple(sums)


def _block(attention: Attention, rows: slice, known: Found | None, places: _Places | None) -> Found:
    """What is known of some queries; their weights are counted by place."""
    found = None if known is None else known.part(rows)
    log_weights, normaliser = attention.log_weights(rows, None if found is None else found.normaliser)
    weights = log_weights.exp()
    found = found or attention.of_block(weights, log_weights, normaliser)
    if places is not None:
        places.add(0, weights, rows)
        if attention.lengths is not None:
            fetched = attention.lengths[:, :, None, : weights.shape[-1]]
            places.add(1, weights.mul_(fetched).mul_(found.scale[..., None]), rows)
    return found


def _diagonals(shares: Tensor) -> Tensor:
    """(text, head, offset + rows) shares (text, head, row, key) added up along every diagonal."""
    # With room in front and rows read one element longer, each offset stands in a column of its own.
    count, keys = shares.shape[2:]
    room = pad(shares, (count, 0, 0, 1)).flatten(2)
    longer = count + keys + 1
    return room[..., : count * longer].view(*shares.shape[:3], longer).sum(2)


def _side_by_side(layers: Sequence[MapSums]) -> MapSums:
    """The sums of the heads of all layers."""
    mass, entropies = (torch.cat([getattr(sums, name) for sums in layers], 1) for name in _ALWAYS)
    by_place = (_all([getattr(sums, name) for sums in layers]) for name in _BY_PLACE)
    return MapSums(mass, entropies, *by_place)


def _all(layers: Sequence[Tensor | None]) -> Tensor | None:
    """(text, head, ...) of the heads of all layers; None where nobody asked."""
    there = [each for each in layers if each is not None]
    return torch.cat(there, 1) if there else None
