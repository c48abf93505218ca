"""Rows of attention added up by kind of key and by offset, on a GPU, in Triton: each weight is read once."""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _binned_rows(
    rows, chosen, kinds, share, out, heads, count, keys, total,
    FARTHEST: tl.constexpr, BLOCK: tl.constexpr, KINDS: tl.constexpr, FAR: tl.constexpr,
):  # fmt: skip
    """(part, head, kind, offset) weights (text, head, row, key) of the `chosen` (text, row) queries by kind and offset.

    `kinds` (text, key) are those of keys, and `share` (text, row) is what a row counts. FAR ones, past FARTHEST, count
    there.
    """
    part, head = tl.program_id(0), tl.program_id(1)
    lanes, every = tl.arange(0, BLOCK), tl.arange(0, KINDS)
    sums = tl.zeros([KINDS, BLOCK], tl.float32)
    before, after = tl.zeros([KINDS, BLOCK], tl.float32), tl.zeros([KINDS, BLOCK], tl.float32)
    for line in range(part, total, tl.num_programs(0)):
        text = line // count
        place = tl.load(chosen + line).to(tl.int32)
        counts = tl.load(share + line)
        weights = rows + ((text.to(tl.int64) * heads + head) * count + line % count) * keys
        own_kinds = kinds + text * keys
        places = place - FARTHEST + lanes
        inside = (places >= 0) & (places < keys) & (lanes <= 2 * FARTHEST)
        weight = tl.load(weights + places, mask=inside, other=0.0) * counts
        kind = tl.load(own_kinds + places, mask=inside, other=KINDS)
        sums += tl.where(kind[None, :] == every[:, None], weight[None, :], 0.0)
        if FAR:
            for start in range(0, keys, BLOCK):
                places = start + lanes
                is_before, is_after = places < place - FARTHEST, (places > place + FARTHEST) & (places < keys)
                weight = tl.load(weights + places, mask=is_before | is_after, other=0.0) * counts
                kind = tl.load(own_kinds + places, mask=is_before | is_after, other=KINDS)
                of_kind = tl.where(kind[None, :] == every[:, None], weight[None, :], 0.0)
                before += tl.where(is_before[None, :], of_kind, 0.0)
                after += tl.where(is_after[None, :], of_kind, 0.0)
    if FAR:
        sums += tl.where(lanes[None, :] == 0, tl.sum(before, 1)[:, None], 0.0)
        sums += tl.where(lanes[None, :] == 2 * FARTHEST, tl.sum(after, 1)[:, None], 0.0)
    out += ((part * heads + head) * KINDS + every[:, None]) * BLOCK + lanes[None, :]
    tl.store(out, sums)


def binned(
    rows: Tensor, places: Tensor, kinds: Tensor, share: Tensor, *, farthest: int, count: int
) -> Tensor:
    """(head, kind and offset) the sums of rows (text, head, row, key), by the `count` kinds of keys and by offset.

    `places` (text, row) are the queries, `kinds` (text, key) those of keys, `share` (text, row) what a row counts.
    """
    texts, heads, lines, keys = rows.shape
    width = 1 << (2 * farthest).bit_length()
    parts = max(1, min(16, texts * lines // 16))
    out = torch.empty(parts, heads, count, width, device=rows.device, dtype=torch.float32)
    _binned_rows[(parts, heads)](
        rows, places, kinds, share, out, heads, lines, keys, texts * lines,
        FARTHEST=farthest, BLOCK=width, KINDS=count, FAR=keys > farthest + 1, num_warps=1,
    )  # fmt: skip
    return out.sum(0)[..., : 2 * farthest + 1].flatten(1)
