"""Sums over texts on a GPU, in Triton: of numbers, of their squares, and of how many there are, in one launch."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from headscope.kernels.triton.launching import Launcher

_BLOCK, _TEXTS = 64, 32


@triton.jit
def _text_sums(
    values, applies, before, out, texts, size, width,
    BLOCK: tl.constexpr, TEXTS: tl.constexpr, HAS_APPLIES: tl.constexpr, HAS_BEFORE: tl.constexpr,
):  # fmt: skip
    """(3, number) sums over texts of `values` (text, number) where they apply, added to those `before`.

    `applies` (text, width) holds for numbers again and again: which is a number's place within the width.
    """
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (at < size)[None, :]
    total = tl.zeros([BLOCK], tl.float64)
    squares = tl.zeros([BLOCK], tl.float64)
    counted = tl.zeros([BLOCK], tl.float64)
    for start in range(0, texts, TEXTS):
        text = start + tl.arange(0, TEXTS)[:, None]
        counts = inside & (text < texts)
        if HAS_APPLIES:
            counts &= tl.load(applies + text * width + (at % width)[None, :], mask=counts, other=0) != 0
        # What does not apply may be nan.
        each = tl.load(values + text.to(tl.int64) * size + at[None, :], mask=counts, other=0.0).to(tl.float64)
        total += tl.sum(each, 0)
        squares += tl.sum(each * each, 0)
        counted += tl.sum(counts.to(tl.float64), 0)
    if HAS_BEFORE:
        total += tl.load(before + at, mask=at < size, other=0.0)
        squares += tl.load(before + size + at, mask=at < size, other=0.0)
        counted += tl.load(before + 2 * size + at, mask=at < size, other=0.0)
    tl.store(out + at, total, mask=at < size)
    tl.store(out + size + at, squares, mask=at < size)
    tl.store(out + 2 * size + at, counted, mask=at < size)


_TEXT_SUMS = Launcher(_text_sums)


def text_sums(values: Tensor, applies: Tensor | None, before: Tensor | None) -> Tensor:
    """(3, ...) sums over texts of values (text, ...), of their squares, and of how many there are, in float64.

    Where `applies` (broadcastable to values) is true; added to those `before`.
    """
    flat = values.reshape(len(values), -1)
    out = torch.empty((3, *values.shape[1:]), device=values.device, dtype=torch.float64)
    known = flat if applies is None else _compact(applies, values)
    _TEXT_SUMS[(-(-flat.shape[1] // _BLOCK),)](
        flat, known, out if before is None else before.contiguous(), out, len(flat), flat.shape[1], known.shape[1],
        BLOCK=_BLOCK, TEXTS=_TEXTS, HAS_APPLIES=applies is not None, HAS_BEFORE=before is not None, num_warps=4,
    )  # fmt: skip
    return out


def _compact(applies: Tensor, values: Tensor) -> Tensor:
    """(text, number) what applies, without repeating it for dimensions that come first."""
    applies = applies.view(len(applies), *[1] * (values.dim() - applies.dim()), *applies.shape[1:])
    first = 1
    while first < values.dim() and applies.shape[first] == 1:
        first += 1
    return applies.expand(*values.shape[:1], *applies.shape[1:first], *values.shape[first:]).reshape(
        len(values), -1
    )
