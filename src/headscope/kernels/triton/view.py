"""What the kernels are told of an attention call: how maps are cut, what its tokens are, how queries see keys."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from headscope.kernels.triton import chosen, fused, sums
from headscope.kernels.triton.launching import Launcher
from headscope.trace.call import AttentionInputs

_HALF = (torch.float16, torch.bfloat16)
SWEEP, SIDE, DIAGONALS = int(sums.SWEEP.value), int(sums.SIDE.value), int(sums.DIAGONALS.value)
NARROW = 64
"""Heads of no more than so many neurons leave registers free."""
MOST_REGISTERS = 255
"""That a thread may have; where it needs more, the compiler gives it 32 unless it is told."""
_LISTED = Launcher(chosen.listed)


@dataclass(frozen=True)
class Tiling:
    """How maps are cut into tiles."""

    warps: int  # of 32 queries
    keys: int
    threads: int
    registers: int | None = None
    """Of a thread, at most."""

    @classmethod
    def fitting(cls, view: "View") -> "Tiling":
        """As much as registers hold; a mask or a bias that must be read takes many."""
        if not view.half:
            return cls(2, 32, 256, registers=MOST_REGISTERS)
        reads = view.masked or view.inputs.position_bias is not None
        return cls(4, 32, 128) if reads else cls(4, 64, 128, registers=168)  # three blocks share a core then

    @property
    def rows(self) -> int:
        """How many queries a tile has."""
        return SWEEP * self.warps

    @property
    def listed(self) -> int:
        """How many pairs of a tile there is room for: twice what is found where ordinary text is densest."""
        return max(self.threads, self.rows * self.keys // 16)

    @property
    def size(self) -> int:
        """How many sums along diagonals a sweep leaves."""
        return self.warps * DIAGONALS * SIDE

    @property
    def cut(self) -> dict[str, int]:
        """The same for a kernel."""
        return {"WARPS": self.warps, "KEYS": self.keys}

    def counts(self, queries: int, keys: int) -> tuple[int, int]:
        """How many blocks of queries, and tiles of each, there are."""
        return -(-queries // self.rows), -(-keys // self.keys)

    def sweeps(self, keys: int) -> int:
        """How many sweeps go over the keys."""
        return -(-keys // self.keys) * (self.keys // SWEEP)


@dataclass(frozen=True)
class Lists:
    """The pairs that named patterns point at, as kernels want them."""

    entries: Tensor  # (text, block, tile, entry) places in the tile with their bits
    counts: Tensor  # (text, block, tile) how many pairs there are
    is_crowded: Tensor  # (text, block) 1 where a tile has more than there is room for


@dataclass(frozen=True)
class PairLists:
    """The pairs of query and key that named patterns point at, by tile."""

    codes: Tensor  # (text, query, key) a bit for each pattern
    _made: dict[Tiling, Lists] = field(default_factory=dict)

    def of(self, tiling: Tiling) -> Lists:
        """The lists for tiles so large; those with more than there is room for are looked at by `codes`."""
        if tiling not in self._made:
            texts, queries, keys = self.codes.shape
            blocks, tiles = tiling.counts(queries, keys)
            made = Lists(
                self.codes.new_empty((texts, blocks, tiles, tiling.listed), dtype=torch.int32),
                self.codes.new_empty((texts, blocks, tiles), dtype=torch.int32),
                self.codes.new_zeros((texts, blocks), dtype=torch.int32),
            )
            _LISTED[(tiles, blocks, texts)](
                self.codes, made.entries, made.counts, made.is_crowded, queries, keys, tiles,
                **tiling.cut, CHUNK=tiling.listed, num_warps=8,
            )  # fmt: skip
            self._made[tiling] = made
        return self._made[tiling]


@dataclass(frozen=True)
class TokenTables:
    """What the kernels need to know of the tokens of a batch; the same for all layers."""

    classes: Tensor  # (text, key, 8) 1 where the key is of the class
    half_classes: Tensor  # the same in half precision, which holds them exactly
    ordinary: Tensor  # (text, key) all bits set where the key counts by distance
    seen: Tensor  # (text, key)
    limits: Tensor  # (text, key) the most that the score of a key may be
    real: Tensor  # (text, query)
    asking: Tensor  # (text, query) the most that the logarithm of a query's weight may be
    members: Tensor  # (text, query) a bit for each group that a query is in
    shares: Tensor  # (text, 8) what a query of each group counts in the mean over it
    windows: Tensor  # (text, offset + queries) where an offset counts by distance; empty between two texts
    padded: bool  # whether any key or query is padding
    pairs: PairLists | None = None  # None between two texts

    @classmethod
    def of(
        cls,
        keys: tuple[Tensor, Tensor, Tensor],
        queries: tuple[Tensor, Tensor, Tensor],
        windows: Tensor,
        *,
        padded: bool,
        pairs: PairLists | None = None,
    ) -> "TokenTables":
        """From the classes of keys, which count by distance and which are seen, and who of queries is real, in which
        groups, and what it counts there.
        """
        (classes, is_ordinary, seen), (real, members, shares) = keys, queries
        limits, asking = (torch.where(known, torch.inf, fused.NEVER.value) for known in (seen, real))
        return cls(
            classes, classes.half(), -is_ordinary.short(), seen, limits, real, asking, members, shares, windows,
            padded, pairs,
        )  # fmt: skip

    @property
    def no_limits(self) -> Tensor:
        """(text, key) where the mask itself says what is seen."""
        return torch.full_like(self.limits, torch.inf)


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
        """What keys may score, the mask and the bias."""
        query = self.inputs.query
        limits = self.tables.no_limits if self.masked else self.tables.limits
        return limits, tensor_or(self.mask, query), tensor_or(self.bias, query)

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

    def flags(self, keys: int) -> dict[str, bool]:
        """What the kernels are compiled for that take so many keys at a time."""
        return {
            "CAUSAL": self.causal and not self.masked,
            "HAS_SEEN": (self.tables.padded and not self.masked) or self.inputs.key.shape[2] % keys != 0,
            "HAS_MASK": self.masked,
            "HAS_BIAS": self.inputs.position_bias is not None,
            "HAS_CAP": self.inputs.soft_cap is not None,
            "GROUPED": self.inputs.key.shape[1] != self.inputs.query.shape[1],
        }

    @property
    def score(self) -> tuple[float, float]:
        """What products of queries and keys are multiplied with, and what caps them."""
        return self.inputs.scale, self.inputs.soft_cap or 1.0

    @property
    def kind(self) -> tuple[object, ...]:
        """Calls of one kind differ by where their numbers lie."""
        inputs = self.inputs
        query, key, value = inputs.query, inputs.key, inputs.value
        sizes = (
            query.shape,
            query.stride(),
            key.shape,
            key.stride(),
            value.shape,
            value.stride(),
        )
        added = [None if each is None else each.dtype for each in (self.mask, self.bias, inputs.sinks)]
        types = (query.dtype, key.dtype, value.dtype, *added)
        return (*sizes, *types, self.causal, self.masked, inputs.scale, inputs.soft_cap, *self.steps)

    @property
    def half(self) -> bool:
        """Whether the model computes in half precision."""
        return self.inputs.query.dtype in _HALF

    @property
    def registers(self) -> int | None:
        """How many a thread may have, where that must be said."""
        return None if self.half else MOST_REGISTERS

    @property
    def whole(self) -> bool:
        """Whether vectors are as wide as kernels take them."""
        widths = (self.inputs.query.shape[-1], self.inputs.value.shape[-1])
        return all(padded(width) == width for width in widths)

    @property
    def device(self) -> torch.device:
        """Where the kernels run."""
        return self.tables.seen.device

    def room(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Room for numbers."""
        return torch.empty(shape, device=self.device, dtype=dtype)

    @property
    def outline(self) -> "View":
        """The same without the numbers of queries, keys and values, which are as large as what a layer gives."""
        inputs = self.inputs
        return replace(
            self,
            inputs=replace(
                inputs, query=_outline(inputs.query), key=_outline(inputs.key), value=_outline(inputs.value)
            ),
        )


def padded(size: int) -> int:
    """The next power of two, at least 16."""
    return max(16, 1 << (size - 1).bit_length())


def tensor_or(tensor: Tensor | None, other: Tensor) -> Tensor:
    """A pointer to something, where the kernel will not look."""
    return other if tensor is None else tensor


def _outline(tensor: Tensor) -> Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def _steps(tensor: Tensor | None) -> Sequence[int]:
    return (0, 0, 0, 0) if tensor is None else tensor.stride()
