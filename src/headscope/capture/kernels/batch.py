"""A stack's attention as the kernels gave it: measures take its sums, and no map is formed unless somebody asks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import torch
from torch import Tensor

from headscope.batches import ALL_LAYERS, AttentionBatch, Carried, ChosenRows, MovedBatch, TokenBatch
from headscope.capture.call import AttentionInputs
from headscope.capture.kernels.launch import (
    NOTHING,
    Asked,
    FusedCall,
    Pairs,
    StackSums,
    TokenTables,
    View,
    attend,
)
from headscope.measures.distance_features import window_sums, window_table
from headscope.measures.loudness import given_sums
from headscope.measures.named_patterns import PAIR_PATTERNS, PAIRS_TOGETHER, pattern_codes, pattern_sums
from headscope.measures.reductions import (
    FARTHEST,
    KeyClass,
    QueryGroup,
    class_mass,
    class_table,
    group_weights,
    mean_entropy,
    near_diagonals,
    one_pass,
    ordinary_keys,
)
from headscope.types import HeadGrid

# A mask is so far below 0 where a key is hidden, in any precision.
_HIDDEN = -1e4
_PATTERNS = len(PAIR_PATTERNS)
_NARROW = 16  # the fewest neurons that a kernel takes

T = TypeVar("T")


class FusedBatch(AttentionBatch):
    """Attention that was reduced while it was computed; of one layer, rows and maps are computed when asked for."""

    call: FusedCall
    left: StackSums  # what the kernels left of it

    def __init__(
        self,
        layer: int,
        left: StackSums,
        sides: tuple[TokenBatch, TokenBatch],
        call: FusedCall | None = None,
        carried: Carried | None = None,
    ) -> None:
        """What was `left` of one layer, with its `call`, or of all layers; `sides` are queries and keys."""
        own = {"layer": layer, "queries": sides[0], "keys": sides[1], "call": call, "carried": carried}
        self.__dict__.update(own, left=left, _even={}, _reduced={})

    @property
    def dtype(self) -> torch.dtype:
        """What attention is counted in."""
        return torch.float32

    @cached_property
    def sums(self) -> "Sums":
        """All that measures ask of maps."""
        return Sums.of(self.left, self.queries, self.keys)

    def reduce(self, reduction: Callable[[AttentionBatch], T]) -> T:
        """What the kernels have found already, or `reduction(self)`."""
        if one_pass not in self._reduced:
            self._reduced.update(self.sums.by_reduction(0))
        return super().reduce(reduction)

    def even(self, *, causal: bool) -> AttentionBatch:
        """The batch as one head would have it that looks evenly: one whose queries are 0."""
        if causal not in self._even:
            texts, queries = self.queries.ids.shape
            keys = self.keys.ids.shape[1]
            nothing = torch.zeros(
                texts, 1, max(queries, keys), _NARROW, device=self.keys.ids.device, dtype=torch.float32
            )
            inputs = AttentionInputs(
                torch.nn.Identity(), nothing[:, :, :queries], nothing[:, :, :keys], nothing[:, :, :keys], None
            )
            tables = self.keys.derive(_Tables).of(self.queries, self.keys)
            left = StackSums(1, 1)
            call = attend(View(inputs, tables, causal=causal, masked=False), left, 0)
            self._even[causal] = FusedBatch(self.layer, left, (self.queries, self.keys), call)
        return self._even[causal]

    @cached_property
    def attention(self) -> Tensor:
        """(text, head, query, key) the whole maps, for who wants them."""
        count = self.queries.ids.shape[1]
        every = torch.arange(count, device=self.queries.ids.device).repeat(len(self.queries.ids), 1)
        return self.rows(every) * self.queries.is_token[:, None, :, None]

    def map_of(self, text: int) -> Tensor:
        """(head, query, key) the attention of one text."""
        every = torch.arange(self.queries.ids.shape[1], device=self.queries.ids.device)[None]
        return self.rows(every, torch.full((1,), text, device=every.device))[0]

    def rows(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the attention of some queries."""
        return self.call.rows(places.contiguous(), texts)

    @property
    def moved(self) -> MovedBatch:
        """The same by what the heads move, made anew: kept here, both would stay until Python looks for cycles."""
        batch = MovedBatch(self, self.left.fetched)
        batch._reduced.update(self.sums.by_reduction(1))
        return batch


class WholeBatch(FusedBatch):
    """All layers of a stack, their heads side by side: sums, and the rows that were asked for beforehand."""

    chosen: dict[int, Tensor]  # by who holds the places: (text, head, row, key)

    def rows(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the attention of queries that were asked for before the layers ran."""
        return self.chosen[id(places)]


class FusedStack:
    """A stack's layers on one batch, gathered until the last."""

    def __init__(
        self, grid: HeadGrid, sides: tuple[TokenBatch, TokenBatch], wanted: Sequence[ChosenRows] = ()
    ) -> None:
        """`wanted` rows are computed of every layer."""
        self.grid, self.sides = grid, sides
        self.left = StackSums(grid.layers, grid.heads)
        self.wanted = {id(rows.places): rows for rows in wanted}
        self.chosen: dict[int, Tensor] = {}

    def attend(self, layer: int, inputs: AttentionInputs, asked: Asked = NOTHING) -> FusedCall:
        """One layer's attention, its sums, and the rows that were asked for."""
        call = attend(view_of(inputs, *self.sides, causal=self.grid.causal), self.left, layer, asked)
        for key, rows in self.wanted.items():
            if key not in self.chosen:
                texts = len(self.sides[0].ids) if rows.texts is None else len(rows.texts)
                shape = (texts, self.left.lines, rows.places.shape[1], self.sides[1].ids.shape[1])
                self.chosen[key] = torch.empty(shape, device=inputs.query.device, dtype=torch.float32)
            call.rows(rows.places, rows.texts, into=self.chosen[key], first=layer * self.grid.heads)
        return call

    def layer(self, layer: int, call: FusedCall, carried: Carried | None) -> FusedBatch:
        """One layer by itself, for who looks at maps."""
        return FusedBatch(layer, self.left.of_layer(layer), self.sides, call, carried)

    def whole(self) -> WholeBatch:
        """All layers as one batch whose `layer` is ALL_LAYERS."""
        batch = WholeBatch(ALL_LAYERS, self.left, self.sides)
        batch.__dict__["chosen"] = self.chosen
        return batch


@dataclass(frozen=True)
class Sums:
    """All that measures ask of attention maps; a way to weigh them is 0, looked, or 1, moved."""

    mass: Tensor  # (text, head, group, way and class) from groups of queries to classes of keys
    entropies: Tensor  # (text, head, way, group)
    by_distance: Tensor | None  # (text, head, way, window) of ordinary keys
    by_offset: Tensor | None  # (text, head, way, offset)
    by_pattern: Tensor | None  # (text, head, way, pattern)
    given: Tensor | None  # (text, head, sum)

    @classmethod
    def of(cls, left: StackSums, queries: TokenBatch, keys: TokenBatch) -> Self:
        """The kernels' sums of blocks, added up."""
        by_distance = by_offset = by_pattern = given = None
        if queries is keys:  # distances and patterns mean nothing between two texts
            table = keys.derive(window_table).float()
            diagonals, pairs = left.diagonals, left.pairs.sum(2)
            by_distance = (diagonals.flatten(1, 2) @ table).view(*diagonals.shape[:3], -1)
            by_pattern = pairs[..., :_PATTERNS]
            by_offset = pairs[..., _PATTERNS : _PATTERNS + 2 * FARTHEST + 1] + _near(diagonals, queries)
        if left.given.shape[-1]:
            given = left.given.sum(2)
            given[..., 3] = torch.linalg.vector_norm(left.vectors.sum(2), dim=-1)
        groups = len(QueryGroup)
        return cls(
            left.mass.sum(2)[:, :, :groups],
            left.entropies.sum(2)[..., :groups],
            by_distance,
            by_offset,
            by_pattern,
            given,
        )

    def by_reduction(self, way: int) -> dict[Callable[..., Any], Any]:
        """What each function would compute of a map."""
        classes = len(KeyClass)
        known: dict[Callable[..., Any], Any] = {
            one_pass: None,
            class_mass: self.mass[..., way * classes : (way + 1) * classes],
            mean_entropy: self.entropies[:, :, way],
        }
        if self.given is not None and way == 0:
            known[given_sums] = self.given
        if self.by_pattern is not None and self.by_distance is not None and self.by_offset is not None:
            known[pattern_sums] = self.by_pattern[:, :, way]
            known[window_sums] = self.by_distance[:, :, way]
            known[near_diagonals] = self.by_offset[:, :, way]
        return known


def _near(diagonals: Tensor, tokens: TokenBatch) -> Tensor:
    """(..., offset) the diagonals (..., offset + queries) up to FARTHEST from the middle one; 0 past the ends."""
    room = (
        torch.nn.functional.pad(diagonals, (FARTHEST, FARTHEST))
        if tokens.ids.shape[1] < FARTHEST
        else diagonals
    )
    middle = room.shape[-1] // 2
    return room[..., middle - FARTHEST : middle + FARTHEST + 1]


def _pairs(tokens: TokenBatch) -> Pairs:
    """The pairs that named patterns point at, and those near the diagonal whose key is not ordinary, by offset."""
    codes = tokens.derive(pattern_codes)[0]
    texts, length = tokens.ids.shape
    others = tokens.is_token & ~tokens.derive(ordinary_keys)
    place = torch.arange(length, device=codes.device)
    offset = place - place[:, None]
    bits = torch.where(offset.abs() <= FARTHEST, 1 << (offset + FARTHEST + _PATTERNS).clamp(0, 30), 0).int()
    step = max(1, PAIRS_TOGETHER // length**2)
    chosen = []
    for start in range(0, texts, step):
        part = slice(start, start + step)
        near = (tokens.is_token[part, :, None] & others[part, None]) * bits
        both = (near | codes[part]).flatten(1)  # (text, query and key)
        text, at = both.nonzero().unbind(1)
        chosen.append((text + start, at.int(), both[text, at]))
    text, places, sums = (torch.cat(parts) for parts in zip(*chosen, strict=True))
    starts = torch.searchsorted(text, torch.arange(texts + 1, device=text.device)).int()
    return Pairs(places, sums, starts)


class _Tables:
    """What the kernels need to know of the keys of a batch, and which masks have been looked at."""

    def __init__(self, keys: TokenBatch) -> None:
        classes = keys.derive(class_table)[..., : len(KeyClass)]
        self.classes = torch.cat([classes, classes], -1).float().contiguous()
        self.plain: dict[tuple[int, ...], bool] = {}
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
                keys.derive(_pairs) if queries is keys else None,
                padded=not (queries.is_full and keys.is_full),
            )
        return self._of[id(queries)]


def view_of(inputs: AttentionInputs, queries: TokenBatch, keys: TokenBatch, *, causal: bool) -> View:
    """How the queries of a call see its keys; a mask that only hides padding, and what lies ahead, is not looked at."""
    known = keys.derive(_Tables)
    tables = known.of(queries, keys)
    mask = inputs.mask
    if mask is None:
        if keys.is_full:
            return View(inputs, tables, causal=False, masked=False)
        hidden_nowhere = inputs.query.new_zeros(1, 1, 1, inputs.key.shape[2])
        return View(replace(inputs, mask=hidden_nowhere), tables, causal=False, masked=True)
    told_by = (mask.data_ptr(), *mask.shape, int(causal))
    if told_by not in known.plain:
        known.plain[told_by] = _is_plain(inputs, queries, keys, causal=causal)
    return View(inputs, tables, causal=causal, masked=not known.plain[told_by])


def _is_plain(inputs: AttentionInputs, queries: TokenBatch, keys: TokenBatch, *, causal: bool) -> bool:
    """Whether a mask hides padding and, in a causal stack, what lies ahead, and nothing else."""
    mask = inputs.mask
    assert mask is not None
    count = inputs.key.shape[2]
    mask = mask[..., :count].expand(len(keys.ids), -1, inputs.query.shape[2], -1)
    visible = keys.is_token[:, None, None, :].expand(-1, -1, inputs.query.shape[2], -1)
    if causal:
        visible = visible.tril(count - inputs.query.shape[2])
    as_told = torch.where(visible, mask == 0, mask < _HIDDEN)
    return bool((as_told | ~queries.is_token[:, None, :, None]).all())
