"""Attention and the lengths of what it carries, in Triton; the maps are never in memory.

`attend` gives a layer's output and the log-sum-exp of every query, `fetch_lengths` how long what a head fetches at each
key is, `given_lengths` how long what it gives to each query is. What measures ask of the weights is summed up from the
log-sum-exp by `sums.summed`.

Logarithms are to the base of 2 here, as the hardware has them.
"""

import triton
import triton.language as tl

NEVER = tl.constexpr(-1.0e30)
"""The score of a key that is not seen: finite, so that 0 times its logarithm is 0."""
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def scored(
    scores, rows, places, seen, mask, mask_row, mask_key, bias, bias_row, bias_key, queries, keys, scale, cap,
    CAUSAL: tl.constexpr, HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr,
    HAS_CAP: tl.constexpr,
):  # fmt: skip
    """Products of queries and keys as scores; `rows` and `places` are of one shape, or broadcast to it.

    With HAS_SEEN, `seen` (key,) is the most that the score of a key may be: NEVER for padding, and past the end.
    """
    if HAS_CAP:
        scores = scores * scale
        scores = cap * (1.0 - 2.0 / (tl.exp2(scores * (2.0 * LOG2_E) / cap) + 1.0)) * LOG2_E
    else:
        scores = scores * (scale * LOG2_E)
    inside = (rows < queries) & (places < keys)
    if HAS_BIAS:
        added = tl.load(bias + rows * bias_row + places * bias_key, mask=inside, other=0.0)
        scores += added.to(tl.float32) * LOG2_E
    if HAS_MASK:
        added = tl.load(mask + rows * mask_row + places * mask_key, mask=inside, other=0.0)
        scores = tl.maximum(scores + tl.maximum(added.to(tl.float32), NEVER) * LOG2_E, NEVER)
    if HAS_SEEN:  # the smaller of a nan and a number is the number
        scores = tl.minimum(scores, tl.load(seen + places, mask=places < keys, other=NEVER))
    if CAUSAL:
        scores = tl.where(places <= rows + (keys - queries), scores, NEVER)
    return scores


@triton.jit
def tile_of(at, inside, WHOLE: tl.constexpr):
    """A block of numbers; masks are only looked at where vectors are not WHOLE: they cost the way past registers."""
    return tl.load(at) if WHOLE else tl.load(at, mask=inside, other=0.0)


@triton.jit
def attend(
    query, key, value, seen, mask, bias, sinks, out, normaliser,
    query_text, query_head, query_row, query_dim, key_text, key_group, key_step, key_dim,
    value_text, value_group, value_key, value_dim,
    mask_text, mask_head, mask_row, mask_key, bias_text, bias_head, bias_row, bias_key,
    heads, groups, queries, keys, width, value_width, scale, cap,
    BLOCK: tl.constexpr, KEYS: tl.constexpr, DIM: tl.constexpr, VALUE_DIM: tl.constexpr, CAUSAL: tl.constexpr,
    HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_CAP: tl.constexpr,
    HAS_SINK: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    """(text, query, head, dim) the output of a block of one head's queries, and (text, head, query) log-sum-exps.

    `seen` (text, key) is as `scored` has it. Both are corrected as larger scores come (Milakov and Gimelshein 2018).
    """
    block, head, text = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    group = head // (heads // groups)
    rows, dims, value_dims = block * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DIM), tl.arange(0, VALUE_DIM)
    wide = text.to(tl.int64)
    line = wide * heads + head
    within = tl.minimum(rows, queries - 1)  # what stands past the end is not kept
    asked = tile_of(
        query
        + wide * query_text
        + head * query_head
        + within[:, None] * query_row
        + dims[None, :] * query_dim,
        dims[None, :] < width,
        WHOLE,
    )
    key += wide * key_text + group * key_group
    value += wide * value_text + group * value_group
    mask += wide * mask_text + head * mask_head
    bias += wide * bias_text + head * bias_head
    seen += wide * keys
    last = keys
    if CAUSAL:
        last = tl.minimum(keys, (block + 1) * BLOCK + keys - queries)
    most = tl.full([BLOCK], NEVER, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    output = tl.zeros([BLOCK, VALUE_DIM], tl.float32)
    if HAS_SINK:
        most = tl.zeros([BLOCK], tl.float32) + tl.load(sinks + head).to(tl.float32) * LOG2_E
        total += 1.0  # of no key: it counts in the sum and takes nothing
    for start in range(0, last, KEYS):
        places = start + tl.arange(0, KEYS)
        inside = tl.minimum(places, keys - 1)  # what stands past the end is never seen
        tile = tile_of(
            key + inside[None, :] * key_step + dims[:, None] * key_dim, dims[:, None] < width, WHOLE
        )
        fetch = tile_of(
            value + inside[:, None] * value_key + value_dims[None, :] * value_dim,
            value_dims[None, :] < value_width,
            WHOLE,
        )
        scores = scored(
            tl.dot(asked, tile, input_precision="ieee"), rows[:, None], places[None, :], seen,
            mask, mask_row, mask_key, bias, bias_row, bias_key, queries, keys, scale, cap,
            CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP,
        )  # fmt: skip
        higher = tl.maximum(most, tl.max(scores, 1))
        shrunk = tl.exp2(most - higher)
        part = tl.exp2(scores - higher[:, None])
        total = total * shrunk + tl.sum(part, 1)
        output = output * shrunk[:, None] + tl.dot(part.to(fetch.dtype), fetch, input_precision="ieee")
        most = higher
    tl.store(normaliser + line * queries + rows, most + tl.log2(total), mask=rows < queries)
    tl.store(
        out + ((wide * queries + rows)[:, None] * heads + head) * value_width + value_dims[None, :],
        (output / total[:, None]).to(out.dtype.element_ty),
        mask=(rows[:, None] < queries) & (value_dims[None, :] < value_width),
    )


@triton.jit
def fetch_lengths(
    value, seen, coarse, fine, fetched,
    value_text, value_group, value_key, value_dim, heads, groups, keys, width, rank, lines, first, blocks, items,
    BLOCK: tl.constexpr, DIM: tl.constexpr, RANK: tl.constexpr, ONCE: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """(text, head, key) how long what a head fetches at each key is, in the rows of a stack's `lines` heads.

    The root of the projection is `coarse` + `fine` (head, dim, rank); padding, whose `seen` (text, key) is 0, has no
    length. A program goes through `items`, which are a text's blocks of keys; with ONCE it loads the root once.
    """
    head = tl.program_id(0)
    dims = tl.arange(0, DIM)
    value += (head // (heads // groups)) * value_group
    root = _root_of(coarse, head, dims, 0, width, rank, RANK)
    rest = _root_of(fine, head, dims, 0, width, rank, RANK)
    for item in range(tl.program_id(1), items, tl.num_programs(1)):
        text, places = (item // blocks).to(tl.int64), item % blocks * BLOCK + tl.arange(0, BLOCK)
        inside = tl.minimum(places, keys - 1)
        vectors = tl.load(
            value + text * value_text + inside[:, None] * value_key + dims[None, :] * value_dim,
            mask=dims[None, :] < width,
            other=0.0,
        )
        after = _projected(vectors, root, rest, HALF)
        squares = tl.sum(after * after, 1)
        if not ONCE:
            for step in range(RANK, rank, RANK):
                part = _root_of(coarse, head, dims, step, width, rank, RANK)
                after = _projected(vectors, part, _root_of(fine, head, dims, step, width, rank, RANK), HALF)
                squares += tl.sum(after * after, 1)
        visible = tl.load(seen + text * keys + inside)
        length = tl.where(visible != 0, tl.sqrt(squares), 0.0)  # padding may hold nan
        tl.store(fetched + (text * lines + first + head) * keys + places, length, mask=places < keys)


@triton.jit
def given_lengths(
    out, real, residual, coarse, fine, given, vectors, heads, queries, width, rank, lines, first, blocks, items,
    BLOCK: tl.constexpr, DIM: tl.constexpr, RANK: tl.constexpr, ONCE: tl.constexpr, HALF: tl.constexpr,
    HAS_RESIDUAL: tl.constexpr,
):  # fmt: skip
    """(text, head, block; 4) sums over a block of queries of what a head gives them, and (…; rank) their vectors' sum.

    Of its length, of the length's square, and of the length against the `residual` stream (text, query); what stands
    fourth is another's. The rest is as `fetch_lengths` has it.
    """
    head = tl.program_id(0)
    dims, ranks = tl.arange(0, DIM), tl.arange(0, RANK)
    root = _root_of(coarse, head, dims, 0, width, rank, RANK)
    rest = _root_of(fine, head, dims, 0, width, rank, RANK)
    for item in range(tl.program_id(1), items, tl.num_programs(1)):
        text, rows = (item // blocks).to(tl.int64), item % blocks * BLOCK + tl.arange(0, BLOCK)
        within = tl.minimum(rows, queries - 1)
        is_real = (tl.load(real + text * queries + within) != 0) & (rows < queries)
        output = tl.load(
            out + ((text * queries + within)[:, None] * heads + head) * width + dims[None, :],
            mask=is_real[:, None] & (dims[None, :] < width),  # padding may hold nan
            other=0.0,
        )
        part_of = (text * lines + first + head) * blocks + item % blocks
        after = _projected(output, root, rest, HALF)
        squares = tl.sum(after * after, 1)
        tl.store(vectors + part_of * rank + ranks, tl.sum(after, 0), mask=ranks < rank)
        if not ONCE:
            for step in range(RANK, rank, RANK):
                part = _root_of(coarse, head, dims, step, width, rank, RANK)
                after = _projected(output, part, _root_of(fine, head, dims, step, width, rank, RANK), HALF)
                squares += tl.sum(after * after, 1)
                tl.store(vectors + part_of * rank + step + ranks, tl.sum(after, 0), mask=step + ranks < rank)
        size = tl.sqrt(squares)
        tl.store(given + part_of * 4, tl.sum(size, 0))
        tl.store(given + part_of * 4 + 1, tl.sum(squares, 0))
        if HAS_RESIDUAL:
            stream = tl.load(residual + text * queries + within)
            tl.store(
                given + part_of * 4 + 2,
                tl.sum(tl.where(stream > 0, size / tl.maximum(stream, 1e-30), 0.0), 0),
            )


@triton.jit
def _root_of(root, head, dims, step, width, rank, RANK: tl.constexpr):
    """(dim, rank) some columns of a head's root."""
    ranks = step + tl.arange(0, RANK)
    inside = (dims[:, None] < width) & (ranks[None, :] < rank)
    return tl.load(root + (head * width + dims[:, None]) * rank + ranks[None, :], mask=inside, other=0.0)


@triton.jit
def _projected(vectors, root, rest, HALF: tl.constexpr):
    """(row, rank) vectors (row, dim) times a root in two parts."""
    after = tl.dot(vectors, root, input_precision="ieee")
    if HALF:
        after += tl.dot(vectors, rest)
    return after
