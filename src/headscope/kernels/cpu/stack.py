"""A stack's attention on a CPU: products by torch, softmax and all sums by loops that numba compiles.

Scores are formed for a few maps at a time, in room that serves all layers; they become weights there, are summed up and
multiplied with the values. Maps of long texts are never in memory together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import e, log2, prod
from typing import Any

import torch
from torch import Tensor

from headscope.attention import Carried, ChosenRows, TokenBatch
from headscope.kernels.batch import ALL_LAYERS, NOTHING, Asked, FusedBatch, FusedCall, FusedStack, is_plain
from headscope.kernels.cpu import loops as cpu
from headscope.reductions import MapSums, SumsRoom, token_tables
from headscope.trace.call import AttentionInputs
from headscope.types import HeadGrid

SCORES = 1 << 20
"""How many scores are worked on at once."""
KEPT = 1 << 22
"""Of rows of which only sums are wanted, so many numbers are kept until the last layer."""
UNSEEN = -1e30
"""A score that leaves nothing of a weight."""


class CompiledStack(FusedStack):
    """A stack's layers on one batch."""

    def __init__(
        self, grid: HeadGrid, sides: tuple[TokenBatch, TokenBatch], wanted: Sequence[ChosenRows] = ()
    ) -> None:
        """`wanted` rows are kept of every layer."""
        super().__init__(grid, sides, wanted)
        self._summed_singly = [rows for rows in wanted if rows.summed is not None and self._is_large(rows)]
        for rows in self._summed_singly:
            del self.wanted[rows.key]
        self._rows = self._places_of_rows()
        self._sums: SumsRoom | None = None
        self._room = torch.empty(0)
        self._maps: Tensor | None = (
            None  # (text, head, query, key) of the last layer, if they are there together
        )
        self._last: CompiledCall | None = None
        self._given: Tensor | None = None  # (text, head, 4)
        self._fetched: Tensor | None = None  # (text, head, key)

    def attend(self, layer: int, inputs: AttentionInputs, asked: Asked = NOTHING) -> "CompiledCall":
        """One layer's attention; its sums, and the rows that were asked for, are kept."""
        first = layer * self.grid.heads
        self._make_room(asked)
        assert self._sums is not None
        self.sums_up = asked.sums
        lengths = None
        if asked.root is not None and self._fetched is not None:
            lengths = self._fetched[:, first : first + self.grid.heads]
            fetched = Carried(inputs.value, inputs.value, asked.root.whole).fetched
            lengths.copy_(fetched.masked_fill(~self.sides[1].is_token[:, None], 0))
        output = self._attended(inputs, first, lengths if asked.sums else None, self._sums.into)
        if asked.root is not None and self._given is not None:
            vectors = output @ asked.root.whole
            cpu.given_sums(vectors, self._tokens.kinds, asked.residual, first, self._given)
        self._last = CompiledCall(inputs, output.transpose(1, 2).contiguous())  # some models view it
        for rows in self._summed_singly:
            self.sum_up(rows, self._weights_of(rows, self._last), lengths if rows.moved else None)
        return self._last

    def _weights_of(self, rows: ChosenRows, call: "CompiledCall") -> Tensor:
        """(text, head, row, key) rows of the last call, from its maps where they are in memory together."""
        if self._maps is None:
            return call.rows(rows.places, rows.texts)
        of = torch.arange(len(self._maps)) if rows.texts is None else rows.texts
        return self._maps[of[:, None], :, rows.places].transpose(1, 2)

    def layer(self, layer: int, call: FusedCall, carried: Carried | None) -> "CompiledBatch":
        """One layer by itself, for who looks at maps."""
        return CompiledBatch(layer, self, call, carried)

    def maps_of(self, call: FusedCall) -> Tensor | None:
        """(text, head, query, key) the weights of the last call; None where they are not in memory together."""
        return self._maps if call is self._last else None

    def let_go(self) -> None:
        """Leave the maps of the last call to who asked for them: the next has room of its own."""
        self._room, self._maps = torch.empty(0), None

    def left(self, layer: int) -> "_Left":
        """What is left of one layer, or of ALL_LAYERS."""
        first = layer * self.grid.heads
        heads = slice(None) if layer == ALL_LAYERS else slice(first, first + self.grid.heads)
        assert self._sums is not None
        own = (None if each is None else each[:, heads] for each in (self._given, self._fetched))
        return _Left(self._sums, heads, *own)

    def _make_room(self, asked: Asked) -> None:
        """Room for what is asked of all layers, with the first."""
        if self._sums is not None:
            return
        (texts, keys), moved = self.sides[1].ids.shape, asked.root is not None and asked.moved
        self._tokens = token_tables(*self.sides, within=asked.sums)
        self._sums = SumsRoom(*self.sides, self.lines, ways=2 if moved and asked.sums else 1)
        if asked.root is not None and asked.sums:
            self._given = torch.zeros(texts, self.lines, 4, dtype=torch.float64)
        if moved:
            self._fetched = torch.zeros(texts, self.lines, keys)

    def _attended(self, inputs: AttentionInputs, first: int, lengths: Tensor | None, into: Any) -> Tensor:
        """(text, head, query, dim) what heads give; their sums go `into` room, from the `first` head on."""
        (texts, heads, queries, _), (groups, keys) = inputs.query.shape, inputs.key.shape[1:3]
        query = inputs.query.reshape(
            texts * groups, -1, inputs.query.shape[-1]
        )  # (text and group, row, neuron)
        key, value = (side.reshape(texts * groups, keys, -1) for side in (inputs.key, inputs.value))
        output = torch.empty(*query.shape[:2], value.shape[-1])
        scores = self._scores(inputs)
        together = max(1, (self.scores_together or SCORES) // (query.shape[1] * keys))
        for block in _blocks(texts, groups, heads, together):
            asking = query[block.units]
            products = self._room_for(len(asking), asking.shape[1], keys)
            torch.bmm(asking, key[block.units].mT, out=products)
            maps = products.view(-1, queries, keys)
            if scores.by_hand:
                inputs.finish(maps.view(*block.shape, queries, keys), block.part)
            base = block.texts.start * heads + block.heads.start
            given = (scores.told, lengths, self._tokens, into, self._rows)
            cpu.map_sums(maps, base, first, heads, *given, alone=not self.sums_up)
            torch.bmm(products, value[block.units], out=output[block.units])
            self._maps = products.view(texts, heads, queries, keys) if len(asking) == len(query) else None
        return output.view(texts, heads, queries, -1)

    def _scores(self, inputs: AttentionInputs) -> "_Scores":
        """How the products of queries and keys become weights.

        The loops scale them, and hide padding and what lies ahead; what else there may be is done to them beforehand.
        """
        keys, mask = self.sides[1], inputs.mask
        by_hand = inputs.position_bias is not None or inputs.soft_cap is not None
        by_hand = by_hand or (mask is not None and not is_plain(inputs, self.sides, causal=self.grid.causal))
        hides = mask is not None and not by_hand
        scale = 1.0 if by_hand else inputs.scale
        sinks = torch.full((inputs.query.shape[1],), UNSEEN) if inputs.sinks is None else inputs.sinks / scale
        hidden = torch.zeros(keys.ids.shape).masked_fill_(~keys.is_token & hides, UNSEEN)
        told = cpu.loops().Scores(scale * log2(e), hidden.numpy(), sinks.numpy(), hides and self.grid.causal)
        return _Scores(told, by_hand)

    def _room_for(self, *shape: int) -> Tensor:
        """Room for scores; the same for all blocks and layers."""
        size = prod(shape)
        if self._room.numel() < size:
            self._room = torch.empty(size)
        return self._room[:size].view(shape)

    def _is_large(self, rows: ChosenRows) -> bool:
        """Whether rows of all layers are better not kept until the last."""
        texts = len(self.sides[0].ids) if rows.texts is None else len(rows.texts)
        return texts * rows.places.shape[1] * self.sides[1].ids.shape[1] * self.lines > KEPT

    def _places_of_rows(self) -> Any:
        """Where rows that were asked for are kept; `chosen` has the room for each set of them."""
        texts, keys = self.sides[1].ids.shape
        every, taken, size = torch.arange(texts), [], 0
        for rows in self.wanted.values():
            of = every if rows.texts is None else rows.texts
            count = rows.places.shape[1]
            starts = size + (torch.arange(len(of))[:, None] * self.lines * count + torch.arange(count)) * keys
            step = torch.full_like(starts, count * keys)
            taken.append(
                torch.stack([of[:, None].expand_as(starts), rows.places, starts, step], -1).flatten(0, 1)
            )
            size += len(of) * self.lines * count * keys
        table = torch.cat(taken) if taken else torch.zeros(0, 4, dtype=torch.long)
        table = table[table[:, 0].argsort(stable=True)]
        room, begin = torch.empty(size), 0
        for number, rows in self.wanted.items():
            shape = (texts if rows.texts is None else len(rows.texts), self.lines, rows.places.shape[1], keys)
            self.chosen[number] = room[begin : begin + prod(shape)].view(shape)
            begin += prod(shape)
        starts = torch.searchsorted(table[:, 0].contiguous(), torch.arange(texts + 1))
        return cpu.loops().Rows(room.numpy(), table[:, 1:].contiguous().numpy(), starts.numpy())


@dataclass(frozen=True)
class _Scores:
    told: Any
    """As the compiled loops are told."""
    by_hand: bool


@dataclass(frozen=True)
class _Left:
    """What is left of some heads of a stack."""

    room: SumsRoom
    heads: slice
    given: Tensor | None  # (text, head, 4)
    fetched: Tensor | None  # (text, head, key)

    def sums(self, way: int) -> MapSums:
        """What measures ask of maps."""
        return self.room.sums(way, self.heads)

    def given_sums(self) -> Tensor | None:
        """(text, head, 4) what heads give."""
        return self.given


@dataclass(frozen=True)
class CompiledCall:
    """An attention call that was computed here."""

    inputs: AttentionInputs
    output: Tensor  # (text, query, head, dim)

    def rows(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the weights of the queries at `places` (text, row) of all or some `texts`."""
        return self.inputs.weights_of(places, texts)


class CompiledBatch(FusedBatch):
    """One layer of a stack, whose maps need not be computed again while it is the last."""

    stack: CompiledStack

    @cached_property
    def attention(self) -> Tensor:
        """(text, head, query, key) the whole maps."""
        maps = self.stack.maps_of(self.call)
        if maps is None:
            return super().attention
        self.stack.let_go()
        return (
            maps if self.queries.is_full else maps.masked_fill_(~self.queries.is_token[:, None, :, None], 0)
        )

    def map_of(self, text: int) -> Tensor:
        """(head, query, key) the attention of one text."""
        maps = self.stack.maps_of(self.call)
        return super().map_of(text) if maps is None else maps[text].clone()


@dataclass(frozen=True)
class _Block:
    """What is worked on together: some texts, or some heads of one."""

    units: slice  # of texts and groups of heads that share their keys
    texts: slice
    heads: slice

    @property
    def shape(self) -> tuple[int, int]:
        """How many texts and heads."""
        return self.texts.stop - self.texts.start, self.heads.stop - self.heads.start

    def part(self, tensor: Tensor) -> Tensor:
        """Its own part of (text, head, …)."""
        return tensor[self.texts, self.heads]


def _blocks(texts: int, groups: int, heads: int, together: int) -> Iterator[_Block]:
    """All texts and heads; `together` is how many groups of heads, of one text each, are worked on at once."""
    if together >= groups:
        step = together // groups
        for text in range(0, texts, step):
            last = min(texts, text + step)
            yield _Block(slice(text * groups, last * groups), slice(text, last), slice(0, heads))
        return
    for text in range(texts):
        for group in range(0, groups, together):
            last, each = min(groups, group + together), heads // groups
            units = slice(text * groups + group, text * groups + last)
            yield _Block(units, slice(text, text + 1), slice(group * each, last * each))
