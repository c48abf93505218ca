"""Attention maps in few bytes: weights as codes of one byte, on a scale that is finer the smaller the weight.

Each code is a table of levels, a weight is stored as its nearest level, and every chunk (one layer of one stack) is
deflated. There are a few codes; the finest that keeps the whole within a budget is taken. None is ever off by more
than 0.005, and the finer ones are much closer for small weights. See docs/design/0017.
"""

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

MOST_ERROR = 0.005
"""What no stored weight is off by more than."""

BYTES = 256
_WIDEST = 0.0099
"""The widest gap between two levels; a little under twice MOST_ERROR, for rounding."""
_DECIMALS = 7
_STEPS = 1 << 16
_SAMPLED = 8
"""One head in so many, and at least one a layer, tells how well a code would compress."""


@dataclass(frozen=True)
class Code:
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
        return np.round(levels, _DECIMALS)

    @property
    def table(self) -> list[float]:
        """The weight of each byte; those that no level needs stand for 1, as the last level does."""
        return [float(level) for level in self.levels] + [1.0] * (BYTES - len(self.levels))

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

    def error(self, weights: Array, codes: Array) -> float:
        """The most by which a stored weight is off."""
        if not weights.size:
            return 0.0
        return float(np.abs(self.levels.astype(np.float32)[codes] - weights).max())


CODES = (
    Code(0.00002, 0.0039),
    Code(0.00005, 0.0045),
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

    code: Code
    chunks: dict[str, bytes]
    """Deflated uint8[head][query][key], by the key of the map."""
    max_error: float

    @property
    def size(self) -> int:
        """Bytes of all chunks."""
        return sum(map(len, self.chunks.values()))


def quantise(maps: Mapping[str, Array], *, budget: int | None = None) -> Quantised:
    """Maps (head, query, key) by key, in the finest code whose chunks take at most `budget` bytes together.

    Without a budget the finest is taken; when not even the coarsest keeps it, the coarsest.
    """
    if budget is None:
        return _quantised(maps, CODES[0])
    for code in CODES[_promising(maps, budget) :]:
        found = _quantised(maps, code)
        if found.size <= budget:
            break
    return found


def _quantised(maps: Mapping[str, Array], code: Code) -> Quantised:
    chunks, errors = {}, [0.0]
    for key, weights in maps.items():
        codes = code.encode(weights)
        errors.append(code.error(weights, codes))
        chunks[key] = deflated(codes.tobytes())
    return Quantised(code, chunks, max(errors))


def _promising(maps: Mapping[str, Array], budget: int) -> int:
    """The number of the finest code that seems to keep the budget, told by some of the heads."""
    sample = {
        key: weights[number % _SAMPLED % len(weights) :: _SAMPLED]
        for number, (key, weights) in enumerate(maps.items())
    }
    share = sum(part.size for part in sample.values()) / max(1, sum(map(np.size, maps.values())))
    for number, code in enumerate(CODES):
        # A small allowance: better to try a code in vain than to miss a finer one that fits.
        if _quantised(sample, code).size <= budget * share * 1.02:
            return number
    return len(CODES) - 1


def deflated(content: bytes) -> bytes:
    """Raw deflate, as DecompressionStream("deflate-raw") reads it.

    Codes of weights are noise to a search for repeats, which takes several times as long and mostly finds less
    than runs, or the frequencies of bytes alone, do.
    """
    return min((_packed(content, way) for way in (zlib.Z_RLE, zlib.Z_HUFFMAN_ONLY)), key=len)


def _packed(content: bytes, strategy: int) -> bytes:
    packer = zlib.compressobj(level=1, wbits=-zlib.MAX_WBITS, memLevel=9, strategy=strategy)
    return packer.compress(content) + packer.flush()


def inflated(chunk: bytes) -> bytes:
    """What `deflated` was given."""
    return zlib.decompress(chunk, wbits=-zlib.MAX_WBITS)


def read_maps(chunk: bytes, table: list[float], *, heads: int, queries: int, keys: int) -> Array:
    """(head, query, key) the weights of a stored layer."""
    codes = np.frombuffer(inflated(chunk), dtype=np.uint8).reshape(heads, queries, keys)
    return np.asarray(table)[codes]
