"""A stack's attention as kernels gave it: measures take its sums, and no map is formed unless somebody asks."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, TypeVar

import torch
from torch import Tensor

from headscope.attention import (
    Carried,
    ChosenRows,
    Derive,
    LayerAttention,
    MovedBatch,
    Reduction,
    RowsKey,
    TokenBatch,
    Weighting,
    even_attention,
    moved_shares,
)
from headscope.reductions import (
    MapSums,
    class_mass,
    given_sums,
    in_plain_torch,
    mean_entropy,
    near_diagonals,
    one_pass,
    pattern_sums,
    window_sums,
)
from headscope.trace.call import AttentionInputs
from headscope.types import HeadGrid

HIDDEN = -1e4
"""A mask is so far below 0 where a key is hidden, in any precision."""
_HALF = (torch.float16, torch.bfloat16)

ALL_LAYERS = -1
"""In place of the number of a layer, of what is left of a whole stack."""
ANSWERED = frozenset({class_mass, mean_entropy, near_diagonals, window_sums, pattern_sums, given_sums})
"""The reductions that kernels compute themselves."""

T = TypeVar("T")


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


class FusedBatch(LayerAttention):
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
        """One layer of a stack, with its `call`."""
        queries, keys = stack.sides
        own = {"layer": layer, "queries": queries, "keys": keys, "call": call, "carried": carried}
        self.__dict__.update(own, stack=stack, left=stack.left(layer), _even={}, _reduced={})

    @property
    def dtype(self) -> torch.dtype:
        """What attention is counted in."""
        return torch.float32

    def reduce(self, reduction: Callable[[LayerAttention], T]) -> T:
        """What the kernels have found already, or `reduction(self)`."""
        if one_pass not in self._reduced and self.stack.sums_up and not self.stack.is_doubted:
            self._reduced[one_pass] = self.left.sums(0)
            if (given := self.left.given_sums()) is not None:
                self._reduced[given_sums] = given
        return super().reduce(reduction)

    def even(self, *, causal: bool) -> LayerAttention:
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
        if self.stack.is_doubted:
            in_plain_torch(batch)
        elif self.stack.sums_up:
            batch._reduced[one_pass] = self.left.sums(1)
        return batch


class FusedStack(ABC):
    """A stack's layers on one batch, gathered until the last."""

    rows_are_moved: ClassVar[bool] = False
    """Whether rows that are asked for by what heads move are kept as that; else they are weights all the same."""
    scores_together: int | None = None
    """How many scores are worked on at once, on a CPU; None for as many as stay in cache."""
    is_doubted: bool = False
    """Whether one of its reductions differs from the model's own: single layers are then reduced by torch alone."""
    sums_up: bool = True
    """Whether maps are summed up as measures ask for it; else only so that a nan shows."""
    derives: ClassVar[tuple[Derive, ...]] = ()
    """What it derives of tokens, as `Measure.derives`."""
    chosen: dict[RowsKey, Tensor]  # (text, head, row, key) rows that were asked for
    summed: dict[RowsKey, list[tuple[Tensor, ...]]]  # (head, ...) the sums of others, by some layers each

    def __init__(
        self, grid: HeadGrid, sides: tuple[TokenBatch, TokenBatch], wanted: Sequence[ChosenRows] = ()
    ) -> None:
        """`wanted` rows are computed of every layer."""
        self.grid, self.sides = grid, sides
        self.lines = grid.layers * grid.heads
        self.wanted = {rows.key: rows for rows in wanted}
        self.chosen, self.summed = {}, {}

    def reduced(self, weighting: Weighting) -> dict[Reduction, Tensor]:
        """(text, layer, head, ...) of all layers, by reduction; all that the kernels have computed."""
        left = self.left(ALL_LAYERS)
        sums = left.sums(0 if weighting == "attention" else 1)
        found: dict[Reduction, Tensor | None] = {
            class_mass: sums.mass,
            mean_entropy: sums.entropies,
            near_diagonals: sums.by_offset,
            window_sums: sums.by_distance,
            pattern_sums: sums.by_pattern,
            given_sums: left.given_sums() if weighting == "attention" else None,
        }
        return {
            reduction: values.view(len(values), *self.grid.shape, *values.shape[2:])
            for reduction, values in found.items()
            if values is not None
        }

    def rows_of(self, rows: ChosenRows) -> Tensor | tuple[Tensor, ...]:
        """(text, layer and head, row, key) chosen rows of all layers, or the sums (layer and head, ...) of them."""
        if (parts := self.summed.get(rows.key)) is not None:
            return tuple(map(torch.cat, zip(*parts, strict=True)))
        values = self.chosen[rows.key]
        if rows.moved and not self.rows_are_moved:
            lengths = self.left(ALL_LAYERS).fetched
            assert lengths is not None
            values = moved_shares(values, lengths if rows.texts is None else lengths[rows.texts])
        return values if rows.summed is None else rows.summed(values)

    def sum_up(self, rows: ChosenRows, weights: Tensor, lengths: Tensor | None = None) -> None:
        """Take in what rows make of the `weights` (text, head, row, key) of the next layer, or of several.

        `lengths` (text, head, key) are those of what is fetched, where the rows are to be what heads move and are not
        that yet.
        """
        assert rows.summed is not None
        if lengths is not None:
            weights = moved_shares(weights, lengths if rows.texts is None else lengths[rows.texts])
        self.summed.setdefault(rows.key, []).append(rows.summed(weights))

    @abstractmethod
    def attend(self, layer: int, inputs: AttentionInputs, asked: Asked = NOTHING) -> FusedCall:
        """One layer's attention; its sums, and the rows that were asked for, are kept."""

    @abstractmethod
    def left(self, layer: int) -> Left:
        """What is left of one layer, or of ALL_LAYERS."""

    def layer(self, layer: int, call: FusedCall, carried: Carried | None) -> FusedBatch:
        """One layer by itself, for who looks at maps."""
        return FusedBatch(layer, self, call, carried)

    def even(self, *, causal: bool) -> LayerAttention:
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
