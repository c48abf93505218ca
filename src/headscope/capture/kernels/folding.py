"""Sums along the diagonals of tiles, as `sums.summed` leaves them, added up by distance, in Triton."""

import triton
import triton.language as tl

from headscope.capture.kernels.sums import DIAGONALS, SIDE


@triton.jit
def folded(
    diagonals, near, windows, by_window, close, near_sums, heads, lines, first, queries, keys, blocks, tiles,
    WARPS: tl.constexpr, KEYS: tl.constexpr, FAR: tl.constexpr, NEAR: tl.constexpr, CHUNK: tl.constexpr,
    WINDOWS: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """The diagonals of all tiles, added up in one order: by window of distance, and each of those near the middle one.

    `windows` (text, offset + queries) says where an offset counts in `by_window` (text, head, chunk; window); `close`
    and `near_sums` (text, head, offset + FAR) are of ordinary keys and of all others.
    """
    chunk, line = tl.program_id(0), tl.program_id(1).to(tl.int64)
    text = line // heads
    own = text * lines + first + line % heads
    width = queries + keys + 1
    places = 1 + chunk * CHUNK + tl.arange(0, CHUNK)  # the first offset and the last are past the ends
    offsets = places - queries
    total = _gathered(
        diagonals, line, offsets, places < width, queries, keys, blocks, tiles, tiles,
        WARPS, KEYS, FAR, CHUNK, CAUSAL, False,
    )  # fmt: skip
    window = tl.load(windows + text * width + places, mask=places < width, other=WINDOWS)
    every = tl.arange(0, WINDOWS)
    counted = tl.where(window[:, None] == every[None, :], total[:, None], 0.0)
    tl.store(by_window + (own * tl.num_programs(0) + chunk) * WINDOWS + every, tl.sum(counted, 0))
    tl.store(close + own * (2 * FAR + 1) + offsets + FAR, total, mask=(offsets >= -FAR) & (offsets <= FAR))
    if chunk == 0:
        around = tl.arange(0, 4 * FAR) - FAR
        others = _gathered(
            near, line, around, around <= FAR, queries, keys, blocks, tiles, NEAR,
            WARPS, KEYS, FAR, 4 * FAR, CAUSAL, True,
        )  # fmt: skip
        tl.store(near_sums + own * (2 * FAR + 1) + around + FAR, others, mask=around <= FAR)


@triton.jit
def _gathered(
    diagonals, line, offsets, wanted, queries, keys, blocks, tiles, kept,
    WARPS: tl.constexpr, KEYS: tl.constexpr, FAR: tl.constexpr, COUNT: tl.constexpr, CAUSAL: tl.constexpr,
    IS_NEAR: tl.constexpr,
):  # fmt: skip
    """(offset,) the sums along diagonals of all tiles of a line, of which `kept` stand in memory for each block."""
    ROWS: tl.constexpr = SIDE * SIDE * WARPS
    USED: tl.constexpr = WARPS * SIDE + KEYS // SIDE - 1
    SIZE: tl.constexpr = USED * DIAGONALS
    STEP: tl.constexpr = KEYS // SIDE  # lines from one tile to the next
    total = tl.zeros([COUNT], tl.float32)
    for block in range(0, blocks):
        reached = tiles
        if CAUSAL:
            reached = tl.minimum(reached, (keys - queries + KEYS - 1 + (block + 1) * ROWS) // KEYS)
        begin = 0
        if IS_NEAR:
            begin = tl.maximum(0, block * ROWS - FAR) // KEYS
            reached = tl.minimum(reached, (FAR + KEYS - 1 + (block + 1) * ROWS) // KEYS)
        # How far the offset lies from the first diagonal of the first tile.
        ahead = offsets + block * ROWS + ROWS - 1
        for late in tl.static_range(2):  # a diagonal is one of the line before, too
            diagonal = ahead % SIDE + SIDE * late
            numbered = ahead // SIDE - late
            for later in tl.static_range((USED + STEP - 1) // STEP):  # and a line one of the tile before
                across, tile = numbered % STEP + STEP * later, numbered // STEP - later
                holds = wanted & (ahead >= 0) & (numbered >= 0) & (tile >= begin) & (tile < reached)
                holds &= (diagonal < 2 * SIDE - 1) & (across < USED)
                at = ((line * blocks + block) * kept + tile - begin) * SIZE + across * DIAGONALS + diagonal
                total += tl.load(diagonals + at, mask=holds, other=0.0)
    return total
