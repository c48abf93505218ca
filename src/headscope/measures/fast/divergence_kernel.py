"""Jensen-Shannon divergence of every two heads on a GPU, in Triton: no sum of two maps is ever in memory.

With J(a, b) = sum (a + b) log (a + b) over queries and keys, the divergence of two heads, summed over queries, is
(J(a, a) + J(b, b)) / 4 - J(a, b) / 2: what rows add up to cancels out.
"""

import os

import torch
import triton
import triton.language as tl
from torch import Tensor

_HEADS, _CHUNK = 16, 32
COMPILED = tl.constexpr(os.environ.get("TRITON_INTERPRET") != "1")
"""Triton's interpreter knows no instructions of the hardware."""


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
        both = a + b + 1e-30
        sums += both * fast_log2(both)
    total = tl.sum(sums, 2) * 0.6931471805599453
    at = out + (text.to(tl.int64) * heads + one[:, None]) * heads + other[None, :]
    tl.store(at, total, mask=(one[:, None] < heads) & (other[None, :] < heads))


def divergence_sums(maps: Tensor) -> Tensor:
    """(text, head, head) Jensen-Shannon divergence of every two heads, summed over queries; in float64.

    `maps` is (text, head, query, key), 0 where there is padding.
    """
    texts, heads = maps.shape[:2]
    maps = maps.flatten(2)
    joint = torch.zeros(texts, heads, heads, device=maps.device, dtype=torch.float32)
    blocks, size = -(-heads // _HEADS), maps.shape[2]
    _joint[(blocks, blocks, texts)](
        maps, joint, heads, size, maps.stride(1), maps.stride(0), HEADS=_HEADS, CHUNK=_CHUNK, num_warps=4
    )
    joint = joint.double()
    own = joint.diagonal(dim1=1, dim2=2)
    divergence = (own[:, :, None] + own[:, None, :]) / 4 - joint / 2
    above = divergence.triu(1).clamp_min(0)
    return above + above.mT
