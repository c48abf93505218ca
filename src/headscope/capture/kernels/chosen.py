"""The weights of chosen queries, from the log-sum-exp, and lists of chosen pairs of query and key, in Triton."""

import triton
import triton.language as tl

from headscope.capture.kernels.fused import scored


@triton.jit
def rows_of(
    query, key, seen, mask, bias, normaliser, texts, chosen, out,
    query_text, query_head, query_row, query_dim, key_text, key_group, key_step, key_dim,
    mask_text, mask_head, mask_row, mask_key, bias_text, bias_head, bias_row, bias_key,
    heads, groups, queries, keys, count, width, total, first, scale, cap,
    LINES: tl.constexpr, BLOCK: tl.constexpr, DIM: tl.constexpr, CAUSAL: tl.constexpr,
    HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_CAP: tl.constexpr,
):  # fmt: skip
    """(text, head, row, key) the weights of the `chosen` (text, row) queries of some `texts`, by their log-sum-exp.

    They stand in the rows of a stack's `total` heads, this layer's from `first` on.
    """
    head, place = tl.program_id(1), tl.program_id(2)
    group = head // (heads // groups)
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
    logarithm = tl.load(normaliser + line * queries + rows)
    key += wide * key_text + group * key_group
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
        tl.store(
            out + lines[:, None] * keys + places[None, :],
            tl.exp2(scores - logarithm[:, None]).to(out.dtype.element_ty),
            mask=(lines[:, None] < count) & (places[None, :] < keys),
        )


@triton.jit
def listed(
    codes, entries, counts, queries, keys, tiles,
    WARPS: tl.constexpr, KEYS: tl.constexpr, CHUNK: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """(text, block, tile; entry) pairs of a tile that any pattern points at, CHUNK at most: place in the tile, and bits.

    `codes` (text, query, key) has a bit for each pattern; `counts` (text, block, tile) says how many entries there are.
    Places are in the order in which `sums.summed` lays a tile flat.
    """
    ROWS: tl.constexpr = SIDE * SIDE * WARPS
    tile, block, text = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    flat = tl.arange(0, ROWS * KEYS)
    place, square = flat % SIDE, flat // SIDE % SIDE
    across, above = flat // (SIDE * SIDE) % (KEYS // SIDE), flat // (SIDE * KEYS)
    odd, warp, pair = above % 2, above // 2 % WARPS, above // (2 * WARPS)
    rows = block * ROWS + (warp * SIDE + square) * SIDE + pair * 2 + odd
    places = tile * KEYS + across * SIDE + place
    inside = (rows < queries) & (places < keys)
    code = tl.load(codes + (text * queries + rows) * keys + places, mask=inside, other=0).to(tl.int32)
    is_listed = (code != 0).to(tl.int32)
    number = (text * tl.num_programs(1) + block) * tiles + tile
    after = tl.cumsum(is_listed, 0)
    tl.store(
        entries + number * CHUNK + after - 1, flat | (code << 16), mask=(is_listed != 0) & (after <= CHUNK)
    )
    tl.store(counts + number, tl.sum(is_listed, 0))
