"""Attention and the lengths of what it carries, in Triton; the maps are never in memory.

`attend` gives a layer's output and the log-sum-exp of every query, `fetch_lengths` how long what a head fetches at each
key is, `given_lengths` how long what it gives to each query is. What measures ask of the weights is summed up from the
log-sum-exp by `sums.summed`.

Logarithms are to the base of 2 in the kernels, as the hardware has them; log-sum-exps that leave them are natural.
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
def group_of(head, heads, groups, GROUPED: tl.constexpr):
    """Whose keys and values a head has."""
    return head // (heads // groups) if GROUPED else head


@triton.jit
def attend(
    query, key, value, seen, mask, bias, sinks, out, normaliser,
    query_text, query_head, query_row, query_dim, key_text, key_group, key_step, key_dim,
    value_text, value_group, value_key, value_dim,
    mask_text, mask_head, mask_row, mask_key, bias_text, bias_head, bias_row, bias_key,
    heads, groups, queries, keys, width, value_width, scale, cap,
    BLOCK: tl.constexpr, KEYS: tl.constexpr, DIM: tl.constexpr, VALUE_DIM: tl.constexpr, CAUSAL: tl.constexpr,
    HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_CAP: tl.constexpr,
    GROUPED: tl.constexpr, HAS_SINK: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    """(text, query, head, dim) the output of a block of one head's queries, and (text, head, query) log-sum-exps.

    `seen` (text, key) is as `scored` has it. Both are corrected as larger scores come (Milakov and Gimelshein 2018).
    """
    block, head, text = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    group = group_of(head, heads, groups, GROUPED)
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
    tl.store(normaliser + line * queries + rows, (most + tl.log2(total)) / LOG2_E, mask=rows < queries)
    tl.store(
        out + ((wide * queries + rows)[:, None] * heads + head) * value_width + value_dims[None, :],
        (output / total[:, None]).to(out.dtype.element_ty),
        mask=(rows[:, None] < queries) & (value_dims[None, :] < value_width),
    )


@triton.jit
def fetch_lengths(
    value, seen, coarse, fine, logs_fetched,
    value_text, value_group, value_key, value_dim, heads, groups, keys, width, rank, blocks, items,
    BLOCK: tl.constexpr, DIM: tl.constexpr, RANK: tl.constexpr, ONCE: tl.constexpr, HALF: tl.constexpr,
    GROUPED: tl.constexpr,
):  # fmt: skip
    """(text, head, key) the logarithm of how long what a head fetches at each key is, NEVER of nothing.

    The root of the projection is `coarse` + `fine` (head, dim, rank); padding, whose `seen` (text, key) is 0, has no length.
    A program goes through `items`, which are a text's blocks of keys; with ONCE it loads the root once.
    """
    head = tl.program_id(0)
    dims = tl.arange(0, DIM)
    value += group_of(head, heads, groups, GROUPED) * value_group
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
        squares = _squares(vectors, root, rest, coarse, fine, head, dims, width, rank, RANK, ONCE, HALF)
        visible = tl.load(seen + text * keys + inside)
        length = tl.where(visible != 0, tl.sqrt(squares), 0.0)  # padding may hold nan
        logs = tl.where(length > 0, tl.log2(length), NEVER)
        tl.store(logs_fetched + (text * heads + head) * keys + places, logs, mask=places < keys)


@triton.jit(do_not_specialize=["first"])
def given_lengths(
    out, real, stream, coarse, fine, given, vectors, heads, queries, width, rank, hidden, lines, first,
    BLOCK: tl.constexpr, DIM: tl.constexpr, RANK: tl.constexpr, ONCE: tl.constexpr, HALF: tl.constexpr,
    HIDDEN: tl.constexpr, HAS_STREAM: tl.constexpr,
):  # fmt: skip
    """Sums over a block of a text's queries of what each of its heads gives them.

    `given` (text, head, block; 4): of its length after the projection, of the length's square, and of the length
    against the residual `stream` (text, query, hidden), whose own length is found first; what stands fourth is
    another's. `vectors` (text, head, block; dim): of what is given itself, before the projection.
    """
    block, text = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows, dims = block * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DIM)
    within = text * queries + tl.minimum(rows, queries - 1)
    is_real = (tl.load(real + within) != 0) & (rows < queries)
    against = tl.full([BLOCK], float("nan"), tl.float32)
    if HAS_STREAM:
        every = tl.arange(0, HIDDEN)
        parts = tl.zeros([BLOCK, HIDDEN], tl.float32)
        for start in range(0, hidden, HIDDEN):
            part = tl.load(
                stream + within[:, None] * hidden + start + every[None, :],
                mask=(start + every < hidden)[None, :],
                other=0.0,
            ).to(tl.float32)
            parts += part * part
        total = tl.sum(parts, 1)
        against = tl.where(is_real & (total > 0), 1.0 / tl.sqrt(tl.maximum(total, 1e-37)), 0.0)
    ones = tl.full([16, BLOCK], 1.0, out.dtype.element_ty)
    is_first = tl.arange(0, 16) == 0
    for head in range(0, heads):
        output = tl.load(
            out + (within[:, None] * heads + head) * width + dims[None, :],
            mask=is_real[:, None] & (dims[None, :] < width),  # padding may hold nan
            other=0.0,
        )
        root = _root_of(coarse, head, dims, 0, width, rank, RANK)
        rest = _root_of(fine, head, dims, 0, width, rank, RANK)
        squares = _squares(output, root, rest, coarse, fine, head, dims, width, rank, RANK, ONCE, HALF)
        size = tl.sqrt(squares)
        # All in one go: (length, against the stream) and (square, nothing), side by side.
        each = tl.join(tl.join(size, size * against), tl.join(squares, tl.zeros_like(size)))
        part_of = (text * lines + first + head) * tl.num_programs(0) + block
        tl.store(given + part_of * 4 + tl.arange(0, 4), tl.sum(tl.reshape(each, [BLOCK, 4]), 0))
        together = tl.dot(ones, output, input_precision="ieee")  # the same in all rows
        tl.store(
            vectors + part_of * width + tl.broadcast_to(dims[None, :], [16, DIM]),
            together,
            mask=is_first[:, None] & (dims < width)[None, :],
        )


@triton.jit
def _root_of(root, head, dims, step, width, rank, RANK: tl.constexpr):
    """(dim, rank) some columns of a head's root."""
    ranks = step + tl.arange(0, RANK)
    inside = (dims[:, None] < width) & (ranks[None, :] < rank)
    return tl.load(root + (head * width + dims[:, None]) * rank + ranks[None, :], mask=inside, other=0.0)


@triton.jit
def _squares(
    vectors, root, rest, coarse, fine, head, dims, width, rank,
    RANK: tl.constexpr, ONCE: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """(row,) squares of the lengths of vectors (row, dim) after the projection, whose `root` and `rest` are loaded."""
    squares = _summed_squares(vectors, root, rest, HALF)
    if not ONCE:
        for step in range(RANK, rank, RANK):
            root = _root_of(coarse, head, dims, step, width, rank, RANK)
            squares += _summed_squares(
                vectors, root, _root_of(fine, head, dims, step, width, rank, RANK), HALF
            )
    return squares


@triton.jit
def _summed_squares(vectors, root, rest, HALF: tl.constexpr):
    after = tl.dot(vectors, root, input_precision="ieee")
    if HALF:
        after = tl.dot(vectors, rest, after)
    return tl.sum(after * after, 1)
