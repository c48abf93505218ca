"""The weights of chosen queries, from the log-sum-exp, and lists of chosen pairs of query and key, in Triton."""

import triton
import triton.language as tl

from headscope.kernels.triton.fused import LOG2_E, NEVER, group_of, scored
from headscope.kernels.triton.sums import SIDE, SWEEP, TALL


@triton.jit(do_not_specialize=["first"])
def rows_of(
    query, key, seen, mask, bias, normaliser, logs_fetched, texts, chosen, out,
    query_text, query_head, query_row, query_dim, key_text, key_group, key_step, key_dim,
    mask_text, mask_head, mask_row, mask_key, bias_text, bias_head, bias_row, bias_key,
    heads, groups, queries, keys, count, width, total, first, scale, cap,
    LINES: tl.constexpr, BLOCK: tl.constexpr, DIM: tl.constexpr, CAUSAL: tl.constexpr, HAS_SEEN: tl.constexpr,
    HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_CAP: tl.constexpr, GROUPED: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    """(text, head, row, key) the weights of the `chosen` (text, row) queries of some `texts`, by their log-sum-exp.

    With MOVED, the shares of what is moved: the logarithms of what is fetched are added, as in `sums.summed`. They
    stand in the rows of `total` heads, this layer's from `first` on.
    """
    head, place = tl.program_id(1), tl.program_id(2)
    wide = tl.load(texts + place).to(tl.int64)
    line = wide * heads + head
    lines, dims = tl.program_id(0) * LINES + tl.arange(0, LINES), tl.arange(0, DIM)
    rows = tl.load(chosen + place * count + lines, mask=lines < count, other=0).to(tl.int32)
    out += (place.to(tl.int64) * total + first + head) * count * keys
    asked = tl.load(
        query + wide * query_text + head * query_head + rows[:, None] * query_row + dims[None, :] * query_dim,
        mask=dims[None, :] < width,
        other=0.0,
    )
    logarithm = tl.load(normaliser + line * queries + rows) * LOG2_E
    key += wide * key_text + group_of(head, heads, groups, GROUPED) * key_group
    mask += wide * mask_text + head * mask_head
    bias += wide * bias_text + head * bias_head
    seen += wide * keys
    for start in range(0, keys, BLOCK):
        places = start + tl.arange(0, BLOCK)
        tile = tl.load(
            key + places[None, :] * key_step + dims[:, None] * key_dim,
            mask=(places[None, :] < keys) & (dims[:, None] < width),
            other=0.0,
        )
        scores = scored(
            tl.dot(asked, tile, input_precision="ieee"), rows[:, None], places[None, :], seen,
            mask, mask_row, mask_key, bias, bias_row, bias_key, queries, keys, scale, cap,
            CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP,
        )  # fmt: skip
        if MOVED:
            added = tl.load(logs_fetched + line * keys + places, mask=places < keys, other=NEVER)
            scores = tl.maximum(scores + added[None, :], NEVER)
        tl.store(
            out + lines[:, None] * keys + places[None, :],
            tl.exp2(scores - logarithm[:, None]).to(out.dtype.element_ty),
            mask=(lines[:, None] < count) & (places[None, :] < keys),
        )


@triton.jit
def listed(
    codes, entries, counts, is_crowded, queries, keys, tiles,
    WARPS: tl.constexpr, KEYS: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """(text, block, tile; entry) pairs of a tile that any pattern points at: place in the tile, and bits.

    `codes` (text, query, key) has a bit for each pattern. Tiles with more than CHUNK pairs have no entries:
    `is_crowded` (text, block) says where there are such, `counts` (text, block, tile) how many pairs each has. Places
    are in the order in which threads hold a tile: (pair, warp, across, rectangle, key of pair, side, odd, odd key).
    """
    ROWS: tl.constexpr = SWEEP * WARPS
    tile, block, text = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    flat, numbers = tl.arange(0, ROWS * KEYS), tl.arange(0, CHUNK)
    across = flat // (32 * SIDE) % (KEYS // (2 * SIDE)) * 2 + flat // 4 % 2
    above = flat // (16 * KEYS)
    rows = (
        (above % WARPS * SIDE + flat // 32 % SIDE) * TALL + above // WARPS * 2 + flat // 2 % 2 + block * ROWS
    )
    places = tile * KEYS + across * SIDE + flat // 8 % 4 * 2 + flat % 2
    inside = (rows < queries) & (places < keys)
    code = tl.load(codes + (text * queries + rows) * keys + places, mask=inside, other=0).to(tl.int32)
    is_listed = (code != 0).to(tl.int32)
    number = (text * tl.num_programs(1) + block) * tiles + tile
    after, count = tl.cumsum(is_listed, 0), tl.sum(is_listed, 0)
    fits = count <= CHUNK
    entries += number * CHUNK
    tl.store(entries + after - 1, flat | (code << 16), mask=(is_listed != 0) & fits)
    tl.store(entries + numbers, tl.zeros([CHUNK], tl.int32), mask=(numbers >= count) | (fits == 0))
    tl.store(counts + number, count)
    tl.atomic_max(is_crowded + text * tl.num_programs(1) + block, 1, mask=fits == 0)
