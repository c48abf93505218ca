"""Rows of attention added up by kind of key and by offset, on a GPU, in Triton: each weight is read once."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from headscope.kernels.triton.launching import Launcher

_PARTS, _HEADS = 64, 4  # into so many the rows are dealt, and of so many heads a program takes them


@triton.jit
def _by_kind(weight, kinds, at, inside, sums):
    """Weights (head, lane) of keys of each of four `kinds` (key,), added to their sums."""
    kind = tl.load(kinds + at, mask=inside, other=4).to(tl.int32)[None, :]
    return (
        sums[0] + tl.where(kind == 0, weight, 0.0),
        sums[1] + tl.where(kind == 1, weight, 0.0),
        sums[2] + tl.where(kind == 2, weight, 0.0),
        sums[3] + tl.where(kind == 3, weight, 0.0),
    )


@triton.jit
def _binned_rows(
    rows, places, kinds, share, out, row_text, row_head, heads, count, keys, total,
    FARTHEST: tl.constexpr, LANES: tl.constexpr, HEADS: tl.constexpr, FAR: tl.constexpr,
):  # fmt: skip
    """(part, head, kind, offset) weights (text, head, row, key) of the queries at `places` (text, row).

    `kinds` (text, key) are those of keys, of which there are four, and `share` (text, row) is what a row counts. FAR
    ones, past FARTHEST, count there.
    """
    part = tl.program_id(0)
    head, lanes = tl.program_id(1) * HEADS + tl.arange(0, HEADS), tl.arange(0, LANES)
    is_head = (head < heads)[:, None]
    none = tl.zeros([HEADS, LANES], tl.float32)
    sums, before, after = (none, none, none, none), (none, none, none, none), (none, none, none, none)
    for line in range(part, total, tl.num_programs(0)):
        text = (line // count).to(tl.int64)
        place = tl.load(places + line).to(tl.int32)
        counts = tl.load(share + line)
        weights = rows + text * row_text + head[:, None] * row_head + line % count * keys
        own_kinds = kinds + text * keys
        keyed = place - FARTHEST + lanes
        inside = (keyed >= 0) & (keyed < keys) & (lanes <= 2 * FARTHEST)
        weight = tl.load(weights + keyed[None, :], mask=is_head & inside[None, :], other=0.0).to(tl.float32)
        sums = _by_kind(weight * counts, own_kinds, keyed, inside, sums)
        if FAR:
            for start in range(0, keys, LANES):
                keyed = start + lanes
                earlier, later = keyed < place - FARTHEST, (keyed > place + FARTHEST) & (keyed < keys)
                far = is_head & (earlier | later)[None, :]
                weight = tl.load(weights + keyed[None, :], mask=far, other=0.0).to(tl.float32) * counts
                before = _by_kind(weight, own_kinds, keyed, earlier, before)
                after = _by_kind(weight, own_kinds, keyed, later, after)
    out += (part * heads + head[:, None]) * 4 * LANES + lanes[None, :]
    for kind in tl.static_range(4):
        of_kind = sums[kind]
        if FAR:
            of_kind += tl.where(lanes[None, :] == 0, tl.sum(before[kind], 1)[:, None], 0.0)
            of_kind += tl.where(lanes[None, :] == 2 * FARTHEST, tl.sum(after[kind], 1)[:, None], 0.0)
        tl.store(out + kind * LANES, of_kind, mask=is_head)


_BINNED = Launcher(_binned_rows)


def binned(rows: Tensor, places: Tensor, kinds: Tensor, share: Tensor, *, farthest: int) -> Tensor:
    """(head, kind and offset) the sums of rows (text, head, row, key), by kind of key and by offset.

    `places` (text, row) are the queries, `kinds` (text, key) those of keys, of which there are four, `share` (text, row)
    is what a row counts.
    """
    texts, heads, lines, keys = rows.shape
    width = 1 << (2 * farthest).bit_length()
    parts = max(1, min(_PARTS, texts * lines // 16))
    out = torch.empty(parts, heads, 4, width, device=rows.device, dtype=torch.float32)
    far = keys > farthest + 1
    _BINNED[(parts, -(-heads // _HEADS))](
        rows, places, kinds, share, out, rows.stride(0), rows.stride(1), heads, lines, keys, texts * lines,
        FARTHEST=farthest, LANES=width, HEADS=_HEADS, FAR=far, num_warps=4 if far else 2,
    )  # fmt: skip
    return out.sum(0)[..., : 2 * farthest + 1].flatten(1)
