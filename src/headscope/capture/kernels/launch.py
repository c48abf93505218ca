"""Launching the kernels: an attention call and what is known of its tokens in, output and reductions out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from headscope.capture.call import AttentionInputs
from headscope.capture.kernels import chosen, fused

_HALF = (torch.float16, torch.bfloat16)
_COLUMNS, _SIDE, _SUMS = 16, 8, 32
_PAIRS = 1024
"""How many pairs go together."""


@dataclass(frozen=True)
class TokenTables:
    """What the kernels need to know of the tokens of a batch; the same for all layers."""

    classes: Tensor  # (text, key, 16) 1 where the key is of the class; the second half is the first once more
    ordinary: Tensor  # (text, key) which keys count by distance
    seen: Tensor  # (text, key)
    real: Tensor  # (text, query)
    padded: bool  # whether any key or query is padding


@dataclass(frozen=True)
class View:
    """How queries see keys: what the kernels are told of masks, biases and caps."""

    inputs: AttentionInputs
    tables: TokenTables
    causal: bool
    masked: bool
    """Whether the mask says more than that padding, and what lies ahead, is not seen."""

    @property
    def pointers(self) -> tuple[Tensor, ...]:
        """Whether keys are there, the mask and the bias."""
        query = self.inputs.query
        return self.tables.seen, _or(self.mask, query), _or(self.inputs.bias_of_all, query)

    @property
    def mask(self) -> Tensor | None:
        """(text, head, query, key) the mask, where it must be looked at."""
        return self.inputs.mask_of_all if self.masked else None

    @property
    def steps(self) -> list[int]:
        """The strides of mask and bias."""
        return [*_steps(self.mask), *_steps(self.inputs.bias_of_all)]

    @property
    def flags(self) -> dict[str, bool]:
        """What the kernels are compiled for."""
        return {
            "CAUSAL": self.causal and not self.masked,
            "HAS_SEEN": self.tables.padded and not self.masked,
            "HAS_MASK": self.masked,
            "HAS_BIAS": self.inputs.position_bias is not None,
            "HAS_CAP": self.inputs.soft_cap is not None,
        }


@dataclass(frozen=True)
class Moving:
    """What heads fetch, and what they give of it."""

    fetched: Tensor  # (text, head, key) the length of what is fetched at each key
    scale: Tensor  # (text, head, query) one over what a query's keys fetch in all; 0 where that is nothing
    given: Tensor  # (text, head, sum) `fused.give_lengths`


@dataclass(frozen=True)
class FusedCall:
    """An attention call that was computed by the kernel; a way to weigh it is 0, looked, or 1, moved."""

    view: View
    output: Tensor  # (text, query, head, dim)
    normaliser: Tensor  # (text, head, query) log-sum-exp of the scores, to the base of 2
    mass: Tensor  # (text, head, query, way and class) of each query's attention to each class of key
    entropies: Tensor  # (text, head, way, query) in nats
    diagonals: Tensor  # (text, head, way, offset + queries) attention to ordinary keys along every diagonal
    moving: Moving | None = None

    def rows(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the weights of the queries at `places` (text, row) of all or some `texts`."""
        query, key, view = self.view.inputs.query, self.view.inputs.key, self.view
        heads, width = query.shape[1], query.shape[3]
        if texts is None:
            texts = torch.arange(len(query), device=query.device)
        count, keys = places.shape[1], key.shape[2]
        out = torch.empty(len(texts), heads, count, keys, device=query.device, dtype=torch.float32)
        if out.numel():
            chosen.rows_of[(-(-count // 16), heads, len(texts))](
                query, key, *view.pointers, self.normaliser, texts, places.contiguous(), out,
                *query.stride(), *key.stride(), *view.steps,
                heads, key.shape[1], query.shape[2], keys, count, width, view.inputs.scale, _cap(view.inputs),
                LINES=16, BLOCK=64, DIM=_padded(width), **view.flags,
            )  # fmt: skip
        return out

    def pair_sums(self, pairs: "Pairs") -> Tensor:
        """(text, head, way, kind) the weights at pairs, added up by kind."""
        query, key, moving = self.view.inputs.query, self.view.inputs.key, self.moving
        texts, heads, queries, width = query.shape
        count, ways = pairs.places.shape[1], 1 if moving is None else 2
        chunks = -(-count // _PAIRS)
        out = torch.empty(texts, heads, ways, chunks, _SUMS, device=query.device, dtype=torch.float32)
        fetched, scale = (out, out) if moving is None else (moving.fetched, moving.scale)
        chosen.pairs_of[(chunks, heads, texts)](
            query, key, *self.view.pointers, self.normaliser, fetched, scale, pairs.places, pairs.codes, out,
            *query.stride(), *key.stride(), *self.view.steps, heads, key.shape[1], queries, key.shape[2], count, width,
            self.view.inputs.scale, _cap(self.view.inputs), BLOCK=64, BLOCKS=_PAIRS // 64, DIM=_padded(width),
            KINDS=pairs.kinds, MOVED=moving is not None, **self.view.flags,
        )  # fmt: skip
        return out.sum(3)[..., : pairs.kinds]


@dataclass(frozen=True)
class Pairs:
    """Pairs of query and key at which weights are added up."""

    places: Tensor  # (text, pair) in the flattened map
    codes: Tensor  # (text, pair) a bit for each kind that the pair is of
    kinds: int


def attend(view: View, *, root: Tensor | None, residual: Tensor | None = None) -> FusedCall:
    """Attention and its reductions; with `root` (head, dim, rank) also by what heads move, and how much they give.

    `residual` (text, query) are the lengths of what heads add to.
    """
    launch = _Launch(view, root)
    query, key, value = view.inputs.query, view.inputs.key, view.inputs.value
    texts, heads, queries, width = query.shape
    keys, sizes = key.shape[2], launch.sizes
    fetched, peaks, lengths, table = launch.lengths
    out = query.new_empty(texts, queries, heads, value.shape[-1])
    normaliser = launch.empty(texts, heads, queries)
    moving = launch.empty(texts, heads, queries if root is not None else 0)
    mass = launch.empty(texts, heads, queries, _COLUMNS)
    entropies = launch.empty(texts, heads, launch.ways, queries)
    diagonals = launch.empty(
        texts, heads, launch.ways, launch.blocks, launch.tiles, sizes["LINES"] * 2 * _SIDE
    )
    sinks = view.inputs.sinks
    fused.attend[(launch.blocks, heads, texts)](
        query, key, value, *view.pointers, _or(sinks, query), lengths, table, view.tables.real,
        out, normaliser, moving, mass, entropies, diagonals,
        *query.stride(), *key.stride(), *value.stride(), *view.steps,
        heads, key.shape[1], queries, keys, width, value.shape[-1], launch.tiles, view.inputs.scale, _cap(view.inputs),
        **sizes, DIM=_padded(width), VALUE_DIM=_padded(value.shape[-1]), **view.flags,
        HAS_SINK=sinks is not None, MOVED=root is not None, HALF=launch.half, EVEN=launch.even,
        FULL=launch.even and not view.tables.padded, num_warps=4, num_stages=launch.stages,
    )  # fmt: skip
    call = FusedCall(view, out, normaliser, mass, entropies, launch.folded(diagonals))
    if root is None:
        return call
    total = moving * peaks[..., None]  # lengths were shares of the largest
    scale = torch.where(total > 0, 1 / total, 0)
    return replace(call, moving=Moving(fetched, scale, launch.given(out, residual)))


class _Launch:
    """How a call is cut into blocks, and the launches around the main one."""

    def __init__(self, view: View, root: Tensor | None) -> None:
        self.view = view
        self.root = root
        query, key, value = view.inputs.query, view.inputs.key, view.inputs.value
        self.half = query.dtype in _HALF
        self.widest = max(_padded(query.shape[-1]), _padded(value.shape[-1]))
        # As much as registers and shared memory hold.
        block = 64 if self.half and self.widest <= 128 else 32
        self.stages = 3 if self.half and self.widest <= 64 else 2 if self.half else 1
        self.sizes = {"BLOCK": block, "LINES": max(16, 2 * block // _SIDE)}
        self.blocks, self.tiles = (-(-size // block) for size in (query.shape[2], key.shape[2]))
        powers = _padded(query.shape[-1]) == query.shape[-1] and _padded(value.shape[-1]) == value.shape[-1]
        self.even = powers and query.shape[2] % block == 0 and key.shape[2] % block == 0
        self.ways = 1 if root is None else 2

    def empty(self, *shape: int) -> Tensor:
        """Room for numbers in float32."""
        return torch.empty(shape, device=self.view.inputs.query.device, dtype=torch.float32)

    @cached_property
    def lengths(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What is fetched at each key, its largest, signed shares of that, and the table of classes.

        Without a root 1 and -1, and the plain classes.
        """
        tables = self.view.tables
        classes = tables.classes.half() if self.half else tables.classes
        if self.root is None:
            signed = torch.where(tables.ordinary, 1.0, -1.0)
            return signed, signed, signed, classes
        value = self.view.inputs.value
        texts, groups, keys, width = value.shape
        heads, _, rank = self.root.shape
        fetched, peaks, signed = (
            self.empty(texts, heads, keys),
            self.empty(texts, heads),
            self.empty(texts, heads, keys),
        )
        table = torch.empty(texts, heads, keys, _COLUMNS, device=value.device, dtype=classes.dtype)
        fused.fetch_lengths[(heads, texts)](
            value, tables.ordinary, tables.seen, classes, self.root, fetched, peaks, signed, table,
            *value.stride(), heads, groups, keys, width, rank, **self._projected(width, rank),
        )  # fmt: skip
        return fetched, peaks, signed, table

    def given(self, output: Tensor, residual: Tensor | None) -> Tensor:
        """(text, head, sum) what `fused.give_lengths` sums."""
        assert self.root is not None
        texts, queries, heads, width = output.shape
        rank = self.root.shape[-1]
        sums = self.empty(texts, heads, 4)
        fused.give_lengths[(heads, texts)](
            output, self.view.tables.real, _or(residual, output), self.root, sums, heads, queries, width, rank,
            **self._projected(width, rank), HAS_RESIDUAL=residual is not None,
        )  # fmt: skip
        if residual is None:
            sums[..., 2] = torch.nan
        return sums

    def folded(self, diagonals: Tensor) -> Tensor:
        """(text, head, way, offset + queries) the tiles' diagonals, added up."""
        texts, heads, ways = diagonals.shape[:3]
        queries, keys = self.view.inputs.query.shape[2], self.view.inputs.key.shape[2]
        sums = self.empty(texts, heads, ways, queries + keys + 1)
        fused.folded[(-(-sums.shape[-1] // 128), texts * heads * ways)](
            diagonals, sums, queries, keys, self.blocks, self.tiles,
            **self.sizes, CHUNK=128, CAUSAL=self.view.flags["CAUSAL"],
        )  # fmt: skip
        return sums

    def _projected(self, width: int, rank: int) -> dict[str, Any]:
        return {
            "BLOCK": 64 if self.half else 32,
            "DIM": _padded(width),
            "RANK": min(64 if self.half else 32, _padded(rank)),
            "HALF": self.half,
        }


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
