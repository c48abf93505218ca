"""Attention and all that measures need of it in one launch, in Triton; the maps are never in memory.

Two passes over the keys of a block of queries: the first finds each query's log-sum-exp (and what its keys fetch in
all), the second forms each tile of weights once, multiplies it with the values, and reduces it on the spot, as far as
it goes on the matrix units:

- **mass by class of key**: a product with the table of classes, in float16 where the model has half precision: its 11
  bits hold a weight to 5e-4, and the table is exact. Beside each class stands the same class times what is fetched;
- **entropy**: minus the sum of p log p, where log p is the score less the log-sum-exp;
- **diagonals**: a tile is cut into squares of 8 x 8. One product with a fixed table sums each square along its 15
  diagonals, a second adds up the squares that lie on a line. No number changes its place in a row, which cost more
  than all else together;
- **moved shares**: the same sums with each key's weight times the length of what is fetched there;
- **lengths of what is given**: a product of the output with the root of the projection.

Sums over queries are formed of each block, and blocks are added up later, of all layers at once.

Logarithms are to the base of 2 here, as the hardware has them. Functions are longer than elsewhere in the house, since
a kernel cannot be cut where its registers are live.
"""

import triton
import triton.language as tl

from headscope.measures.fast.divergence_kernel import fast_log2

COLUMNS = tl.constexpr(16)
"""Width of the table of classes: 8 classes, and the same ones times what is fetched."""
CLASSES = tl.constexpr(8)
SIDE = tl.constexpr(8)
"""Side of the squares that a tile is cut into."""
GROUPS = tl.constexpr(8)
"""Groups of queries that means are over; the last is empty."""
NEVER = tl.constexpr(-1.0e30)
"""The score of a key that is not seen: finite, so that 0 times its logarithm is 0."""
LOG2_E = tl.constexpr(1.4426950408889634)
LOG_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def scored(
    scores, rows, places, seen, mask, mask_row, mask_key, bias, bias_row, bias_key, queries, keys, scale, cap,
    CAUSAL: tl.constexpr, HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr,
    HAS_CAP: tl.constexpr, EVEN: tl.constexpr,
):  # fmt: skip
    """Products of queries and keys as scores; `rows` and `places` are of one shape, or broadcast to it."""
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
    if HAS_SEEN:
        visible = tl.load(seen + places, mask=places < keys, other=0)
        scores = tl.where(visible != 0, scores, NEVER)
    elif not EVEN:
        scores = tl.where(places < keys, scores, NEVER)
    if CAUSAL:
        scores = tl.where(places <= rows + (keys - queries), scores, NEVER)
    return scores


@triton.jit
def _tile(at, inside, EVEN: tl.constexpr):
    """A block of numbers; the mask is only looked at where the block may reach past the end."""
    return tl.load(at) if EVEN else tl.load(at, mask=inside, other=0.0)


@triton.jit
def _on_diagonals(dtype: tl.constexpr):
    """(place in a square, diagonal) 1 where the place lies on the diagonal."""
    place, diagonal = tl.arange(0, SIDE * SIDE), tl.arange(0, 2 * SIDE)
    return ((place % SIDE - place // SIDE + SIDE - 1)[:, None] == diagonal[None, :]).to(dtype)


@triton.jit
def _on_lines(dtype: tl.constexpr, ACROSS: tl.constexpr, LINES: tl.constexpr):
    """(line, square) 1 where the square of a tile of ACROSS x ACROSS lies on the line of squares."""
    line, square = tl.arange(0, LINES), tl.arange(0, ACROSS * ACROSS)
    return ((square % ACROSS - square // ACROSS + ACROSS - 1)[None, :] == line[:, None]).to(dtype)


@triton.jit
def _along_diagonals(weights, diagonals, lines, ACROSS: tl.constexpr):
    """(line, diagonal) sums of a tile of weights along its diagonals."""
    squares = tl.permute(tl.reshape(weights, [ACROSS, SIDE, ACROSS, SIDE]), (0, 2, 1, 3))
    squares = tl.reshape(squares, [ACROSS * ACROSS, SIDE * SIDE]).to(diagonals.dtype)
    by_square = tl.dot(squares, diagonals, input_precision="ieee")
    return tl.dot(lines, by_square.to(lines.dtype), input_precision="ieee")


@triton.jit
def attend(
    query, key, value, seen, mask, bias, sinks, lengths, table, real, member, coarse, fine, residual, peaks,
    out, normaliser, shares, masses, entropies, diagonals, given, vectors,
    query_text, query_head, query_row, query_dim, key_text, key_group, key_step, key_dim,
    value_text, value_group, value_key, value_dim,
    mask_text, mask_head, mask_row, mask_key, bias_text, bias_head, bias_row, bias_key,
    heads, groups, queries, keys, width, value_width, tiles, rank, lines, first, scale, cap,
    BLOCK: tl.constexpr, LINES: tl.constexpr, DIM: tl.constexpr, VALUE_DIM: tl.constexpr, RANK: tl.constexpr,
    CAUSAL: tl.constexpr, HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr,
    HAS_CAP: tl.constexpr, HAS_SINK: tl.constexpr, WITHIN: tl.constexpr, MOVED: tl.constexpr, GIVEN: tl.constexpr,
    HAS_RESIDUAL: tl.constexpr, HALF: tl.constexpr, EVEN: tl.constexpr, FULL: tl.constexpr,
):  # fmt: skip
    """One block of one head's queries on one text: its output, and its part of every sum.

    `lengths` (text, head, key) are of what is fetched, less than 0 where a key is not ordinary, and `table` (text,
    head, key, 16) holds the classes and the classes times them; without MOVED 1 and -1, and both of a text's keys
    alone. `seen` (text, key) and `real` (text, query) are 0 for padding; `member` (text, 8, query) is what a query
    counts in each group. WITHIN one text there are diagonals. With GIVEN the projection's root is `coarse` + `fine`
    (head, dim, rank). Sums stand in the rows of a stack's `lines` heads, this layer's from `first` on.
    """
    block, head, text = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    group = head // (heads // groups)
    rows, dims = block * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DIM)
    value_dims, columns = tl.arange(0, VALUE_DIM), tl.arange(0, COLUMNS)
    wide = text.to(tl.int64)
    line = wide * heads + head
    part_of = (wide * lines + first + head) * tl.num_programs(0) + block
    asked = _tile(
        query + wide * query_text + head * query_head + rows[:, None] * query_row + dims[None, :] * query_dim,
        (rows[:, None] < queries) & (dims[None, :] < width),
        EVEN,
    )
    key += wide * key_text + group * key_group
    value += wide * value_text + group * value_group
    mask += wide * mask_text + head * mask_head
    bias += wide * bias_text + head * bias_head
    seen += wide * keys
    lengths += (line if MOVED else wide) * keys
    table += (line if MOVED else wide) * keys * COLUMNS
    last = keys
    if CAUSAL:
        last = tl.minimum(keys, (block + 1) * BLOCK + keys - queries)

    most = tl.full([BLOCK], NEVER, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    moving = tl.zeros([BLOCK], tl.float32)
    if HAS_SINK:
        most = tl.zeros([BLOCK], tl.float32) + tl.load(sinks + head).to(tl.float32) * LOG2_E
        total += 1.0  # of no key: it counts in the sum and takes nothing
    for start in range(0, last, BLOCK):
        places = start + tl.arange(0, BLOCK)
        if MOVED:
            length = tl.abs(_tile(lengths + places, places < keys, EVEN))
        tile = _tile(
            key + places[None, :] * key_step + dims[:, None] * key_dim,
            (places[None, :] < keys) & (dims[:, None] < width),
            EVEN,
        )
        scores = scored(
            tl.dot(asked, tile, input_precision="ieee"), rows[:, None], places[None, :], seen,
            mask, mask_row, mask_key, bias, bias_row, bias_key, queries, keys, scale, cap,
            CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, EVEN,
        )  # fmt: skip
        higher = tl.maximum(most, tl.max(scores, 1))
        shrunk = tl.exp2(most - higher)
        part = tl.exp2(scores - higher[:, None])
        total = total * shrunk + tl.sum(part, 1)
        if MOVED:
            moving = moving * shrunk + tl.sum(part * length[None, :], 1)
        most = higher
    logarithm = most + tl.log2(total)
    tl.store(normaliser + line * queries + rows, logarithm, mask=rows < queries)
    if MOVED:
        moving = moving / total
        share = tl.where(moving > 0, 1.0 / moving, 0.0)
        peak = tl.load(peaks + line)
        tl.store(shares + line * queries + rows, tl.where(peak > 0, share / peak, 0.0), mask=rows < queries)
    if not FULL:
        is_real = tl.load(real + wide * queries + rows, mask=rows < queries, other=0) != 0

    precision: tl.constexpr = tl.float16 if HALF else tl.float32
    ACROSS: tl.constexpr = BLOCK // SIDE
    SIZE: tl.constexpr = LINES * 2 * SIDE
    ways: tl.constexpr = 2 if MOVED else 1
    on_diagonals = _on_diagonals(precision)
    on_lines = _on_lines(precision, ACROSS, LINES)
    in_tile = tl.arange(0, LINES)[:, None] * (2 * SIDE) + tl.arange(0, 2 * SIDE)[None, :]
    diagonals += (line * ways * tl.num_programs(0) + block) * tiles * SIZE + in_tile
    moved_diagonals = diagonals + tl.num_programs(0).to(tl.int64) * tiles * SIZE
    output = tl.zeros([BLOCK, VALUE_DIM], tl.float32)
    mass = tl.zeros([BLOCK, COLUMNS], tl.float32)
    entropy = tl.zeros([BLOCK], tl.float32)
    moved_entropy = tl.zeros([BLOCK], tl.float32)
    for start in range(0, last, BLOCK):
        places = start + tl.arange(0, BLOCK)
        signed = _tile(lengths + places, places < keys, EVEN)
        fetch = _tile(
            value + places[:, None] * value_key + value_dims[None, :] * value_dim,
            (places[:, None] < keys) & (value_dims[None, :] < value_width),
            EVEN,
        )
        classes = _tile(table + places[:, None] * COLUMNS + columns[None, :], places[:, None] < keys, EVEN)
        tile = _tile(
            key + places[None, :] * key_step + dims[:, None] * key_dim,
            (places[None, :] < keys) & (dims[:, None] < width),
            EVEN,
        )
        logs = scored(
            tl.dot(asked, tile, input_precision="ieee"), rows[:, None], places[None, :], seen,
            mask, mask_row, mask_key, bias, bias_row, bias_key, queries, keys, scale, cap,
            CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, EVEN,
        ) - logarithm[:, None]  # fmt: skip
        part = tl.exp2(logs)
        output += tl.dot(part.to(fetch.dtype), fetch, input_precision="ieee")
        mass += tl.dot(part.to(classes.dtype), classes, input_precision="ieee")
        entropy -= tl.sum(part * logs, 1)
        if MOVED:
            length = tl.abs(signed)
            log_length = fast_log2(tl.maximum(length, 1e-30))
            moved_entropy -= tl.sum(part * length[None, :] * (logs + log_length[None, :]), 1)
        if WITHIN:
            counted = tl.where((signed > 0)[None, :], part, 0.0)
            if not FULL:
                counted = tl.where(is_real[:, None], counted, 0.0)
            at = start // BLOCK * SIZE
            tl.store(diagonals + at, _along_diagonals(counted, on_diagonals, on_lines, ACROSS))
            if MOVED:
                moved = counted * signed[None, :] * share[:, None]
                tl.store(moved_diagonals + at, _along_diagonals(moved, on_diagonals, on_lines, ACROSS))

    shown = output.to(out.dtype.element_ty)
    tl.store(
        out + ((wide * queries + rows)[:, None] * heads + head) * value_width + value_dims[None, :],
        shown,
        mask=(rows[:, None] < queries) & (value_dims[None, :] < value_width),
    )
    if MOVED:
        mass = mass * tl.where(columns[None, :] < CLASSES, 1.0, share[:, None])
        # Of m = p f / z it is log z less the sum of p f (log p + log f), over z.
        nats = (moved_entropy / moving + tl.log2(moving)) * LOG_2
        moved_entropy = tl.where(moving > 0, tl.maximum(nats, 0.0), 0.0)
    if not FULL:  # padding may hold nan
        mass = tl.where(is_real[:, None], mass, 0.0)
        entropy = tl.where(is_real, entropy, 0.0)
        moved_entropy = tl.where(is_real, moved_entropy, 0.0)
    kinds = tl.arange(0, 16)
    counts = tl.load(
        member + (wide * GROUPS + kinds[:, None]) * queries + rows[None, :],
        mask=(kinds[:, None] < GROUPS) & (rows[None, :] < queries),
        other=0.0,
    )
    tl.store(
        masses + (part_of * GROUPS + kinds[:, None]) * COLUMNS + columns[None, :],
        tl.dot(counts, mass, input_precision="ieee"),
        mask=kinds[:, None] < GROUPS,
    )
    entropies += part_of * ways * GROUPS + kinds
    tl.store(entropies, tl.sum(counts * entropy[None, :], 1) * LOG_2, mask=kinds < GROUPS)
    if MOVED:
        tl.store(entropies + GROUPS, tl.sum(counts * moved_entropy[None, :], 1), mask=kinds < GROUPS)
    if GIVEN:
        if not FULL:
            shown = tl.where(is_real[:, None], shown, 0.0).to(shown.dtype)
        squares = tl.zeros([BLOCK], tl.float32)
        for start in range(0, rank, RANK):
            ranks = start + tl.arange(0, RANK)
            inside = (value_dims[:, None] < value_width) & (ranks[None, :] < rank)
            at = (head * value_width + value_dims[:, None]) * rank + ranks[None, :]
            after = tl.dot(shown, tl.load(coarse + at, mask=inside, other=0.0), input_precision="ieee")
            if HALF:
                after += tl.dot(shown, tl.load(fine + at, mask=inside, other=0.0))
            squares += tl.sum(after * after, 1)
            tl.store(vectors + part_of * rank + ranks, tl.sum(after, 0), mask=ranks < rank)
        size = tl.sqrt(squares)
        given += part_of * 4
        tl.store(given, tl.sum(size, 0))
        tl.store(given + 1, tl.sum(squares, 0))
        if HAS_RESIDUAL:
            stream = tl.load(residual + wide * queries + rows, mask=rows < queries, other=0.0)
            tl.store(given + 2, tl.sum(tl.where(stream > 0, size / tl.maximum(stream, 1e-30), 0.0), 0))


@triton.jit
def folded(
    diagonals, sums, heads, lines, first, queries, keys, blocks, tiles,
    BLOCK: tl.constexpr, LINES: tl.constexpr, CHUNK: tl.constexpr, CAUSAL: tl.constexpr, WAYS: tl.constexpr,
):  # fmt: skip
    """(text, head, way; offset + queries) the diagonals of all tiles, added up in one order."""
    SIZE: tl.constexpr = LINES * 2 * SIDE
    ACROSS: tl.constexpr = BLOCK // SIDE
    line = tl.program_id(1).to(tl.int64)
    width = queries + keys + 1
    places = tl.program_id(0) * CHUNK + tl.arange(0, CHUNK)
    total = tl.zeros([CHUNK], tl.float32)
    diagonals += line * blocks * tiles * SIZE
    for block in range(0, blocks):
        reached = tiles
        if CAUSAL:
            reached = tl.minimum(tiles, ((block + 1) * BLOCK + keys - queries + BLOCK - 1) // BLOCK)
        # How far the offset lies from the first diagonal of the block's first tile.
        ahead = places - queries + block * BLOCK + BLOCK - 1
        for late in tl.static_range(2):  # a diagonal of a square is the one 8 places on of the square before
            diagonal = ahead % SIDE + SIDE * late
            square = ahead // SIDE - late
            for later in tl.static_range(2):  # and a line of squares likewise that of the tile before
                tile = square // ACROSS - later
                across = square % ACROSS + ACROSS * later
                holds = (ahead >= 0) & (square >= 0) & (tile >= 0) & (tile < reached)
                holds &= (diagonal < 2 * SIDE - 1) & (across < 2 * ACROSS - 1) & (places < width)
                at = diagonals + (block * tiles + tile) * SIZE + across * (2 * SIDE) + diagonal
                total += tl.load(at, mask=holds, other=0.0)
    own = line // (heads * WAYS) * (lines * WAYS) + first * WAYS + line % (heads * WAYS)
    tl.store(sums + own * width + places, total, mask=places < width)


@triton.jit
def fetch_lengths(
    value, ordinary, seen, classes, coarse, fine, fetched, peaks, lengths, table,
    value_text, value_group, value_key, value_dim, heads, groups, keys, width, rank, lines, first,
    BLOCK: tl.constexpr, DIM: tl.constexpr, RANK: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """How long what a head fetches at each key of a text is, and what `attend` needs of it.

    `fetched` stands in the rows of a stack's heads. `lengths` are shares of the largest, less than 0 for keys that are
    not ordinary; so are those in the `table`.
    """
    head, text = tl.program_id(0), tl.program_id(1)
    dims, columns = tl.arange(0, DIM), tl.arange(0, COLUMNS)
    wide = text.to(tl.int64)
    line = wide * heads + head
    value += wide * value_text + (head // (heads // groups)) * value_group
    fetched += (wide * lines + first + head) * keys
    peak = tl.zeros([], tl.float32)
    for start in range(0, keys, BLOCK):
        places = start + tl.arange(0, BLOCK)
        vectors = tl.load(
            value + places[:, None] * value_key + dims[None, :] * value_dim,
            mask=(places[:, None] < keys) & (dims[None, :] < width),
            other=0.0,
        )
        squares = tl.zeros([BLOCK], tl.float32)
        for step in range(0, rank, RANK):
            ranks = step + tl.arange(0, RANK)
            inside = (dims[:, None] < width) & (ranks[None, :] < rank)
            at = (head * width + dims[:, None]) * rank + ranks[None, :]
            after = tl.dot(vectors, tl.load(coarse + at, mask=inside, other=0.0), input_precision="ieee")
            if HALF:
                after += tl.dot(vectors, tl.load(fine + at, mask=inside, other=0.0))
            squares += tl.sum(after * after, 1)
        visible = tl.load(seen + wide * keys + places, mask=places < keys, other=0)
        length = tl.where(visible != 0, tl.sqrt(squares), 0.0)  # padding may hold nan
        tl.store(fetched + places, length, mask=places < keys)
        peak = tl.maximum(peak, tl.max(length, 0))
    tl.store(peaks + line, peak)
    scale = tl.where(peak > 0, 1.0 / peak, 0.0)
    tl.debug_barrier()  # what was stored above is loaded below
    for start in range(0, keys, BLOCK):
        places = start + tl.arange(0, BLOCK)
        length = tl.load(fetched + places, mask=places < keys, other=0.0) * scale
        flags = tl.load(ordinary + wide * keys + places, mask=places < keys, other=0)
        tl.store(lengths + line * keys + places, tl.where(flags != 0, length, -length), mask=places < keys)
        flags = tl.load(
            classes + (wide * keys + places)[:, None] * COLUMNS + columns[None, :],
            mask=places[:, None] < keys,
            other=0.0,
        )
        weighed = flags.to(tl.float32) * tl.where(columns[None, :] < CLASSES, 1.0, length[:, None])
        tl.store(
            table + (line * keys + places)[:, None] * COLUMNS + columns[None, :],
            weighed.to(table.dtype.element_ty),
            mask=places[:, None] < keys,
        )
