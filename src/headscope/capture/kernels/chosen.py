"""The weights of chosen queries, and at chosen pairs of query and key, from the log-sum-exp, in Triton."""

import triton
import triton.language as tl

from headscope.capture.kernels.fused import scored

SUMS = tl.constexpr(32)
"""Room for so many sums over pairs."""


@triton.jit
def rows_of(
    query, key, seen, mask, bias, normaliser, texts, chosen, out,
    query_text, query_head, query_row, query_dim, key_text, key_group, key_step, key_dim,
    mask_text, mask_head, mask_row, mask_key, bias_text, bias_head, bias_row, bias_key,
    heads, groups, queries, keys, count, width, scale, cap,
    LINES: tl.constexpr, BLOCK: tl.constexpr, DIM: tl.constexpr, CAUSAL: tl.constexpr,
    HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_CAP: tl.constexpr,
):  # fmt: skip
    """(text, head, row, key) the weights of the `chosen` (text, row) queries of some `texts`, by their log-sum-exp."""
    head, place = tl.program_id(1), tl.program_id(2)
    group = head // (heads // groups)
    wide = tl.load(texts + place).to(tl.int64)
    line = wide * heads + head
    lines, dims = tl.program_id(0) * LINES + tl.arange(0, LINES), tl.arange(0, DIM)
    rows = tl.load(chosen + place * count + lines, mask=lines < count, other=0).to(tl.int32)
    out += (place.to(tl.int64) * heads + head) * count * keys
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
            CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, False,
        )  # fmt: skip
        tl.store(
            out + lines[:, None] * keys + places[None, :],
            tl.exp2(scores - logarithm[:, None]).to(out.dtype.element_ty),
            mask=(lines[:, None] < count) & (places[None, :] < keys),
        )


@triton.jit
def pairs_of(
    query, key, seen, mask, bias, normaliser, lengths, shares, pairs, codes, out,
    query_text, query_head, query_row, query_dim, key_text, key_group, key_step, key_dim,
    mask_text, mask_head, mask_row, mask_key, bias_text, bias_head, bias_row, bias_key,
    heads, groups, queries, keys, count, width, scale, cap,
    BLOCK: tl.constexpr, BLOCKS: tl.constexpr, DIM: tl.constexpr, KINDS: tl.constexpr, MOVED: tl.constexpr,
    CAUSAL: tl.constexpr, HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_CAP: tl.constexpr,
):  # fmt: skip
    """(text, head, way, chunk, sum) the weights at `pairs` (text, pair), places in the flattened map, added up.

    `codes` (text, pair) have a bit for each of KINDS sums that a pair counts in. Many pairs of a head and text go
    together, since they lie on the same few rows.
    """
    head, text = tl.program_id(1), tl.program_id(2)
    group = head // (heads // groups)
    wide = text.to(tl.int64)
    line = wide * heads + head
    dims, kinds = tl.arange(0, DIM), tl.arange(0, SUMS)
    query += wide * query_text + head * query_head
    key += wide * key_text + group * key_group
    inside = dims[None, :] < width
    sums, moved_sums = tl.zeros([SUMS], tl.float32), tl.zeros([SUMS], tl.float32)
    first = tl.program_id(0) * BLOCK * BLOCKS
    for start in range(first, tl.minimum(first + BLOCK * BLOCKS, count), BLOCK):
        lines = start + tl.arange(0, BLOCK)
        pair = tl.load(pairs + wide * count + lines, mask=lines < count, other=0)
        code = tl.load(codes + wide * count + lines, mask=lines < count, other=0)
        rows, places = (pair // keys).to(tl.int32), (pair % keys).to(tl.int32)
        asked = tl.load(query + rows[:, None] * query_row + dims[None, :] * query_dim, mask=inside, other=0.0)
        held = tl.load(key + places[:, None] * key_step + dims[None, :] * key_dim, mask=inside, other=0.0)
        scores = scored(
            tl.sum(asked.to(tl.float32) * held.to(tl.float32), 1), rows, places, seen + wide * keys,
            mask + wide * mask_text + head * mask_head, mask_row, mask_key,
            bias + wide * bias_text + head * bias_head, bias_row, bias_key, queries, keys, scale, cap,
            CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, False,
        )  # fmt: skip
        weights = tl.exp2(scores - tl.load(normaliser + line * queries + rows))
        moved = weights
        if MOVED:
            moved *= tl.load(lengths + line * keys + places) * tl.load(shares + line * queries + rows)
        for kind in tl.static_range(KINDS):
            counts = (code & (1 << kind)) != 0
            sums += tl.where(kinds == kind, tl.sum(tl.where(counts, weights, 0.0), 0), 0.0)
            if MOVED:
                moved_sums += tl.where(kinds == kind, tl.sum(tl.where(counts, moved, 0.0), 0), 0.0)
    ways: tl.constexpr = 2 if MOVED else 1
    out += (line * ways * tl.num_programs(0) + tl.program_id(0)) * SUMS + kinds
    tl.store(out, sums)
    if MOVED:
        tl.store(out + tl.num_programs(0) * SUMS, moved_sums)
