"""Jensen-Shannon divergence of every two heads on a GPU, in Triton: no sum of two maps is ever in memory.

In full precision `_joint` takes a logarithm for every two heads: with J(a, b) = sum (a + b) log (a + b) over queries
and keys, the divergence of two heads, summed over queries, is (J(a, a) + J(b, b)) / 4 - J(a, b) / 2.

In half precision `_products` takes matrix products instead. The divergence is a squared distance between vectors
(Fuglede and Topsøe 2004): of two weights a and b it is the sum over k of

    w_k |a^(1/2 + i l_k) - b^(1/2 + i l_k)|²

to any precision that one likes, so that each weight becomes a few numbers, sqrt(w_k a) times cosine and sine of
l_k log a, and the rest is a product of all heads with all heads. Its nodes l_k and weights w_k (here NODES and SHARES)
are those of the smallest relative error over all a and b: 4e-4 with seven numbers a weight. Half precision itself is
good for 1e-3.
"""

import os
from math import sqrt

import torch
import triton
import triton.language as tl
from torch import Tensor

from headscope.kernels.triton.launching import Launcher

_HEADS, _CHUNK = 16, 32
_TOGETHER, _KEYS = 128, 32
_PROGRAMS = 512  # so many keep a GPU busy
_ROWS, _COLUMNS = 16, 32
COMPILED = tl.constexpr(os.environ.get("TRITON_INTERPRET") != "1")
"""Triton's interpreter knows no instructions of the hardware."""
TINY = tl.constexpr(1e-30)
"""Less than this is nothing."""
ROUNDING = tl.constexpr(12582912.0)
"""Added to a number and taken away again, it leaves the nearest whole one; the hardware's own way is slow."""

NODES = (0.3380044, 0.7573952, 1.401378)
SHARES = (0.161862196, 0.155059154, 0.0272988184, 0.00249324582)
"""The first is that of the node 0, which has no sine."""


@triton.jit
def fast_log2(numbers):
    """The hardware's own logarithm, good to 2e-7; Triton's costs a dozen instructions."""
    if COMPILED:
        logs = tl.inline_asm_elementwise(
            "lg2.approx.ftz.f32 $0, $1;", "=f,f", [numbers], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        logs = tl.log2(numbers)
    return logs


@triton.jit
def _turned(logs, NODE: tl.constexpr):
    """The cosine and the sine of NODE times the natural logarithm, from the logarithm to the base of 2."""
    turns = logs * (NODE * 0.11031780007632580)  # log 2 / (2 pi)
    whole = (turns + ROUNDING) - ROUNDING
    angle = (turns - whole) * 6.283185307179586
    if COMPILED:
        cosine = tl.inline_asm_elementwise(
            "cos.approx.ftz.f32 $0, $1;", "=f,f", [angle], dtype=tl.float32, is_pure=True, pack=1
        )
        sine = tl.inline_asm_elementwise(
            "sin.approx.ftz.f32 $0, $1;", "=f,f", [angle], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        cosine, sine = tl.cos(angle), tl.sin(angle)
    return cosine, sine


@triton.jit
def _joint(maps, out, heads, size, map_head, map_text, HEADS: tl.constexpr, CHUNK: tl.constexpr):
    """J of a block of heads with another, of one text; only the upper triangle of blocks."""
    first, second, text = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    if second < first:
        return
    one, other = first * HEADS + tl.arange(0, HEADS), second * HEADS + tl.arange(0, HEADS)
    places = tl.arange(0, CHUNK)
    maps += text.to(tl.int64) * map_text
    left = maps + one.to(tl.int64)[:, None, None] * map_head + places[None, None, :]
    right = maps + other.to(tl.int64)[None, :, None] * map_head + places[None, None, :]
    is_left, is_right = one[:, None, None] < heads, other[None, :, None] < heads
    sums = tl.zeros([HEADS, HEADS, CHUNK], tl.float32)
    for start in range(0, size, CHUNK):
        inside = start + places[None, None, :] < size
        a = tl.load(left + start, mask=is_left & inside, other=0.0).to(tl.float32)
        b = tl.load(right + start, mask=is_right & inside, other=0.0).to(tl.float32)
        both = a + b + TINY
        sums += both * fast_log2(both)
    total = tl.sum(sums, 2) * 0.6931471805599453
    at = out + (text.to(tl.int64) * heads + one[:, None]) * heads + other[None, :]
    tl.store(at, total, mask=(one[:, None] < heads) & (other[None, :] < heads))


@triton.jit
def _with_node(total, a_root, a_logs, b_root, b_logs, NODE: tl.constexpr, ROOT: tl.constexpr):
    """`total` and the products of what one node makes of two blocks of weights."""
    a_cosine, a_sine = _turned(a_logs, NODE)
    b_cosine, b_sine = _turned(b_logs, NODE)
    a_root, b_root = a_root * ROOT, b_root * ROOT
    total = tl.dot((a_root * a_cosine).to(tl.float16), (b_root * b_cosine).to(tl.float16), total)
    return tl.dot((a_root * a_sine).to(tl.float16), (b_root * b_sine).to(tl.float16), total)


@triton.jit
def _products(
    maps, out, heads, size, map_head, map_text, parts, HEADS: tl.constexpr, KEYS: tl.constexpr,
    FIRST: tl.constexpr, SECOND: tl.constexpr, THIRD: tl.constexpr,
    ROOT: tl.constexpr, FIRST_ROOT: tl.constexpr, SECOND_ROOT: tl.constexpr, THIRD_ROOT: tl.constexpr,
):  # fmt: skip
    """(text and part, head, head) products of the vectors of a block of heads with those of another, of one text.

    Only the upper triangle of blocks. The numbers of a text are dealt into `parts`.
    """
    first, second, number = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    if second < first:
        return
    text, part = (number // parts).to(tl.int64), number % parts
    one, other = first * HEADS + tl.arange(0, HEADS), second * HEADS + tl.arange(0, HEADS)
    places = tl.arange(0, KEYS)
    maps += text * map_text
    left = maps + tl.minimum(one, heads - 1).to(tl.int64)[:, None] * map_head + places[None, :]
    right = maps + tl.minimum(other, heads - 1).to(tl.int64)[None, :] * map_head + places[:, None]
    total = tl.zeros([HEADS, HEADS], tl.float32)
    for start in range(part * KEYS, size, parts * KEYS):
        inside = start + places < size
        a = tl.load(left + start, mask=inside[None, :], other=0.0).to(tl.float32)
        b = tl.load(right + start, mask=inside[:, None], other=0.0).to(tl.float32)
        a_root, b_root = tl.sqrt(a), tl.sqrt(b)
        a_logs, b_logs = fast_log2(tl.maximum(a, TINY)), fast_log2(tl.maximum(b, TINY))
        total = tl.dot((a_root * ROOT).to(tl.float16), (b_root * ROOT).to(tl.float16), total)
        total = _with_node(total, a_root, a_logs, b_root, b_logs, FIRST, FIRST_ROOT)
        total = _with_node(total, a_root, a_logs, b_root, b_logs, SECOND, SECOND_ROOT)
        total = _with_node(total, a_root, a_logs, b_root, b_logs, THIRD, THIRD_ROOT)
    at = out + (number.to(tl.int64) * heads + one[:, None]) * heads + other[None, :]
    tl.store(at, total, mask=(one[:, None] < heads) & (other[None, :] < heads))


@triton.jit
def _over_texts(
    joint, asked, before, out, texts, parts, heads, factor,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, HAS_BEFORE: tl.constexpr,
):  # fmt: skip
    """(3, head, head) sums over texts of divergences, of their squares, and of how many there are, in float64.

    The divergence is `factor` times J(a, a) + J(b, b) - 2 J(a, b), `joint` (text and part, head, head) above the
    diagonal, over how many queries are `asked` (text,). A text of which none is does not count.
    """
    one = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    other = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    inside, size = (one < heads) & (other < heads), tl.cast(heads, tl.int64) * heads
    at = tl.minimum(one, other) * heads + tl.maximum(one, other)
    own, beside = tl.minimum(one, heads - 1) * (heads + 1), tl.minimum(other, heads - 1) * (heads + 1)
    total = tl.zeros([ROWS, COLUMNS], tl.float64)
    squares = tl.zeros([ROWS, COLUMNS], tl.float64)
    counted = tl.zeros([ROWS, COLUMNS], tl.float64)
    for text in range(0, texts):
        queries = tl.load(asked + text)
        apart = tl.zeros([ROWS, COLUMNS], tl.float64)
        for part in range(0, parts):
            here = joint + (text * parts + part) * size
            apart += tl.load(here + own).to(tl.float64) + tl.load(here + beside).to(tl.float64)
            apart -= 2 * tl.load(here + at, mask=inside, other=0.0).to(tl.float64)
        apart = tl.where(one != other, tl.maximum(apart, 0.0), 0.0) * factor
        each = apart / tl.maximum(queries, 1)
        counts = (queries > 0).to(tl.float64)
        total += each * counts
        squares += each * each * counts
        counted += counts
    place = one * heads + other
    if HAS_BEFORE:
        total += tl.load(before + place, mask=inside, other=0.0)
        squares += tl.load(before + size + place, mask=inside, other=0.0)
        counted += tl.load(before + 2 * size + place, mask=inside, other=0.0)
    tl.store(out + place, total, mask=inside)
    tl.store(out + size + place, squares, mask=inside)
    tl.store(out + 2 * size + place, counted, mask=inside)


_JOINT, _PRODUCTS, _OVER_TEXTS = map(Launcher, (_joint, _products, _over_texts))


def text_sums(maps: Tensor, asked: Tensor, before: Tensor | None = None) -> Tensor:
    """(3, head, head) of every two heads' Jensen-Shannon divergence: sums over texts as `means_kernel.text_sums` has them.

    Of each text it is the mean over the queries that are `asked` (text,); one of which none is does not count. `maps`
    is (text, head, query, key), 0 where there is padding; queries and keys lie behind each other.
    """
    maps, heads = maps.flatten(2), maps.shape[1]
    joint, parts, factor = _by_products(maps) if maps.dtype == torch.float16 else _by_logarithms(maps)
    out = torch.empty(3, heads, heads, device=maps.device, dtype=torch.float64)
    _OVER_TEXTS[(-(-heads // _ROWS), -(-heads // _COLUMNS))](
        joint, asked.contiguous(), out if before is None else before.contiguous(), out,
        len(maps), parts, heads, factor,
        ROWS=_ROWS, COLUMNS=_COLUMNS, HAS_BEFORE=before is not None, num_warps=4,
    )  # fmt: skip
    return out


def _by_logarithms(maps: Tensor) -> tuple[Tensor, int, float]:
    """(text and part, head, head) J of every two heads above the diagonal, into how many parts, and what it counts."""
    (texts, heads, size), blocks = maps.shape, -(-maps.shape[1] // _HEADS)
    joint = torch.empty(texts, heads, heads, device=maps.device, dtype=torch.float32)
    _JOINT[(blocks, blocks, texts)](
        maps, joint, heads, size, maps.stride(1), maps.stride(0), HEADS=_HEADS, CHUNK=_CHUNK, num_warps=4
    )
    return joint, 1, 0.25


def _by_products(maps: Tensor) -> tuple[Tensor, int, float]:
    """The same of the products of their vectors."""
    (texts, heads, size), blocks = maps.shape, -(-maps.shape[1] // _TOGETHER)
    parts = max(1, min(_PROGRAMS // (texts * blocks * (blocks + 1) // 2), size // (16 * _KEYS)))
    products = torch.empty(texts * parts, heads, heads, device=maps.device, dtype=torch.float32)
    roots = dict(zip(("ROOT", "FIRST_ROOT", "SECOND_ROOT", "THIRD_ROOT"), map(sqrt, SHARES), strict=True))
    _PRODUCTS[(blocks, blocks, texts * parts)](
        maps, products, heads, size, maps.stride(1), maps.stride(0), parts,
        HEADS=_TOGETHER, KEYS=_KEYS, **dict(zip(("FIRST", "SECOND", "THIRD"), NODES, strict=True)), **roots,
        num_warps=8,
    )  # fmt: skip
    return products, parts, 1.0
