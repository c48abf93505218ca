"""Launching the kernels: an attention call and what is known of its tokens in, output and reductions out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from headscope.capture.call import AttentionInputs
from headscope.capture.kernels import chosen, fused
from headscope.capture.kernels.batch import NOTHING, Asked

_HALF = (torch.float16, torch.bfloat16)
_COLUMNS, _GROUPS, _SIDE, _SUMS = 16, 8, 8, 32


@dataclass(frozen=True)
class Pairs:
    """Pairs of query and key at which weights are added up, text by text."""

    places: Tensor  # (pair,) in the flattened map of a text
    codes: Tensor  # (pair,) a bit for each sum that the pair counts in
    starts: Tensor  # (text + 1,) where each text's begin


@dataclass(frozen=True)
class TokenTables:
    """What the kernels need to know of the tokens of a batch; the same for all layers."""

    classes: Tensor  # (text, key, 16) 1 where the key is of the class; the second half is the first once more
    ordinary: Tensor  # (text, key) which keys count by distance
    seen: Tensor  # (text, key)
    real: Tensor  # (text, query)
    member: Tensor  # (text, 8, query) what a query counts in the mean over each group
    pairs: "Pairs | None"  # None between two texts
    padded: bool  # whether any key or query is padding

    @cached_property
    def signs(self) -> Tensor:
        """(text, key) 1 where the key counts by distance, -1 elsewhere."""
        return torch.where(self.ordinary, 1.0, -1.0)

    @cached_property
    def half_classes(self) -> Tensor:
        """The classes in half precision, which holds them exactly."""
        return self.classes.half()


@dataclass(frozen=True)
class View:
    """How queries see keys: what the kernels are told of masks, biases and caps."""

    inputs: AttentionInputs
    tables: TokenTables
    causal: bool
    masked: bool
    """Whether the mask says more than that padding, and what lies ahead, is not seen."""

    @cached_property
    def pointers(self) -> tuple[Tensor, ...]:
        """Whether keys are there, the mask and the bias."""
        query = self.inputs.query
        return self.tables.seen, _or(self.mask, query), _or(self.bias, query)

    @cached_property
    def mask(self) -> Tensor | None:
        """(text, head, query, key) the mask, where it must be looked at."""
        return self.inputs.mask_of_all if self.masked else None

    @cached_property
    def bias(self) -> Tensor | None:
        """(text, head, query, key) what is added to scores by position."""
        return self.inputs.bias_of_all

    @cached_property
    def steps(self) -> list[int]:
        """The strides of mask and bias."""
        return [*_steps(self.mask), *_steps(self.bias)]

    @cached_property
    def flags(self) -> dict[str, bool]:
        """What the kernels are compiled for."""
        return {
            "CAUSAL": self.causal and not self.masked,
            "HAS_SEEN": self.tables.padded and not self.masked,
            "HAS_MASK": self.masked,
            "HAS_BIAS": self.inputs.position_bias is not None,
            "HAS_CAP": self.inputs.soft_cap is not None,
        }


class StackSums:
    """The sums of a stack's layers, as the kernels leave them: of each block of queries, heads side by side.

    A way to weigh attention is 0, looked, or 1, moved. Room is made when the first layer is known.
    """

    mass: Tensor  # (text, head, block, group, way and class) of groups of queries to classes of keys
    entropies: Tensor  # (text, head, block, way, group) in nats
    diagonals: Tensor  # (text, head, way, offset + queries) of ordinary keys
    pairs: Tensor  # (text, head, part, way, sum)
    given: Tensor  # (text, head, block, sum) what heads give: lengths, their squares, against the residual stream
    vectors: Tensor  # (text, head, block, rank) the sum of what is given
    fetched: Tensor  # (text, head, key) the lengths of what is fetched at each key

    def __init__(self, layers: int, heads: int) -> None:
        self.layers, self.heads = layers, heads
        self.lines = layers * heads
        self.ready = False

    def make_room(self, launch: "_Launch") -> None:
        """Room for all layers, of calls like the first."""
        if self.ready:
            return
        texts, queries, keys = launch.texts, launch.queries, launch.keys
        ways, parts = launch.ways, (texts, self.lines, launch.blocks)
        self.mass = launch.empty(*parts, _GROUPS, _COLUMNS)
        self.entropies = launch.empty(*parts, ways, _GROUPS)
        within = launch.within
        self.diagonals = launch.empty(texts, self.lines, ways, queries + keys + 1 if within else 0)
        self.pairs = launch.empty(texts, self.lines, launch.parts, ways, _SUMS if within else 0)
        rank = 0 if launch.root is None else launch.root.coarse.shape[-1]
        self.given = launch.empty(*parts, 4 if rank else 0)
        self.given[..., 2:3] = torch.nan  # where the residual stream is not seen
        self.vectors = launch.empty(*parts, rank)
        self.fetched = launch.empty(texts, self.lines, keys if launch.moved else 0)
        self.ready = True

    def of_layer(self, place: int) -> "StackSums":
        """Those of the layer at that place alone."""
        own = StackSums(1, self.heads)
        heads = slice(place * self.heads, (place + 1) * self.heads)
        for name in self.__annotations__:
            setattr(own, name, getattr(self, name)[:, heads])
        own.ready = True
        return own


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
            into = torch.empty(len(texts), heads, count, keys, device=query.device, dtype=torch.float32)
        if into.numel():
            chosen.rows_of[(-(-count // 16), heads, len(texts))](
                query, key, *view.pointers, self.normaliser, texts, places, into,
                *query.stride(), *key.stride(), *view.steps,
                heads, key.shape[1], query.shape[2], keys, count, width, into.shape[1], first,
                view.inputs.scale, _cap(view.inputs), LINES=16, BLOCK=64, DIM=_padded(width), **view.flags,
            )  # fmt: skip
        return into


def attend(view: View, sums: StackSums, place: int, asked: Asked = NOTHING) -> Call:
    """Attention of a stack's layer at that `place`, and its `sums`."""
    launch = _Launch(view, asked)
    sums.make_room(launch)
    query, key, value = view.inputs.query, view.inputs.key, view.inputs.value
    texts, heads, queries, width = query.shape
    keys, sizes, tables = key.shape[2], launch.sizes, view.tables
    first = place * sums.heads
    lengths, table, peaks = launch.fetched(sums, first)
    out = query.new_empty(texts, queries, heads, value.shape[-1])
    normaliser = launch.empty(texts, heads, queries)
    shares = launch.empty(texts, heads, queries) if launch.moved else normaliser
    square = sizes["LINES"] * 2 * _SIDE
    tiles = launch.empty(
        texts, heads, launch.ways, launch.blocks, launch.tiles, square if launch.within else 0
    )
    sinks, root = view.inputs.sinks, launch.root
    rank = 16 if root is None else root.coarse.shape[-1]
    fused.attend[(launch.blocks, heads, texts)](
        query, key, value, *view.pointers, _or(sinks, query), lengths, table, tables.real, tables.member,
        *((query, query) if root is None else (root.coarse, root.fine)), _or(asked.residual, query), peaks,
        out, normaliser, shares, sums.mass, sums.entropies, tiles, sums.given, sums.vectors,
        *query.stride(), *key.stride(), *value.stride(), *view.steps,
        heads, key.shape[1], queries, keys, width, value.shape[-1], launch.tiles, rank, sums.lines, first,
        view.inputs.scale, _cap(view.inputs),
        **sizes, DIM=_padded(width), VALUE_DIM=_padded(value.shape[-1]), RANK=launch.rank_step(rank), **view.flags,
        HAS_SINK=sinks is not None, WITHIN=launch.within, MOVED=launch.moved, GIVEN=root is not None,
        HAS_RESIDUAL=asked.residual is not None, HALF=launch.half, EVEN=launch.even,
        FULL=launch.even and not tables.padded, num_warps=4, num_stages=launch.stages,
        **launch.registers,
    )  # fmt: skip
    if tables.pairs is not None:
        fused.folded[(-(-(queries + keys + 1) // _CHUNK), texts * heads * launch.ways)](
            tiles, sums.diagonals, heads, sums.lines, first, queries, keys, launch.blocks, launch.tiles,
            **sizes, CHUNK=_CHUNK, CAUSAL=view.flags["CAUSAL"], WAYS=launch.ways,
        )  # fmt: skip
        pairs = tables.pairs
        chosen.pairs_of[(launch.parts, heads, texts)](
            query, key, *view.pointers, normaliser, sums.fetched, shares, pairs.places, pairs.codes, pairs.starts,
            sums.pairs, *query.stride(), *key.stride(), *view.steps, heads, key.shape[1], queries, keys, width,
            sums.lines, first, view.inputs.scale, _cap(view.inputs), BLOCK=32, DIM=_padded(width),
            MOVED=launch.moved, **view.flags,
        )  # fmt: skip
    return Call(view, out, normaliser)


_NARROW = 64
"""Heads of no more than so many neurons leave registers free."""
_CHUNK = 128
"""How many offsets are added up together."""


class _Launch:
    """How a call is cut into blocks, and the launch before the main one."""

    def __init__(self, view: View, asked: Asked) -> None:
        self.view = view
        query, key, value = view.inputs.query, view.inputs.key, view.inputs.value
        self.root = asked.root
        self.moved = asked.root is not None and asked.moved
        self.within = view.tables.pairs is not None
        self.half = query.dtype in _HALF
        self.texts, self.queries, self.keys = len(query), query.shape[2], key.shape[2]
        dim, value_dim = _padded(query.shape[-1]), _padded(value.shape[-1])
        self.widest = max(dim, value_dim)
        # As much as registers and shared memory hold.
        block = 64 if self.half and self.widest <= 128 else 32
        self.stages = 3 if self.half and self.widest <= 64 else 2 if self.half else 1
        self.sizes = {"BLOCK": block, "LINES": max(16, 2 * block // _SIDE)}
        self.blocks, self.tiles = -(-self.queries // block), -(-self.keys // block)
        powers = dim == query.shape[-1] and value_dim == value.shape[-1]
        self.even = powers and self.queries % block == 0 and self.keys % block == 0
        self.ways = 2 if self.moved else 1
        self.parts = min(16, max(2, self.keys // 32))  # into how many parts the pairs of a text are dealt

    @property
    def registers(self) -> dict[str, int]:
        """How many registers a thread may have: with fewer than all, three blocks run side by side."""
        return {"maxnreg": 168} if self.half and self.widest <= _NARROW else {}

    def empty(self, *shape: int) -> Tensor:
        """Room for numbers in float32."""
        return torch.empty(shape, device=self.view.inputs.query.device, dtype=torch.float32)

    def rank_step(self, rank: int) -> int:
        """How many dimensions of a projection's root go together."""
        return min(64 if self.half and self.widest <= 128 else 32, _padded(rank))

    def fetched(self, sums: StackSums, first: int) -> tuple[Tensor, Tensor, Tensor]:
        """Signed shares of the largest length that is fetched, the table of classes, and that length of each head.

        Where nobody asks what is moved, signs and plain classes.
        """
        tables = self.view.tables
        classes = tables.half_classes if self.half else tables.classes
        if not self.moved:
            return tables.signs, classes, tables.signs
        assert self.root is not None
        value = self.view.inputs.value
        texts, groups, keys, width = value.shape
        heads, _, rank = self.root.coarse.shape
        signed, peaks = self.empty(texts, heads, keys), self.empty(texts, heads)
        table = torch.empty(texts, heads, keys, _COLUMNS, device=value.device, dtype=classes.dtype)
        fused.fetch_lengths[(heads, texts)](
            value, tables.ordinary, tables.seen, classes, self.root.coarse, self.root.fine,
            sums.fetched, peaks, signed, table, *value.stride(), heads, groups, keys, width, rank, sums.lines, first,
            BLOCK=64 if self.half else 32, DIM=_padded(width), RANK=self.rank_step(rank), HALF=self.half,
        )  # fmt: skip
        return signed, table, peaks


def _padded(size: int) -> int:
    """The next power of two, at least 16."""
    return max(16, 1 << (size - 1).bit_length())


def _cap(inputs: AttentionInputs) -> float:
    return inputs.soft_cap or 1.0


def _or(tensor: Tensor | None, other: Tensor) -> Tensor:
    """A pointer to something, where the kernel will not look."""
    return other if tensor is None else tensor


def _steps(tensor: Tensor | None) -> Sequence[int]:
    return (0, 0, 0, 0) if tensor is None else tensor.stride()
