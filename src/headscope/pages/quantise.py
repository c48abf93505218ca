"""Attention maps in few bytes: weights as codes of one byte, on a scale that is finer the smaller the weight.

Each code is a table of levels, a weight is stored as its nearest level, and every chunk (one layer of one stack) is
deflated. There are a few codes; the finest that keeps the whole within a budget is taken. None is ever off
by more than 0.005, between pieces or between words, and the finer ones are much closer for small weights. Where there
is room, a second byte says the rest. See docs/design/0017.
"""

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from headscope.types import Array

Starts = tuple[Array, Array]
"""(word,) the first piece of each word that looks, and of each that is looked at; special tokens are words too."""

MOST_ERROR = 0.005
"""What no stored weight is off by more than, between pieces or between words."""

BYTES = 256
_WIDEST = 0.0049
"""The widest gap between two levels: either of the two around a weight is near enough, should a word need it."""
_DECIMALS = 7
_SIDE = 127
"""Levels on each side of 0, of numbers with a sign."""
_STEPS = 1 << 16
FINE_WEIGHTS = 1 << 22
"""Up to so many weights are stored in two bytes each where no budget forbids it."""
_SAMPLED = 8
"""One head in so many, and at least one a layer, tells how well a code would compress."""


class Scale(ABC):
    """A table of levels, one for each byte; a number is stored as the byte of its nearest level."""

    signed: ClassVar[bool] = False
    """Whether there are levels below 0."""

    @cached_property
    @abstractmethod
    def levels(self) -> Array:
        """(level,) rising, at most 256; nan for what stands for no number, at the end."""

    @property
    @abstractmethod
    def table(self) -> list[float | None]:
        """The number of each byte; None for no number."""

    @abstractmethod
    def encode(self, weights: Array) -> Array:
        """The byte of the nearest level, in the shape of `weights`."""

    def encode_words(self, weights: Array, starts: Array) -> Array:
        """As `encode`, but so that the sum over each word's pieces, which begin at `starts`, is right as well.

        Each further piece takes that of the two levels around it which makes up best for the pieces before. The sum
        is then off by half of the widest gap at most, whatever the number of pieces.
        """
        codes = self.encode(weights)
        lengths = np.diff(starts, append=weights.shape[-1])
        first, lengths = starts[lengths > 1], lengths[lengths > 1]
        left = weights[..., first] - self.levels[codes[..., first]]  # (head, query, word) not yet made up for
        for piece in range(1, int(lengths.max(initial=0))):
            going = lengths > piece
            first, lengths, left = first[going], lengths[going], left[..., going]
            wanted, nearest = weights[..., first + piece], codes[..., first + piece].astype(np.intp)
            own = wanted - self.levels[nearest]
            other = np.clip(nearest + np.where(own > 0, 1, -1), 0, len(self.levels) - 1)
            instead = wanted - self.levels[other]
            takes = np.abs(left + instead) < np.abs(left + own)
            codes[..., first + piece] = np.where(takes, other, nearest)
            left = left + np.where(takes, instead, own)
        return codes

    @cached_property
    def ranges(self) -> tuple[Array, Array]:
        """(byte,) the middle between its level and the one below (the first: itself), and how far it is to the next."""
        table = np.array(self.table, dtype=float)
        last = np.nanmax(table)
        middles = np.concatenate([table[:1], (table[1:] + table[:-1]) / 2, [last]])
        ends = np.where(np.isnan(middles[1:]) & ~np.isnan(table), last, middles[1:])
        return middles[:-1].astype(np.float32), (ends - middles[:-1]).astype(np.float32)

    def refine(self, weights: Array, codes: Array) -> Array:
        """The second byte: where a weight lies between the middles around its level."""
        low, far = self.ranges
        place = (weights - low[codes]) / np.maximum(far, np.float32(1e-9))[codes]
        return np.nan_to_num(np.clip(np.round(place * (BYTES - 1)), 0, BYTES - 1)).astype(np.uint8)

    def refined(self, codes: Array, second: Array) -> Array:
        """The weights that both bytes stand for."""
        low, far = self.ranges
        weights: Array = low[codes] + far[codes] * (second / np.float32(BYTES - 1))
        return weights


@dataclass(frozen=True)
class Code(Scale):
    """A scale of weights: half a gap is `smallest` at 0 and grows by `growth` times the root of the weight."""

    smallest: float
    growth: float

    @cached_property
    def levels(self) -> Array:
        """(level,) rising from 0 to 1, at most 256."""
        levels = [0.0]
        while levels[-1] < 1:
            low = levels[-1]
            gap = 2 * (self.smallest + self.growth * math.sqrt(low))
            gap = 2 * (self.smallest + self.growth * math.sqrt(low + gap / 2))  # as wide as its middle asks
            levels.append(min(1.0, low + min(gap, _WIDEST)))
        assert len(levels) <= BYTES, self
        return np.round(levels, _DECIMALS).astype(np.float32)

    @property
    def table(self) -> list[float | None]:
        """The weight of each byte; those that no level needs stand for 1, as the last level does."""
        known: list[float | None] = [round(float(level), _DECIMALS) for level in self.levels]
        return known + [1.0] * (BYTES - len(known))

    @cached_property
    def _nearest(self) -> Array:
        """(step,) the byte of the level nearest to the weight whose root is so many steps."""
        roots = np.arange(_STEPS) / (_STEPS - 1)
        return np.searchsorted((self.levels[1:] + self.levels[:-1]) / 2, roots**2).astype(np.uint8)

    def encode(self, weights: Array) -> Array:
        """The byte of the nearest level, in the shape of `weights`."""
        # By way of a table of roots: ten times as fast as a search for each weight, and off by 2e-5 at most.
        steps = np.sqrt(np.clip(weights, 0, 1, dtype=np.float32))
        steps *= _STEPS - 1
        steps += 0.5
        nearest: Array = self._nearest[steps.astype(np.uint16)]
        return nearest


@dataclass(frozen=True)
class SignedCode(Scale):
    """Numbers from -`limit` to `limit`, as many levels below 0 as above, closer together near it; one is no number."""

    limit: float

    signed: ClassVar[bool] = True

    @classmethod
    def for_maps(cls, maps: Mapping[str, Array]) -> "SignedCode":
        """The scale that holds all numbers of some maps, and 1."""
        sizes = (float(np.nanmax(np.abs(part), initial=0.0)) for part in maps.values())
        return cls(max((1.0, *sizes)))

    @cached_property
    def levels(self) -> Array:
        """(byte,) the squares of even steps; nan for the last."""
        steps = np.arange(-_SIDE, _SIDE + 1) / _SIDE
        return np.append(np.round(self.limit * np.sign(steps) * steps**2, _DECIMALS), np.nan).astype(
            np.float32
        )

    @property
    def table(self) -> list[float | None]:
        """The number of each byte; None for the last."""
        return [None if np.isnan(level) else round(float(level), _DECIMALS) for level in self.levels]

    def encode(self, weights: Array) -> Array:
        """The byte of the nearest level, in the shape of `weights`; the last for nan."""
        levels = self.levels[:-1]
        codes = np.searchsorted((levels[1:] + levels[:-1]) / 2, weights).astype(np.uint8)
        codes[np.isnan(weights)] = BYTES - 1
        return codes


CODES = (
    Code(0.00002, 0.0048),
    Code(0.00005, 0.0048),
    Code(0.0001, 0.005),
    Code(0.0001, 0.007),
    Code(0.0001, 0.01),
    Code(0.0003, 0.01),
    Code(0.0003, 0.014),
    Code(0.0003, 0.02),
    Code(0.001, 0.02),
    Code(_WIDEST / 2, 0),
)
"""From the finest to the coarsest, in which all gaps are alike."""


@dataclass(frozen=True)
class Quantised:
    """Maps as they are stored."""

    code: Scale
    chunks: dict[str, bytes]
    """Deflated uint8[head][query][key], by the key of the map; the second bytes follow where it is fine."""
    max_error: float
    word_error: float
    """The most by which a weight between words is off: the sum over keys' pieces, the mean over queries'."""
    fine: bool = False

    @property
    def levels(self) -> list[float | None]:
        """What each byte stands for."""
        return self.code.table

    @property
    def signed(self) -> bool:
        """Whether the numbers may be below 0."""
        return self.code.signed

    @property
    def size(self) -> int:
        """Bytes of all chunks."""
        return sum(map(len, self.chunks.values()))


def quantise(
    maps: Mapping[str, Array],
    *,
    words: Mapping[str, Starts] | None = None,
    budget: int | None = None,
    fine: bool = False,
) -> Quantised:
    """Maps (head, query, key) by key, in the finest code whose chunks take at most `budget` bytes together.

    `words` says for each map where words begin; without it every piece is one. Without a budget the finest code is
    taken; when not even the coarsest keeps it, the coarsest. `fine` stores two bytes a weight, whatever they take.
    """
    starts = words or {}
    if fine or budget is None:
        return _quantised(maps, CODES[0], starts, fine=fine)
    for code in CODES[_promising(maps, starts, budget) :]:
        quantised = _quantised(maps, code, starts)
        if quantised.size <= budget:
            break
    return quantised


def quantise_signed(maps: Mapping[str, Array], *, words: Mapping[str, Starts] | None = None) -> Quantised:
    """Maps of numbers that may be negative or nan; two bytes a number, unless there are very many."""
    fine = sum(map(np.size, maps.values())) <= FINE_WEIGHTS
    return _quantised(maps, SignedCode.for_maps(maps), words or {}, fine=fine)


def _quantised(
    maps: Mapping[str, Array], code: Scale, words: Mapping[str, Starts], *, fine: bool = False
) -> Quantised:
    stored = {key: _stored(weights, code, words.get(key), fine=fine) for key, weights in maps.items()}
    return Quantised(
        code,
        {key: deflated(part.content) for key, part in stored.items()},
        max((part.max_error for part in stored.values()), default=0.0),
        max((part.word_error for part in stored.values()), default=0.0),
        fine,
    )


class _Stored(NamedTuple):
    content: bytes
    max_error: float
    word_error: float


def _stored(weights: Array, code: Scale, starts: Starts | None, *, fine: bool) -> _Stored:
    """One map: nearest levels, unless words would then be off by too much."""
    codes = code.encode(weights)
    if fine:
        second = code.refine(weights, codes)
        content = codes.tobytes() + second.tobytes()
        return _Stored(content, *_errors(code.refined(codes, second) - weights, starts))
    stored = _Stored(codes.tobytes(), *_errors(code.levels[codes] - weights, starts))
    if starts is not None and stored.word_error > MOST_ERROR:
        codes = code.encode_words(weights, starts[1])
        stored = _Stored(codes.tobytes(), *_errors(code.levels[codes] - weights, starts))
    return stored


def _errors(off: Array, starts: Starts | None) -> tuple[float, float]:
    """The largest error between pieces and between words, of (head, query, key) errors."""
    if not off.size:
        return 0.0, 0.0
    off = np.nan_to_num(off)  # what is no number is stored as none
    largest = float(max(off.max(), -off.min()))
    queries, keys = starts or (np.arange(off.shape[1]), np.arange(off.shape[2]))
    if len(keys) < off.shape[2]:
        off = np.add.reduceat(off, keys, axis=2)
    if len(queries) < off.shape[1]:
        lengths = np.diff(queries, append=off.shape[1])
        off = np.add.reduceat(off, queries, axis=1) / lengths[:, None]
    return largest, float(max(off.max(), -off.min()))


def _promising(maps: Mapping[str, Array], words: Mapping[str, Starts], budget: int) -> int:
    """The number of the finest code that seems to keep the budget, told by some of the heads."""
    sample = {
        key: weights[number % _SAMPLED % len(weights) :: _SAMPLED]
        for number, (key, weights) in enumerate(maps.items())
    }
    share = sum(part.size for part in sample.values()) / max(1, sum(map(np.size, maps.values())))
    for number, code in enumerate(CODES):
        # A small allowance: better to try a code in vain than to miss a finer one that fits.
        if _quantised(sample, code, words).size <= budget * share * 1.05:
            return number
    return len(CODES) - 1


def deflated(content: bytes) -> bytes:
    """Raw deflate, as DecompressionStream("deflate-raw") reads it.

    Codes of weights are noise to a search for repeats, which takes several times as long and mostly finds less
    than runs, or the frequencies of bytes alone, do.
    """
    packers = [
        zlib.compressobj(level=1, wbits=-zlib.MAX_WBITS, memLevel=9, strategy=strategy)
        for strategy in (zlib.Z_RLE, zlib.Z_HUFFMAN_ONLY)
    ]
    return min((packer.compress(content) + packer.flush() for packer in packers), key=len)
