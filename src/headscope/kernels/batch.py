"""A stack's attention as kernels gave it: measures take its sums, and no map is formed unless somebody asks."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, TypeVar

import torch
from torch import Tensor

from headscope.attention import (
    ALL_LAYERS,
    AttentionBatch,
    Carried,
    ChosenRows,
    Derive,
    MovedBatch,
    TokenBatch,
    even_attention,
    moved_shares,
)
from headscope.errors import CaptureError
from headscope.measures.loudness import given_sums
from headscope.reductions import MapSums, one_pass
from headscope.trace.call import AttentionInputs
from headscope.types import HeadGrid

HIDDEN = -1e4
"""A mask is so far below 0 where a key is hidden, in any precision."""
_HALF = (torch.float16, torch.bfloat16)

T = TypeVar("T")
Key = tuple[int, bool]
"""What rows are known by: `ChosenRows.key`."""


@dataclass(frozen=True)
class Root:
    """The root of a layer's output projection (head, dim, rank), and as what kernels take it."""

    whole: Tensor
    coarse: Tensor
    """In the precision of the vectors that it is multiplied with."""
    fine: Tensor
    """What that leaves out: a length would else be 2e-3 off where heads are narrow."""

    @classmethod
    def of(cls, root: Tensor, dtype: torch.dtype) -> "Root":
        """For vectors of this type."""
        if dtype not in _HALF:
            return cls(root, root, root)
        coarse = root.to(dtype)
        return cls(root, coarse, (root - coarse).to(dtype))


@dataclass(frozen=True)
class Asked:
    """What is asked of a layer beside where its heads look."""

    root: Root | None = None
    stream: Tensor | None = None  # (text, query, hidden) what heads add to
    moved: bool = True
    """Whether attention is also weighed by what heads move; else the root tells what they give alone."""
    sums: bool = True
    """Whether anybody asks for sums; else whole maps, and what is fetched, are all that is looked at."""

    @property
    def residual(self) -> Tensor | None:
        """(text, query) the lengths of what heads add to."""
        if self.stream is None:
            return None
        lengths: Tensor = torch.linalg.vector_norm(self.stream, dim=-1, dtype=torch.float32)
        return lengths


NOTHING = Asked()


class Left(Protocol):
    """What is left of the attention of some heads when it has been computed."""

    @property
    def fetched(self) -> Tensor | None:
        """(text, head, key) the lengths of what is fetched at each key; None where nobody asked."""

    def sums(self, way: int) -> MapSums:
        """What measures ask of maps; a way to weigh them is 0, looked, or 1, moved."""

    def given_sums(self) -> Tensor | None:
        """(text, head, 4) what heads give, as the reduction of that name; None where nobody asked."""


class FusedCall(Protocol):
    """An attention call that was computed by a kernel."""

    @property
    def output(self) -> Tensor:
        """(text, query, head, dim) what heads give."""

    def rows(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the weights of the queries at `places` (text, row) of all or some `texts`."""


class FusedBatch(AttentionBatch):
    """Attention that was reduced while it was computed; of one layer, rows and maps are computed when asked for."""

    stack: "FusedStack"
    call: FusedCall
    left: Left

    def __init__(
        self,
        layer: int,
        stack: "FusedStack",
        call: FusedCall | None = None,
        carried: Carried | None = None,
    ) -> None:
        """One layer of a stack, with its `call`, or all of its layers."""
        queries, keys = stack.sides
        own = {"layer": layer, "queries": queries, "keys": keys, "call": call, "carried": carried}
        self.__dict__.update(own, stack=stack, left=stack.left(layer), _even={}, _reduced={})

    @property
    def dtype(self) -> torch.dtype:
        """What attention is counted in."""
        return torch.float32

    def reduce(self, reduction: Callable[[AttentionBatch], T]) -> T:
        """What the kernels have found already, or `reduction(self)`."""
        if one_pass not in self._reduced and self.stack.sums_up:
            self._reduced[one_pass] = self.left.sums(0)
            if (given := self.left.given_sums()) is not None:
                self._reduced[given_sums] = given
        return super().reduce(reduction)

    def even(self, *, causal: bool) -> AttentionBatch:
        """The batch as one head would have it that looks evenly at every token it can see."""
        if causal not in self._even:
            self._even[causal] = self.stack.even(causal=causal)
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
        if (lengths := self.left.fetched) is None:
            return super().moved
        batch = MovedBatch(self, lengths)
        if self.stack.sums_up:
            batch._reduced[one_pass] = self.left.sums(1)
        return batch


class WholeBatch(FusedBatch):
    """All layers of a stack, their heads side by side: sums, and the rows that were asked for beforehand."""

    def rows(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the attention of queries that were asked for before the layers ran."""
        return self.stack.rows_of(places, moved=False)

    def row_sums(self, rows: ChosenRows) -> tuple[Tensor, ...]:
        """(head, ...) what rows make of themselves that were asked for before the layers ran."""
        return self.stack.sums_of(rows) or super().row_sums(rows)

    @property
    def moved(self) -> MovedBatch:
        """The same by what the heads move, made anew."""
        lengths = (
            torch.empty(0) if self.stack.rows_are_moved else self.left.fetched
        )  # else nobody asks for them
        assert lengths is not None
        batch = WholeMoved(self, lengths)
        batch._reduced[one_pass] = self.left.sums(1)
        return batch


class WholeMoved(MovedBatch):
    """All layers of a stack by what their heads move."""

    looked: WholeBatch

    def rows(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the moved shares of queries that were asked for before the layers ran."""
        stack = self.looked.stack
        rows = stack.rows_of(places, moved=True)
        if stack.rows_are_moved:
            return rows
        return moved_shares(rows, self.lengths if texts is None else self.lengths[texts])

    def row_sums(self, rows: ChosenRows) -> tuple[Tensor, ...]:
        """(head, ...) what rows make of themselves that were asked for before the layers ran."""
        return self.looked.stack.sums_of(rows) or super().row_sums(rows)


class FusedStack(ABC):
    """A stack's layers on one batch, gathered until the last."""

    rows_are_moved: ClassVar[bool] = False
    """Whether rows that are asked for by what heads move are kept as that; else they are weights all the same."""
    sums_up: bool = True
    """Whether maps are summed up as measures ask for it; else only so that a nan shows."""
    derives: ClassVar[tuple[Derive, ...]] = ()
    """What it derives of tokens, as `Measure.derives`."""
    chosen: dict[Key, Tensor]  # (text, head, row, key) rows that were asked for
    summed: dict[
        Key, list[tuple[Tensor, ...]]
    ]  # (head, ...) what others make of themselves, by some layers each

    def __init__(
        self, grid: HeadGrid, sides: tuple[TokenBatch, TokenBatch], wanted: Sequence[ChosenRows] = ()
    ) -> None:
        """`wanted` rows are computed of every layer."""
        self.grid, self.sides = grid, sides
        self.lines = grid.layers * grid.heads
        self.wanted = {rows.key: rows for rows in wanted}
        self.chosen, self.summed = {}, {}

    def rows_of(self, places: Tensor, *, moved: bool) -> Tensor:
        """(text, head, row, key) rows of all layers that were asked for."""
        key = (id(places), moved)
        if key not in self.chosen:
            raise CaptureError(
                "a measure asked for rows of all layers at once that it had not asked for beforehand; let its `wanted` "
                "name them, or leave `from_sums` at False"
            )
        return self.chosen[key]

    def sum_up(self, rows: ChosenRows, weights: Tensor, lengths: Tensor | None = None) -> None:
        """Take in what rows make of the `weights` (text, head, row, key) of the next layer, or of several.

        `lengths` (text, head, key) are those of what is fetched, where the rows are to be what heads move and are not
        that yet.
        """
        assert rows.summed is not None
        if lengths is not None:
            weights = moved_shares(weights, lengths if rows.texts is None else lengths[rows.texts])
        self.summed.setdefault(rows.key, []).append(rows.summed(weights))

    def sums_of(self, rows: ChosenRows) -> tuple[Tensor, ...] | None:
        """(head, ...) what rows of all layers have made of themselves; None where they were not summed up."""
        parts = self.summed.get(rows.key)
        return None if parts is None else tuple(map(torch.cat, zip(*parts, strict=True)))

    @abstractmethod
    def attend(self, layer: int, inputs: AttentionInputs, asked: Asked = NOTHING) -> FusedCall:
        """One layer's attention; its sums, and the rows that were asked for, are kept."""

    @abstractmethod
    def left(self, layer: int) -> Left:
        """What is left of one layer, or of ALL_LAYERS."""

    def layer(self, layer: int, call: FusedCall, carried: Carried | None) -> FusedBatch:
        """One layer by itself, for who looks at maps."""
        return FusedBatch(layer, self, call, carried)

    def whole(self) -> WholeBatch:
        """All layers as one batch whose `layer` is ALL_LAYERS."""
        return WholeBatch(ALL_LAYERS, self)

    def even(self, *, causal: bool) -> AttentionBatch:
        """The same tokens as one head would have them that looks evenly."""
        return even_attention(*self.sides, causal=causal)


class SeenMasks:
    """What was found of the masks of a batch; each is held meanwhile, lest another come to lie in its place."""

    def __init__(self, keys: TokenBatch) -> None:
        self._known: dict[tuple[object, ...], tuple[Tensor, bool]] = {}

    def found(self, mask: Tensor, question: str, look: Callable[[], bool]) -> bool:
        """The answer to a question about a mask, looked up once."""
        told_by = (question, mask.data_ptr(), *mask.shape)
        if told_by not in self._known:
            self._known[told_by] = mask, look()
        return self._known[told_by][1]


def is_plain(inputs: AttentionInputs, sides: tuple[TokenBatch, TokenBatch], *, causal: bool) -> bool:
    """Whether the mask of a call hides padding and, in a causal stack, what lies ahead, and nothing else."""
    mask = inputs.mask
    assert mask is not None
    hides = "padding and what lies ahead" if causal else "padding"
    if getattr(mask, "hides", None) == hides:
        return True
    masks = sides[1].derive(SeenMasks)
    return masks.found(mask, hides, lambda: _hides_what_it_should(inputs, *sides, causal=causal))


def _hides_what_it_should(
    inputs: AttentionInputs, queries: TokenBatch, keys: TokenBatch, *, causal: bool
) -> bool:
    """Whether a mask hides padding and, in a causal stack, what lies ahead, and nothing else."""
    mask = inputs.mask
    assert mask is not None
    count = inputs.key.shape[2]
    mask = mask[..., :count].expand(len(keys.ids), -1, inputs.query.shape[2], -1)
    visible = keys.is_token[:, None, None, :].expand(-1, -1, inputs.query.shape[2], -1)
    if causal:
        visible = visible.tril(count - inputs.query.shape[2])
    as_told = torch.where(visible, mask == 0, mask < HIDDEN)
    return bool((as_told | ~queries.is_token[:, None, :, None]).all())
