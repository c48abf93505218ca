"""Sums along the diagonals of sweeps, as `sums.summed` leaves them, added up by distance, in Triton."""

import triton
import triton.language as tl

from headscope.kernels.triton.sums import DIAGONALS, SIDE, SWEEP, TALL

WINDOWS = tl.constexpr(32)
"""Room for so many windows of distance, and for so many offsets."""


@triton.jit(do_not_specialize=["first"])
def folded(
    diagonals, near, windows, by_window, by_offset, heads, lines, first, queries, keys, blocks, sweeps,
    WARPS: tl.constexpr, KEYS: tl.constexpr, HEADS: tl.constexpr, FAR: tl.constexpr, CHUNK: tl.constexpr,
    CAUSAL: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """The diagonals of all blocks and warps of HEADS heads, added up in one order.

    A sweep that begins where a warp's queries do has the offsets 4 line + diagonal - 31, the next one 32 more. Sweeps
    that have the same are added up, CHUNK of them by one program; the last program is for what is `near`. `windows`
    (text, offset + queries) says where an offset counts in `by_window` (text, head, chunk; window); `by_offset` (text,
    head, offset + FAR) is of all keys.
    """
    ROWS: tl.constexpr = SWEEP * WARPS
    SIZE: tl.constexpr = DIAGONALS * SIDE
    chunk, text = tl.program_id(0), tl.program_id(2).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    warp, places, every = tl.arange(0, WARPS)[None, :, None], tl.arange(0, SIZE), tl.arange(0, WINDOWS)
    offsets = places % SIDE * TALL + places // SIDE - (SWEEP - 1)
    is_head = (head < heads)[:, None]
    inside = is_head[:, :, None] & (places < (TALL + SIDE - 1) * SIDE)[None, None, :]
    line = text * heads + head
    own = text * lines + first + head
    begins = line[:, None, None] * blocks
    total = tl.zeros([HEADS, WINDOWS], tl.float32)
    if chunk == tl.num_programs(0) - 1:
        for ahead in tl.static_range(2):
            sums = tl.zeros([HEADS, SIZE], tl.float32)
            for block in range(0, blocks):
                sweep = ahead + block * WARPS + warp
                there = sweep <= _reached(block, queries, keys, sweeps, ROWS, KEYS, CAUSAL)
                at = (((begins + block) * 2 + ahead) * WARPS + warp) * SIZE + places[None, None, :]
                sums += tl.sum(tl.load(near + at, mask=inside & there, other=0.0).to(tl.float32), 1)
            total = _by_number(sums, offsets + ahead * SWEEP + FAR, total, HALF)
        tl.store(by_offset + own[:, None] * WINDOWS + every[None, :], total, mask=is_head)
        return
    for number in range(0, CHUNK):
        ahead = chunk * CHUNK + number - (blocks * WARPS - 1)  # sweeps from where queries begin
        sums = tl.zeros([HEADS, SIZE], tl.float32)
        for block in range(0, blocks):
            begin, reached = ahead + block * WARPS, _reached(block, queries, keys, sweeps, ROWS, KEYS, CAUSAL)
            if (begin + WARPS > 0) & (begin <= reached):  # half of the blocks have no such sweep
                sweep = begin + warp
                there = (sweep >= 0) & (sweep <= reached)
                at = (((begins + block) * (sweeps + 1) + sweep) * WARPS + warp) * SIZE + places[None, None, :]
                sums += tl.sum(tl.load(diagonals + at, mask=inside & there, other=0.0).to(tl.float32), 1)
        offset = offsets + ahead * SWEEP
        exists = (offset >= -queries) & (offset <= keys)
        window = tl.load(windows + text * (queries + keys + 1) + offset + queries, mask=exists, other=WINDOWS)
        total = _by_number(sums, window, total, HALF)
    into = by_window + (own[:, None] * (tl.num_programs(0) - 1) + chunk) * WINDOWS
    tl.store(into + every[None, :], total, mask=is_head)


@triton.jit
def _reached(block, queries, keys, sweeps, ROWS: tl.constexpr, KEYS: tl.constexpr, CAUSAL: tl.constexpr):
    """The last sweep that was written of a block: one more than it went through."""
    reached = sweeps
    if CAUSAL:
        last = tl.minimum(keys, keys - queries + (block + 1) * ROWS)
        reached = (last + KEYS - 1) // KEYS * (KEYS // SWEEP)
    return reached


@triton.jit
def _by_number(sums, numbers, total, HALF: tl.constexpr):
    """(head, number) sums (head, place) by the number of each place, added to a total."""
    is_number = numbers[:, None] == tl.arange(0, WINDOWS)[None, :]
    if HALF:
        coarse = sums.to(tl.float16)
        fine = (sums - coarse.to(tl.float32)).to(tl.float16)
        total = tl.dot(coarse, is_number.to(tl.float16), total)
        total = tl.dot(fine, is_number.to(tl.float16), total)
    else:
        total = tl.dot(sums, is_number.to(tl.float32), total, input_precision="ieee")
    return total
