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
            CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, False,
        )  # fmt: skip
        tl.store(
            out + lines[:, None] * keys + places[None, :],
            tl.exp2(scores - logarithm[:, None]).to(out.dtype.element_ty),
            mask=(lines[:, None] < count) & (places[None, :] < keys),
        )


@triton.jit
def pairs_of(
    query, key, seen, mask, bias, normaliser, lengths, shares, pairs, codes, starts, out,
    query_text, query_head, query_row, query_dim, key_text, key_group, key_step, key_dim,
    mask_text, mask_head, mask_row, mask_key, bias_text, bias_head, bias_row, bias_key,
    heads, groups, queries, keys, width, lines, first, scale, cap,
    BLOCK: tl.constexpr, DIM: tl.constexpr, MOVED: tl.constexpr, CAUSAL: tl.constexpr,
    HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_CAP: tl.constexpr,
):  # fmt: skip
    """(text, head, part, way, sum) the weights at pairs of query and key, added up by the bits of their codes.

    A text's `pairs`, places in the flattened map, stand from its place in `starts` to the next. Many pairs of a head
    and text go together, since they lie on the same few rows. `lengths` (text, head, key) are of what is fetched, and
    `shares` (text, head, query) one over what a query's keys fetch in all.
    """
    part, head, text = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    group = head // (heads // groups)
    wide = text.to(tl.int64)
    line = wide * heads + head
    dims, kinds = tl.arange(0, DIM), tl.arange(0, SUMS)
    query += wide * query_text + head * query_head
    key += wide * key_text + group * key_group
    inside = dims[None, :] < width
    sums, moved_sums = tl.zeros([BLOCK, SUMS], tl.float32), tl.zeros([BLOCK, SUMS], tl.float32)
    last = tl.load(starts + text + 1)
    for start in range(tl.load(starts + text) + part * BLOCK, last, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        pair = tl.load(pairs + at, mask=at < last, other=0)
        code = tl.load(codes + at, mask=at < last, other=0)
        rows, places = pair // keys, pair % keys
        asked = tl.load(query + rows[:, None] * query_row + dims[None, :] * query_dim, mask=inside, other=0.0)
        held = tl.load(key + places[:, None] * key_step + dims[None, :] * key_dim, mask=inside, other=0.0)
        scores = scored(
            tl.sum(asked.to(tl.float32) * held.to(tl.float32), 1), rows, places, seen + wide * keys,
            mask + wide * mask_text + head * mask_head, mask_row, mask_key,
            bias + wide * bias_text + head * bias_head, bias_row, bias_key, queries, keys, scale, cap,
            CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, False,
        )  # fmt: skip
        weights = tl.exp2(scores - tl.load(normaliser + line * queries + rows))
        counts = ((code[:, None] >> kinds[None, :]) & 1) != 0
        sums += tl.where(counts, weights[:, None], 0.0)
        if MOVED:
            fetched = tl.load(lengths + (wide * lines + first + head) * keys + places)
            moved_sums += tl.where(
                counts, (weights * fetched * tl.load(shares + line * queries + rows))[:, None], 0.0
            )
    ways: tl.constexpr = 2 if MOVED else 1
    out += ((wide * lines + first + head) * tl.num_programs(0) + part) * ways * SUMS + kinds
    tl.store(out, tl.sum(sums, 0))
    if MOVED:
        tl.store(out + SUMS, tl.sum(moved_sums, 0))
