"""What measures ask of a layer's weights, in Triton: each tile is formed once, from the log-sum-exp, and summed up.

As far as it goes on the matrix units:

- **mass by class of key**: a product with the table of classes, in float16 where the model has half precision: its 11
  bits hold a weight to 5e-4, and the table is exact;
- **entropy**: minus the sum of p log p, where log p is the score less the log-sum-exp;
- **diagonals**: a tile is cut into rectangles of 4 queries by 8 keys. One product with a fixed table sums each of them
  along its 11 diagonals, a second adds up a warp's rectangles that lie on a line. Queries are loaded in an order in
  which the thread that is given a weight by one product is the one that hands it to the next, so that no number moves.
  A sweep of 32 keys on, a warp meets the same lines 8 places earlier: half of them are done and are written, the other
  half goes on;
- **named patterns**: each tile has a list of the pairs of query and key that they point at (`chosen.listed`).

By what heads move it is the same: m = p f / z is a softmax too, of scores to which the logarithm of what is fetched is
added; z is found while p is summed up.

Sums over queries are formed of each block, and blocks are added up later, of all layers at once.
"""

import os

import triton
import triton.language as tl

from headscope.kernels.triton.fused import LOG2_E, NEVER, group_of, scored, tile_of

CLASSES = tl.constexpr(8)
"""Width of the table of classes."""
GROUPS = tl.constexpr(8)
"""Groups of queries that sums are over; the last is empty."""
PATTERNS = tl.constexpr(8)
"""Room for so many named patterns, of which there are six."""
TALL = tl.constexpr(4)
"""Queries of the rectangles that a tile is cut into: so many rows of a tile does a thread of the matrix units hold."""
SIDE = tl.constexpr(8)
"""Keys of a rectangle, and how many rectangles a warp of the matrix units has below each other."""
SWEEP = tl.constexpr(32)
"""Queries of a warp, and keys whose sums along diagonals are formed together."""
DIAGONALS = tl.constexpr(16)
"""Room for the diagonals of a rectangle, of which there are 11."""
LOG_2 = tl.constexpr(0.6931471805599453)
COMPILED = tl.constexpr(os.environ.get("TRITON_INTERPRET") != "1")
"""Triton's interpreter knows no instructions of the hardware."""


@triton.jit
def row_of(slot, WARPS: tl.constexpr):
    """Which query of a block stands in a slot: slots are (pair, warp, odd, rectangle), queries (warp, rectangle, pair, odd)."""
    rectangle, odd = slot % SIDE, slot // SIDE % 2
    warp, pair = slot // (2 * SIDE) % WARPS, slot // (2 * SIDE * WARPS)
    return (warp * SIDE + rectangle) * TALL + pair * 2 + odd


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
    """(diagonal, place in a rectangle) 1 where the place lies on the diagonal."""
    place, diagonal = tl.arange(0, TALL * SIDE), tl.arange(0, DIAGONALS)
    return ((place % SIDE - place // SIDE + TALL - 1)[None, :] == diagonal[:, None]).to(dtype)


@triton.jit
def _on_lines(dtype: tl.constexpr, WARPS: tl.constexpr):
    """(warp, rectangle, line) 1 where a rectangle lies on the line; that to its right lies two lines on."""
    number = tl.arange(0, SWEEP)
    line = number // SIDE * (SIDE // TALL) - number % SIDE + SIDE - 1
    lies = line[:, None] == tl.arange(0, 2 * SIDE)[None, :]
    return tl.broadcast_to(lies.to(dtype)[None], [WARPS, SWEEP, 2 * SIDE])


@triton.jit
def _put(at, sums, wanted):
    """Write where it is `wanted`; compiled, without the way through shared memory by which Triton makes stores wide."""
    if COMPILED and sums.dtype == tl.float16:
        tl.inline_asm_elementwise(
            "{.reg .pred p; setp.ne.s32 p, $4, 0; @p st.global.b32 [$1], $3; mov.b32 $0, 0;}",
            "=r,l,l,r,r,r", [at.to(tl.int64), sums, wanted], dtype=tl.int16, is_pure=False, pack=2,
        )  # fmt: skip
    else:
        tl.store(at, sums, mask=wanted != 0)


@triton.jit
def _written(sums, into, sweep, until, WARPS: tl.constexpr):
    """Write the first half of lines (warp, diagonal, line), which is done, and hand on the second where the first stood.

    It goes to the place of that `sweep` (a number, or one of each warp), unless that is before the first or not before
    `until`.
    """
    of_warp, of_diagonal = tl.arange(0, WARPS)[:, None, None], tl.arange(0, DIAGONALS)[None, :, None]
    at = ((sweep * WARPS + of_warp) * DIAGONALS + of_diagonal) * SIDE + tl.arange(0, SIDE)[None, None, :]
    wanted = (of_diagonal < TALL + SIDE - 1) & (sweep >= 0) & (sweep < until)
    done, rest = tl.split(tl.permute(tl.reshape(sums, [WARPS, DIAGONALS, 2, SIDE]), (0, 1, 3, 2)))
    wanted = tl.broadcast_to(wanted, [WARPS, DIAGONALS, SIDE])
    _put(into + at, done.to(into.dtype.element_ty), wanted.to(tl.int32))
    after = tl.permute(tl.join(rest, tl.zeros_like(rest)), (0, 1, 3, 2))
    return tl.reshape(after, [WARPS, DIAGONALS, 2 * SIDE])


@triton.jit
def _swept(weights, sums, into, sweep, until, on_diagonals, on_lines, WARPS: tl.constexpr):
    """(warp, diagonal, line) sums along diagonals of a sweep's weights (slot, key), added to those that went before."""
    split = tl.reshape(weights, [TALL // 2, WARPS, 2, SIDE, SWEEP // SIDE, SIDE])
    cut = tl.reshape(tl.permute(split, (0, 2, 5, 4, 1, 3)), [TALL * SIDE, WARPS * SWEEP])
    each = tl.dot(on_diagonals, cut, input_precision="ieee", out_dtype=weights.dtype)
    by_warp = tl.permute(tl.reshape(each, [DIAGONALS, SWEEP // SIDE, WARPS, SIDE]), (2, 0, 1, 3))
    by_warp = tl.reshape(by_warp, [WARPS, DIAGONALS, SWEEP])
    sums = tl.dot(by_warp, on_lines, sums, input_precision="ieee")
    return _written(sums, into, sweep, until, WARPS)


@triton.jit
def _along(
    weights, sums, into, sweep, until, on_diagonals, on_lines, WARPS: tl.constexpr, KEYS: tl.constexpr
):
    """The same of a tile of one sweep or two, of which `sweep` is the first."""
    if KEYS == SWEEP:
        sums = _swept(weights, sums, into, sweep, until, on_diagonals, on_lines, WARPS)
    else:
        halves = tl.reshape(weights, [TALL * SIDE * WARPS, 2, SWEEP])
        left, right = tl.split(tl.permute(halves, (0, 2, 1)))
        sums = _swept(left, sums, into, sweep, until, on_diagonals, on_lines, WARPS)
        sums = _swept(right, sums, into, sweep + 1, until, on_diagonals, on_lines, WARPS)
    return sums


@triton.jit
def _at_pairs(
    weights, entries, sums, WARPS: tl.constexpr, KEYS: tl.constexpr, CHUNK: tl.constexpr, LANES: tl.constexpr
):
    """(lane,) by pattern, the sums of a tile's weights at its entries, added to those before.

    The tile is laid flat in the order in which threads hold it, which `chosen.listed` knows.
    """
    split = tl.reshape(weights, [TALL // 2, WARPS, 2, SIDE, KEYS // (2 * SIDE), 2, SIDE // 2, 2])
    flat = tl.reshape(tl.permute(split, (0, 1, 4, 3, 6, 5, 2, 7)), [SWEEP * WARPS * KEYS])
    entry = tl.load(entries + tl.arange(0, CHUNK))
    weight = tl.gather(flat, entry & 0xFFFF, 0).to(tl.float32)
    return (
        sums[0] + _pointed_at(weight, entry, 0, CHUNK, LANES),
        sums[1] + _pointed_at(weight, entry, 1, CHUNK, LANES),
        sums[2] + _pointed_at(weight, entry, 2, CHUNK, LANES),
        sums[3] + _pointed_at(weight, entry, 3, CHUNK, LANES),
        sums[4] + _pointed_at(weight, entry, 4, CHUNK, LANES),
        sums[5] + _pointed_at(weight, entry, 5, CHUNK, LANES),
    )


@triton.jit
def _pointed_at(weight, entry, pattern: tl.constexpr, CHUNK: tl.constexpr, LANES: tl.constexpr):
    """(lane,) sums of the weights that a pattern points at."""
    points = (entry >> (16 + pattern)) & 1
    return tl.sum(tl.reshape(tl.where(points != 0, weight, 0.0), [LANES, CHUNK // LANES]), 1)


@triton.jit
def _side_by_side(sums, LANES: tl.constexpr):
    """(pattern,) sums over lanes, all in one go."""
    nothing = tl.zeros_like(sums[0])
    fours = tl.join(tl.join(sums[0], sums[1]), tl.join(sums[2], sums[3]))
    others = tl.join(tl.join(sums[4], sums[5]), tl.join(nothing, nothing))
    return tl.sum(tl.reshape(tl.permute(tl.join(fours, others), (0, 3, 2, 1)), [LANES, PATTERNS]), 0)


@triton.jit
def _log_weights(
    asked, rows, places, key, key_step, key_dim, seen, mask, mask_row, mask_key, bias, bias_row, bias_key,
    logarithm, most, logs_fetched, queries, keys, width, scale, cap,
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
        logs = tl.maximum(logs + tl.load(logs_fetched + inside)[None, :], NEVER)
    if not FULL:
        logs = tl.minimum(logs, most[:, None])
    return logs


@triton.jit(do_not_specialize=["first"])
def summed(
    query, key, seen, mask, bias, normaliser, logs_fetched, ordinary, classes, asking, members, shares, entries,
    masses, entropies, diagonals, near, pairs, moving,
    query_text, query_head, query_row, query_dim, key_text, key_group, key_step, key_dim,
    mask_text, mask_head, mask_row, mask_key, bias_text, bias_head, bias_row, bias_key,
    heads, groups, queries, keys, width, tiles, lines, first, scale, cap,
    WARPS: tl.constexpr, KEYS: tl.constexpr, DIM: tl.constexpr, CHUNK: tl.constexpr, LANES: tl.constexpr,
    CAUSAL: tl.constexpr, HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr,
    HAS_CAP: tl.constexpr, GROUPED: tl.constexpr, WITHIN: tl.constexpr, FINDS: tl.constexpr, MOVED: tl.constexpr,
    HALF: tl.constexpr, WHOLE: tl.constexpr, EVEN: tl.constexpr, FULL: tl.constexpr,
):  # fmt: skip
    """One block of one head's queries on one text: its part of every sum. Long, since its registers are live throughout.

    `normaliser` (text, head, query) are log-sum-exps. With MOVED they are those of what is moved, and `logs_fetched`
    (text, head, key) the logarithms of the lengths of what is fetched; looked at first, attention FINDS them, and leaves
    them in `moving`.
    `ordinary` (text, key) has all bits set for keys that count by distance; `asking` (text, query) is the most that the
    logarithm of a query's weight may be, NEVER for padding; `members` (text, query) has a bit for each group that a
    query is in, and `shares` (text, group) are what it counts there. WITHIN one text there are diagonals, of `ordinary`
    keys, and of all keys `near` the middle one; and pairs, whose `entries` (text, block, tile, entry) are CHUNK for
    each tile. `diagonals` (text, head, block, sweep; warp, diagonal, line) has room for one sweep more than there are,
    `near` for the two sweeps from where a warp's queries begin. Sums stand in the rows of a stack's `lines` heads, this
    layer's from `first` on.
    """
    ROWS: tl.constexpr = SWEEP * WARPS
    SWEEPS: tl.constexpr = KEYS // SWEEP
    SIZE: tl.constexpr = WARPS * DIAGONALS * SIDE
    precision: tl.constexpr = tl.float16 if HALF else tl.float32
    block, head, text = tl.program_id(0), tl.program_id(1), tl.program_id(2)
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
    logarithm = tl.load(normaliser + line * queries + within) * LOG2_E
    most = logarithm
    if not FULL:  # the smaller of a nan and a number is the number, and padding may hold nan
        most = tl.load(asking + wide * queries + rows, mask=rows < queries, other=NEVER)
    key += wide * key_text + group_of(head, heads, groups, GROUPED) * key_group
    mask += wide * mask_text + head * mask_head
    bias += wide * bias_text + head * bias_head
    seen += wide * keys
    logs_fetched += line * keys
    last = keys
    if CAUSAL:
        last = tl.minimum(keys, (block + 1) * ROWS + keys - queries)

    on_diagonals, on_lines = _on_diagonals(precision), _on_lines(precision, WARPS)
    block_of = line * tl.num_programs(0) + block
    diagonals += block_of * (tiles * SWEEPS + 1) * SIZE
    near += block_of * 2 * SIZE
    ordinary += wide * keys
    classes += wide * keys * CLASSES
    entries += (wide * tl.num_programs(0) + block) * tiles * CHUNK
    mass = tl.zeros([ROWS, CLASSES], tl.float32)
    entropy = tl.zeros([ROWS, SIDE], tl.float32)
    moved = tl.zeros([ROWS, SIDE], tl.float32)
    far_sums = tl.zeros([WARPS, DIAGONALS, 2 * SIDE], tl.float32)
    near_sums = tl.zeros([WARPS, DIAGONALS, 2 * SIDE], tl.float32)
    none = tl.zeros([LANES], tl.float32)
    by_pattern = (none, none, none, none, none, none)
    for start in range(0, last, KEYS):
        places = start + tl.arange(0, KEYS)
        inside = places if EVEN else tl.minimum(places, keys - 1)
        table = tl.load(classes + inside[:, None] * CLASSES + kinds[None, :])
        logs = _log_weights(
            asked, rows, places, key, key_step, key_dim, seen, mask, mask_row, mask_key, bias, bias_row, bias_key,
            logarithm, most, logs_fetched, queries, keys, width, scale, cap,
            DIM, CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, MOVED, WHOLE, EVEN, FULL,
        )  # fmt: skip
        part = tl.exp2(logs)
        if FINDS:
            length = tl.exp2(tl.load(logs_fetched + inside))
            moved += tl.sum(tl.reshape(part * length[None, :], [ROWS, KEYS // SIDE, SIDE]), 1)
        entropy -= tl.sum(tl.reshape(part * logs, [ROWS, KEYS // SIDE, SIDE]), 1)
        weights = part.to(precision)
        mass += tl.dot(weights, table, input_precision="ieee")
        if WITHIN:
            number = start // KEYS
            sweep = number * SWEEPS
            kept = _kept(weights, tl.load(ordinary + inside), ROWS, KEYS, HALF)
            far_sums = _along(
                kept, far_sums, diagonals, sweep, sweep + SWEEPS, on_diagonals, on_lines, WARPS, KEYS
            )
            ahead = sweep - block * WARPS
            if (ahead + SWEEPS >= 0) & (ahead <= WARPS):
                of_warp = ahead - tl.arange(0, WARPS)[:, None, None]
                near_sums = _along(weights, near_sums, near, of_warp, 2, on_diagonals, on_lines, WARPS, KEYS)
            by_pattern = _at_pairs(weights, entries + number * CHUNK, by_pattern, WARPS, KEYS, CHUNK, LANES)

    if FINDS:
        total = tl.sum(moved, 1)
        found = tl.where(total > 0, (logarithm + tl.log2(total)) / LOG2_E, -NEVER)
        tl.store(moving + line * queries + rows, found, mask=rows < queries)
    part_of = own * tl.num_programs(0) + block
    # Entropy stands beside each class, so that one product sums up both.
    both = tl.reshape(tl.join(mass, entropy), [ROWS, 2 * CLASSES]).to(precision)
    of_groups = tl.arange(0, 2 * GROUPS)
    bits = tl.load(members + wide * queries + rows, mask=rows < queries, other=0).to(tl.int32)
    counted = ((bits[None, :] >> of_groups[:, None]) & 1).to(precision)
    both = tl.dot(counted, both, input_precision="ieee")
    of_mass, of_entropy = tl.split(tl.reshape(both, [2 * GROUPS, CLASSES, 2]))
    is_group = of_groups < GROUPS
    at = part_of * GROUPS + of_groups
    share = tl.load(shares + wide * GROUPS + of_groups, mask=is_group, other=0.0)
    tl.store(
        masses + at[:, None] * CLASSES + kinds[None, :], of_mass * share[:, None], mask=is_group[:, None]
    )
    tl.store(entropies + at, tl.sum(of_entropy, 1) * share * LOG_2, mask=is_group)
    if WITHIN:
        sweep = (last + KEYS - 1) // KEYS * SWEEPS
        _written(far_sums, diagonals, sweep, sweep + 1, WARPS)
        _written(near_sums, near, sweep - block * WARPS - tl.arange(0, WARPS)[:, None, None], 2, WARPS)
        tl.store(pairs + part_of * PATTERNS + tl.arange(0, PATTERNS), _side_by_side(by_pattern, LANES))


@triton.jit(do_not_specialize=["first"])
def crowded(
    query, key, seen, mask, bias, normaliser, logs_fetched, asking, codes, counts, is_crowded, pairs,
    query_text, query_head, query_row, query_dim, key_text, key_group, key_step, key_dim,
    mask_text, mask_head, mask_row, mask_key, bias_text, bias_head, bias_row, bias_key,
    heads, groups, queries, keys, width, tiles, lines, first, scale, cap,
    WARPS: tl.constexpr, KEYS: tl.constexpr, DIM: tl.constexpr, CHUNK: tl.constexpr, CAUSAL: tl.constexpr,
    HAS_SEEN: tl.constexpr, HAS_MASK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_CAP: tl.constexpr,
    GROUPED: tl.constexpr, MOVED: tl.constexpr, WHOLE: tl.constexpr, EVEN: tl.constexpr, FULL: tl.constexpr,
):  # fmt: skip
    """What `summed` leaves out of `pairs`: tiles with more than CHUNK of them, of texts that repeat themselves.

    `codes` (text, query, key) has a bit for each pattern. Few blocks have such a tile; `is_crowded` (text, block) says
    which.
    """
    ROWS: tl.constexpr = SWEEP * WARPS
    block, head, text = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    blocks, wide = tl.num_programs(0), text.to(tl.int64)
    if tl.load(is_crowded + wide * blocks + block) == 0:
        return
    counts += (wide * blocks + block) * tiles
    dims = tl.arange(0, DIM)
    rows = block * ROWS + row_of(tl.arange(0, ROWS), WARPS)
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
    logarithm = tl.load(normaliser + line * queries + within) * LOG2_E
    most = tl.load(asking + wide * queries + rows, mask=rows < queries, other=NEVER)
    key += wide * key_text + group_of(head, heads, groups, GROUPED) * key_group
    mask += wide * mask_text + head * mask_head
    bias += wide * bias_text + head * bias_head
    seen += wide * keys
    last = keys
    if CAUSAL:
        last = tl.minimum(keys, (block + 1) * ROWS + keys - queries)
    none = tl.zeros([ROWS], tl.float32)
    by_pattern = (none, none, none, none, none, none)
    for start in range(0, last, KEYS):
        if tl.load(counts + start // KEYS) > CHUNK:
            places = start + tl.arange(0, KEYS)
            part = tl.exp2(_log_weights(
                asked, rows, places, key, key_step, key_dim, seen, mask, mask_row, mask_key, bias, bias_row, bias_key,
                logarithm, most, logs_fetched + line * keys, queries, keys, width, scale, cap,
                DIM, CAUSAL, HAS_SEEN, HAS_MASK, HAS_BIAS, HAS_CAP, MOVED, WHOLE, EVEN, FULL,
            ))  # fmt: skip
            at = codes + (wide * queries + within)[:, None] * keys + tl.minimum(places, keys - 1)[None, :]
            code = tl.load(at).to(tl.int32)
            by_pattern = (
                by_pattern[0] + tl.sum(tl.where(code & 1 != 0, part, 0.0), 1),
                by_pattern[1] + tl.sum(tl.where(code & 2 != 0, part, 0.0), 1),
                by_pattern[2] + tl.sum(tl.where(code & 4 != 0, part, 0.0), 1),
                by_pattern[3] + tl.sum(tl.where(code & 8 != 0, part, 0.0), 1),
                by_pattern[4] + tl.sum(tl.where(code & 16 != 0, part, 0.0), 1),
                by_pattern[5] + tl.sum(tl.where(code & 32 != 0, part, 0.0), 1),
            )
    at = pairs + ((wide * lines + first + head) * blocks + block) * PATTERNS + tl.arange(0, PATTERNS)
    tl.store(at, tl.load(at) + _side_by_side(by_pattern, ROWS))
