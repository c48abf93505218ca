"""What measures ask of a layer's weights, in Triton: each tile is formed once, from the log-sum-exp, and summed up.

As far as it goes on the matrix units:

- **mass by class of key**: a product with the table of classes, in float16 where the model has half precision: its 11
  bits hold a weight to 5e-4, and the table is exact;
- **entropy**: minus the sum of p log p, where log p is the score less the log-sum-exp;
- **diagonals**: a tile is cut into squares of 8 queries by 8 keys. One product with a fixed table sums each of them
  along its 15 diagonals, a second adds up the squares that lie on a line. Queries are loaded in an order in which the
  thread that is given a weight by one product is the one that hands it to the next;
- **named patterns**: each tile has a list of the pairs of query and key that they point at (`chosen.listed`).

By what heads move it is the same: m = p f / z is a softmax too, of scores to which the logarithm of what is fetched is
added; a first pass over the keys finds z.

Sums over queries are formed of each block, and blocks are added up later, of all layers at once.
"""

import os

import triton
import triton.language as tl

from headscope.capture.kernels.fused import NEVER, scored, tile_of

CLASSES = tl.constexpr(8)
"""Width of the table of classes."""
GROUPS = tl.constexpr(8)
"""Groups of queries that means are over; the last is empty."""
PATTERNS = tl.constexpr(8)
"""Room for so many named patterns."""
SIDE = tl.constexpr(8)
"""Side of the squares that a tile is cut into, and how many of them a warp of the matrix units has below each other."""
DIAGONALS = tl.constexpr(16)
"""Room for the diagonals of a square, of which there are 15."""
LOG_2 = tl.constexpr(0.6931471805599453)
COMPILED = tl.constexpr(os.environ.get("TRITON_INTERPRET") != "1")
"""Triton's interpreter knows no instructions of the hardware."""


@triton.jit
def row_of(slot, WARPS: tl.constexpr):
    """Which query of a block stands in a slot: slots are (pair of rows, warp, row, square), queries (warp, square, row)."""
    square, odd = slot % SIDE, slot // SIDE % 2
    warp, pair = slot // (2 * SIDE) % WARPS, slot // (2 * SIDE * WARPS)
    return (warp * SIDE + square) * SIDE + pair * 2 + odd


@triton.jit
def _kept(weights, kept, ROWS: tl.constexpr, KEYS: tl.constexpr, HALF: tl.constexpr):
    """The weights of some keys, 0 elsewhere; `kept` (key,) has all bits set for these."""
    whole = tl.broadcast_to(kept[None, :], [ROWS, KEYS])
    if HALF and COMPILED:  # two at a time: the compiler takes them apart
        weights = tl.inline_asm_elementwise(
            "and.b32 $0, $1, $2;", "=r,r,r", [weights, whole], dtype=weights.dtype, is_pure=True, pack=2
        )
    else:
        weights = tl.where(whole != 0, weights, 0.0)
    return weights


@triton.jit
def _on_diagonals(dtype: tl.constexpr):
    """(place in a square, diagonal) 1 where the place lies on the diagonal."""
    place, diagonal = tl.arange(0, SIDE * SIDE), tl.arange(0, DIAGONALS)
    return ((place % SIDE - place // SIDE + SIDE - 1)[:, None] == diagonal[None, :]).to(dtype)


@triton.jit
def _on_lines(dtype: tl.constexpr, LINES: tl.constexpr, WARPS: tl.constexpr, KEYS: tl.constexpr):
    """(line, square) 1 where a square of the tile lies on the line of squares."""
    number = tl.arange(0, WARPS * KEYS)
    down = number // (2 * SIDE) % WARPS * SIDE + number % SIDE
    across = number // (2 * SIDE * WARPS) * 2 + number // SIDE % 2
    line = across - down + WARPS * SIDE - 1
    return (line[None, :] == tl.arange(0, LINES)[:, None]).to(dtype)


@triton.jit
def _along_diagonals(weights, diagonals, lines, WARPS: tl.constexpr, KEYS: tl.constexpr):
    """(line, diagonal) sums of a tile of weights (slot, key) along its diagonals."""
    split = tl.reshape(weights, [SIDE // 2, WARPS, 2, SIDE, KEYS // (2 * SIDE), 2, SIDE])
    cut = tl.reshape(tl.permute(split, (4, 1, 5, 3, 0, 2, 6)), [WARPS * KEYS, SIDE * SIDE])
    each = tl.dot(cut, diagonals, input_precision="ieee")
    return tl.dot(lines, each.to(lines.dtype), input_precision="ieee")


@triton.jit
def _at_pairs(
    weights,
    entries,
    listed,
    WARPS: tl.constexpr,
    KEYS: tl.constexpr,
    CHUNK: tl.constexpr,
    LANES: tl.constexpr,
):
    """(pattern, lane) sums of a tile's weights at the first CHUNK of its `listed` entries."""
    split = tl.reshape(weights, [SIDE // 2, WARPS, 2, SIDE, KEYS // SIDE, SIDE])
    flat = tl.reshape(tl.permute(split, (0, 1, 2, 4, 3, 5)), [SIDE * SIDE * WARPS * KEYS])
    numbers = tl.arange(0, CHUNK)
    entry = tl.load(entries + numbers, mask=numbers < listed, other=0)
    weight = tl.gather(flat, entry & 0xFFFF, 0)
    points = ((entry >> 16)[None, :] >> tl.arange(0, PATTERNS)[:, None]) & 1
    chosen = tl.where(points != 0, weight[None, :], 0.0)
    return tl.sum(tl.reshape(chosen, [PATTERNS, CHUNK // LANES, LANES]), 1)


@triton.jit
def _log_weights(
    asked, rows, places, key, key_step, key_dim, seen, mask, mask_row, mask_key, bias, bias_row, bias_key,
    logarithm, most, lengths, queries, keys, width, scale, cap,
    DIM: tl.constexpr, CAUSAL: tl.constexpr, HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr,
    HAS_CAP: tl.constexpr, MOVED: tl.constexpr, WHOLE: tl.constexpr, EVEN: tl.constexpr, FULL: tl.constexpr,
):  # fmt: skip
    """(slot, key) logarithms of the weights of a tile, or with MOVED of the shares of what is moved; at `most` so much."""
    dims = tl.arange(0, DIM)
    inside = places if EVEN else tl.minimum(places, keys - 1)  # what stands past the end is never seen
    tile = tile_of(key + inside[None, :] * key_step + dims[:, None] * key_dim, dims[:, None] < width, WHOLE)
    logs = scored(
        tl.dot(asked, tile, input_precision="ieee"), rows[:, None], places[None, :], seen,
        mask, mask_row, mask_key, bias, bias_row, bias_key, queries, keys, scale, cap,
        CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP,
    ) - logarithm[:, None]  # fmt: skip
    if MOVED:
        length = tl.load(lengths + inside)
        logs = tl.maximum(logs + tl.where(length > 0, tl.log2(length), NEVER)[None, :], NEVER)
    if not FULL:
        logs = tl.minimum(logs, most[:, None])
    return logs


@triton.jit
def _moving(
    asked, rows, key, key_step, key_dim, seen, mask, mask_row, mask_key, bias, bias_row, bias_key,
    logarithm, most, lengths, queries, keys, last, width, scale, cap,
    ROWS: tl.constexpr, KEYS: tl.constexpr, DIM: tl.constexpr, CAUSAL: tl.constexpr, HAS_SEEN: tl.constexpr,
    HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_CAP: tl.constexpr, WHOLE: tl.constexpr, EVEN: tl.constexpr,
    FULL: tl.constexpr,
):  # fmt: skip
    """(slot,) the log-sum-exp of the scores to which the logarithm of what is fetched is added."""
    moving = tl.zeros([ROWS, SIDE], tl.float32)
    for start in range(0, last, KEYS):
        logs = _log_weights(
            asked, rows, start + tl.arange(0, KEYS), key, key_step, key_dim, seen,
            mask, mask_row, mask_key, bias, bias_row, bias_key,
            logarithm, most, lengths, queries, keys, width, scale, cap,
            DIM, CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, True, WHOLE, EVEN, FULL,
        )  # fmt: skip
        moving += tl.sum(tl.reshape(tl.exp2(logs), [ROWS, KEYS // SIDE, SIDE]), 1)
    total = tl.sum(moving, 1)
    return tl.where(total > 0, logarithm + tl.log2(total), -NEVER)


@triton.jit
def summed(
    query, key, seen, mask, bias, normaliser, lengths, ordinary, special, classes, asking, member, entries, counts,
    masses, entropies, diagonals, near, pairs,
    query_text, query_head, query_row, query_dim, key_text, key_group, key_step, key_dim,
    mask_text, mask_head, mask_row, mask_key, bias_text, bias_head, bias_row, bias_key,
    heads, groups, queries, keys, width, tiles, lines, first, scale, cap,
    WARPS: tl.constexpr, KEYS: tl.constexpr, DIM: tl.constexpr, CHUNK: tl.constexpr, LANES: tl.constexpr,
    LINES: tl.constexpr, FAR: tl.constexpr, NEAR: tl.constexpr, CAUSAL: tl.constexpr, HAS_SEEN: tl.constexpr,
    HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_CAP: tl.constexpr, WITHIN: tl.constexpr, MOVED: tl.constexpr,
    HALF: tl.constexpr, WHOLE: tl.constexpr, EVEN: tl.constexpr, FULL: tl.constexpr,
):  # fmt: skip
    """One block of one head's queries on one text: its part of every sum. Long, since its registers are live throughout.

    `normaliser` (text, head, query) are log-sum-exps; with MOVED `lengths` (text, head, key) are of what is fetched.
    `ordinary` and `special` (text, key) have all bits set for keys that count by distance, and for others; `asking`
    (text, query) is the most that the logarithm of a query's weight may be, NEVER for padding; `member` (text, 8,
    query) is what a query counts in each group. WITHIN one text there are diagonals, of `special` keys for the NEAR
    tiles that come within FAR of the middle one, and pairs, but for tiles with more than CHUNK of them, which are left
    to `crowded`. Sums stand in the rows of a stack's `lines` heads, this layer's from `first` on.
    """
    ROWS: tl.constexpr = SIDE * SIDE * WARPS
    precision: tl.constexpr = tl.float16 if HALF else tl.float32
    block, head, text = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    group = head // (heads // groups)
    slots, dims, kinds = tl.arange(0, ROWS), tl.arange(0, DIM), tl.arange(0, CLASSES)
    rows = block * ROWS + row_of(slots, WARPS)
    wide = text.to(tl.int64)
    line = wide * heads + head
    own = wide * lines + first + head
    within = tl.minimum(rows, queries - 1)
    asked = tile_of(
        query
        + wide * query_text
        + head * query_head
        + within[:, None] * query_row
        + dims[None, :] * query_dim,
        dims[None, :] < width,
        WHOLE,
    )
    logarithm = tl.load(normaliser + line * queries + within)
    most = logarithm
    if not FULL:  # the smaller of a nan and a number is the number, and padding may hold nan
        most = tl.load(asking + wide * queries + rows, mask=rows < queries, other=NEVER)
    key += wide * key_text + group * key_group
    mask += wide * mask_text + head * mask_head
    bias += wide * bias_text + head * bias_head
    seen += wide * keys
    lengths += own * keys
    last = keys
    if CAUSAL:
        last = tl.minimum(keys, (block + 1) * ROWS + keys - queries)

    if MOVED:
        logarithm = _moving(
            asked, rows, key, key_step, key_dim, seen, mask, mask_row, mask_key, bias, bias_row, bias_key,
            logarithm, most, lengths, queries, keys, last, width, scale, cap,
            ROWS, KEYS, DIM, CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, WHOLE, EVEN, FULL,
        )  # fmt: skip

    on_diagonals = _on_diagonals(precision)
    on_lines = _on_lines(precision, LINES, WARPS, KEYS)
    USED: tl.constexpr = WARPS * SIDE + KEYS // SIDE - 1
    SIZE: tl.constexpr = USED * DIAGONALS
    numbered = tl.arange(0, LINES)[:, None]
    in_tile = numbered * DIAGONALS + tl.arange(0, DIAGONALS)[None, :]
    block_of = line * tl.num_programs(0) + block
    diagonals += block_of * tiles * SIZE + in_tile
    first_near = tl.maximum(0, block * ROWS - FAR) // KEYS
    near += block_of * NEAR * SIZE + in_tile
    ordinary += wide * keys
    special += wide * keys
    classes += wide * keys * CLASSES
    entries += (wide * tl.num_programs(0) + block) * tiles * CHUNK
    counts += (wide * tl.num_programs(0) + block) * tiles
    mass = tl.zeros([ROWS, CLASSES], tl.float32)
    entropy = tl.zeros([ROWS, SIDE], tl.float32)
    by_pattern = tl.zeros([PATTERNS, LANES], tl.float32)
    for start in range(0, last, KEYS):
        places = start + tl.arange(0, KEYS)
        inside = places if EVEN else tl.minimum(places, keys - 1)
        table = tl.load(classes + inside[:, None] * CLASSES + kinds[None, :])
        logs = _log_weights(
            asked, rows, places, key, key_step, key_dim, seen, mask, mask_row, mask_key, bias, bias_row, bias_key,
            logarithm, most, lengths, queries, keys, width, scale, cap,
            DIM, CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, MOVED, WHOLE, EVEN, FULL,
        )  # fmt: skip
        part = tl.exp2(logs)
        entropy -= tl.sum(tl.reshape(part * logs, [ROWS, KEYS // SIDE, SIDE]), 1)
        weights = part.to(precision)
        mass += tl.dot(weights, table, input_precision="ieee")
        if WITHIN:
            number = start // KEYS
            kept = _kept(weights, tl.load(ordinary + inside), ROWS, KEYS, HALF)
            tl.store(
                diagonals + number * SIZE,
                _along_diagonals(kept, on_diagonals, on_lines, WARPS, KEYS),
                mask=numbered < USED,
            )
            if (number >= first_near) & (start < (block + 1) * ROWS + FAR):
                kept = _kept(weights, tl.load(special + inside), ROWS, KEYS, HALF)
                tl.store(
                    near + (number - first_near) * SIZE,
                    _along_diagonals(kept, on_diagonals, on_lines, WARPS, KEYS),
                    mask=numbered < USED,
                )
            listed = tl.load(counts + number)
            listed = tl.where(listed <= CHUNK, listed, 0)
            by_pattern += _at_pairs(part, entries + number * CHUNK, listed, WARPS, KEYS, CHUNK, LANES)

    part_of = own * tl.num_programs(0) + block
    # Entropy stands beside each class, so that one product sums up both.
    both = tl.join(mass, tl.broadcast_to(tl.sum(entropy, 1)[:, None], [ROWS, CLASSES]))
    of_groups, columns = tl.arange(0, 2 * GROUPS), tl.arange(0, 2 * CLASSES)
    counted = tl.load(
        member + (wide * GROUPS + of_groups[:, None]) * queries + rows[None, :],
        mask=(of_groups[:, None] < GROUPS) & (rows[None, :] < queries),
        other=0.0,
    )
    sums = tl.dot(
        counted, tl.reshape(both, [ROWS, 2 * CLASSES]), input_precision="tf32x3" if HALF else "ieee"
    )
    tl.store(
        masses + (part_of * GROUPS + of_groups[:, None]) * CLASSES + columns[None, :] // 2,
        sums,
        mask=(of_groups[:, None] < GROUPS) & (columns[None, :] % 2 == 0),
    )
    tl.store(
        entropies + part_of * GROUPS + of_groups[:, None] + columns[None, :] * 0,
        sums * LOG_2,
        mask=(of_groups[:, None] < GROUPS) & (columns[None, :] == 1),
    )
    if WITHIN:
        tl.store(pairs + part_of * PATTERNS + tl.arange(0, PATTERNS), tl.sum(by_pattern, 1))


@triton.jit
def crowded(
    query, key, seen, mask, bias, normaliser, lengths, asking, codes, counts, pairs,
    query_text, query_head, query_row, query_dim, key_text, key_group, key_step, key_dim,
    mask_text, mask_head, mask_row, mask_key, bias_text, bias_head, bias_row, bias_key,
    heads, groups, queries, keys, width, tiles, lines, first, scale, cap,
    WARPS: tl.constexpr, KEYS: tl.constexpr, DIM: tl.constexpr, CHUNK: tl.constexpr, CAUSAL: tl.constexpr,
    HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_CAP: tl.constexpr,
    MOVED: tl.constexpr, WHOLE: tl.constexpr, EVEN: tl.constexpr, FULL: tl.constexpr,
):  # fmt: skip
    """What `summed` leaves out of `pairs`: tiles with more than CHUNK of them, of texts that repeat themselves.

    `codes` (text, query, key) has a bit for each pattern. Most programs find no such tile and are done.
    """
    ROWS: tl.constexpr = SIDE * SIDE * WARPS
    block, head, text = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    wide = text.to(tl.int64)
    counts += (wide * tl.num_programs(0) + block) * tiles
    most_listed = 0
    for number in range(0, tiles):
        most_listed = tl.maximum(most_listed, tl.load(counts + number))
    if most_listed > CHUNK:
        dims, slots = tl.arange(0, DIM), tl.arange(0, ROWS)
        rows = block * ROWS + row_of(slots, WARPS)
        within = tl.minimum(rows, queries - 1)
        line = wide * heads + head
        asked = tile_of(
            query
            + wide * query_text
            + head * query_head
            + within[:, None] * query_row
            + dims[None, :] * query_dim,
            dims[None, :] < width,
            WHOLE,
        )
        logarithm = tl.load(normaliser + line * queries + within)
        most = tl.load(asking + wide * queries + rows, mask=rows < queries, other=NEVER)
        key += wide * key_text + head // (heads // groups) * key_group
        mask += wide * mask_text + head * mask_head
        bias += wide * bias_text + head * bias_head
        seen += wide * keys
        lengths += (wide * lines + first + head) * keys
        last = keys
        if CAUSAL:
            last = tl.minimum(keys, (block + 1) * ROWS + keys - queries)
        if MOVED:
            logarithm = _moving(
                asked, rows, key, key_step, key_dim, seen, mask, mask_row, mask_key, bias, bias_row, bias_key,
                logarithm, most, lengths, queries, keys, last, width, scale, cap,
                ROWS, KEYS, DIM, CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, WHOLE, EVEN, FULL,
            )  # fmt: skip
        every = tl.arange(0, PATTERNS)
        by_pattern = tl.zeros([PATTERNS], tl.float32)
        for start in range(0, last, KEYS):
            if tl.load(counts + start // KEYS) > CHUNK:
                places = start + tl.arange(0, KEYS)
                part = tl.exp2(_log_weights(
                    asked, rows, places, key, key_step, key_dim, seen,
                    mask, mask_row, mask_key, bias, bias_row, bias_key,
                    logarithm, most, lengths, queries, keys, width, scale, cap,
                    DIM, CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, MOVED, WHOLE, EVEN, FULL,
                ))  # fmt: skip
                at = codes + (wide * queries + within)[:, None] * keys + tl.minimum(places, keys - 1)[None, :]
                code = tl.load(at).to(tl.int32)
                for pattern in tl.static_range(PATTERNS):
                    pointed = tl.sum(tl.sum(tl.where((code >> pattern) & 1 != 0, part, 0.0), 1), 0)
                    by_pattern += tl.where(every == pattern, pointed, 0.0)
        at = pairs + ((wide * lines + first + head) * tl.num_programs(0) + block) * PATTERNS + every
        tl.store(at, tl.load(at) + by_pattern)
