"""Which pairs of query and key named patterns point at, on a GPU, in Triton: no mask is ever in memory."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from headscope.attention import TokenBatch
from headscope.kernels.triton.launching import Launcher

_ROWS, _KEYS, _PATTERNS = 32, 64, 8


@triton.jit
def _coded(
    ids, word, word_type, segment, is_token, codes, asking, length,
    ROWS: tl.constexpr, KEYS: tl.constexpr, PATTERNS: tl.constexpr,
):  # fmt: skip
    """A block of a text's queries: (text, query, key) a bit for each pattern, and how many queries have any such key."""
    block, text = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = block * ROWS + tl.arange(0, ROWS)
    at = text * length + tl.minimum(rows, length - 1)
    own_id, own_word, own_type = (
        tl.load(ids + at)[:, None],
        tl.load(word + at)[:, None],
        tl.load(word_type + at)[:, None],
    )
    own_segment = tl.load(segment + at)[:, None]
    is_real = ((tl.load(is_token + at) != 0) & (rows < length))[:, None]
    found = tl.zeros([ROWS, KEYS], tl.int32)
    for start in range(0, length, KEYS):
        places = start + tl.arange(0, KEYS)
        beside = text * length + tl.minimum(places, length - 1)
        before = text * length + tl.maximum(places - 1, 0)
        real_key = (tl.load(is_token + beside) != 0) & (places < length)
        both = is_real & real_key[None, :]
        earlier = places[None, :] < rows[:, None]
        key_word, key_type = tl.load(word + beside)[None, :], tl.load(word_type + beside)[None, :]
        in_word = both & (own_word >= 0) & (key_word >= 0)
        same_segment = own_segment == tl.load(segment + beside)[None, :]
        step = key_word - own_word
        same_word = in_word & (own_type >= 0) & (own_type == key_type) & (step != 0)
        after_copy = (own_id == tl.load(ids + before)[None, :]) & (places > 0)[None, :] & earlier & is_real
        after_copy &= (tl.load(is_token + before) != 0)[None, :]
        copy = (own_id == tl.load(ids + beside)[None, :]) & earlier & both
        code = (in_word & same_segment & (step == 1)).to(tl.int32)
        code |= (in_word & same_segment & (step == -1)).to(tl.int32) << 1
        code |= same_word.to(tl.int32) << 2
        code |= (same_word & (same_segment == 0)).to(tl.int32) << 3
        code |= after_copy.to(tl.int32) << 4
        code |= copy.to(tl.int32) << 5
        inside = (rows < length)[:, None] & (places < length)[None, :]
        code = tl.where(inside, code, 0)
        found |= code
        tl.store(
            codes + (text * length + rows)[:, None] * length + places[None, :], code.to(tl.uint8), mask=inside
        )
    for pattern in tl.static_range(PATTERNS):
        points = tl.max((found >> pattern) & 1, 1)  # (row,)
        tl.atomic_add(asking + text * PATTERNS + pattern, tl.sum(points, 0))


_CODED = Launcher(_coded)


def narrow(tokens: TokenBatch) -> TokenBatch:
    """The same in half the bits, which a GPU compares in half the time."""
    return tokens.map(lambda values: (values if values.dtype == torch.bool else values.int()).contiguous())


def pattern_codes(tokens: TokenBatch, *, patterns: int) -> tuple[Tensor, Tensor]:
    """(text, query, key) a bit for each pattern that points from the query at the key, and (text, pattern) queries."""
    texts, length = tokens.ids.shape
    codes = torch.empty(texts, length, length, device=tokens.ids.device, dtype=torch.uint8)
    asking = torch.zeros(texts, _PATTERNS, device=tokens.ids.device, dtype=torch.int32)
    known = tokens.derive(narrow)
    _CODED[(-(-length // _ROWS), texts)](
        known.ids, known.word, known.word_type, known.segment, known.is_token, codes, asking, length,
        ROWS=_ROWS, KEYS=_KEYS, PATTERNS=_PATTERNS,
    )  # fmt: skip
    return codes, asking[:, :patterns].long()
