"""Templates of sampled queries on a GPU, in Triton: all of them at once, and their products with each other."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from headscope.attention import TokenBatch
from headscope.kernels.triton.codes_kernel import narrow
from headscope.kernels.triton.launching import Launcher
from headscope.types import COMMA, PERIOD, SEP

ROOM = 32
"""For so many templates, a bit each."""
_KEYS = 128


@triton.jit
def _bits(
    ids, word, word_type, segment, role, is_token, governor, text, place, start, length,
    KEYS: tl.constexpr, SEPARATOR: tl.constexpr, FULL_STOP: tl.constexpr, COMMAS: tl.constexpr,
    CAUSAL: tl.constexpr, SYNTAX: tl.constexpr,
):  # fmt: skip
    """(key,) the bits of the templates that name a key, in the order of `templates.TEMPLATES`; 0 for what is not seen."""
    keys = start + tl.arange(0, KEYS)
    at, own = text * length + tl.minimum(keys, length - 1), text * length + place
    sees = (tl.load(is_token + at) != 0) & (keys < length)
    if CAUSAL:
        sees &= keys <= place
    offset = keys - place
    own_word, own_type, own_segment = tl.load(word + own), tl.load(word_type + own), tl.load(segment + own)
    key_word, key_type, key_segment = tl.load(word + at), tl.load(word_type + at), tl.load(segment + at)
    before = tl.load(ids + text * length + tl.maximum(tl.minimum(keys, length) - 1, 0))
    roles = tl.load(role + at)
    same_word = (key_type == own_type) & (key_type >= 0) & (key_word != own_word)
    is_own = (key_segment == own_segment) & (key_segment >= 0)
    is_other = (key_segment >= 0) & (own_segment >= 0) & (key_segment != own_segment)
    bits = sees.to(tl.int32)
    bits |= (offset == 0).to(tl.int32) << 1
    for number in tl.static_range(3):
        bits |= (offset == number - 3).to(tl.int32) << (2 + number)
        bits |= (offset == number + 1).to(tl.int32) << (5 + number)
    bits |= (keys == 0).to(tl.int32) << 8
    bits |= (roles == SEPARATOR).to(tl.int32) << 9
    bits |= ((roles == FULL_STOP) | (roles == COMMAS)).to(tl.int32) << 10
    bits |= same_word.to(tl.int32) << 11
    bits |= (same_word & is_other).to(tl.int32) << 12
    bits |= ((before == tl.load(ids + own)) & (keys > 0) & (offset < 0)).to(tl.int32) << 13
    bits |= is_own.to(tl.int32) << 14
    bits |= is_other.to(tl.int32) << 15
    if SYNTAX:
        head, heads = tl.load(governor + own), tl.load(governor + at)
        bits |= ((key_word == head) & (head >= 0)).to(tl.int32) << 16
        bits |= ((heads == own_word) & (heads >= 0)).to(tl.int32) << 17
    return bits * sees.to(tl.int32)


@triton.jit
def _templates_of(
    ids, word, word_type, segment, role, is_token, governor, texts, places, share,
    templates, products, sizes, kinds, length, rows,
    TEMPLATES: tl.constexpr, ROOM: tl.constexpr, KEYS: tl.constexpr, FARTHEST: tl.constexpr, KINDS: tl.constexpr,
    LANES: tl.constexpr, SEPARATOR: tl.constexpr, FULL_STOP: tl.constexpr, COMMAS: tl.constexpr,
    CAUSAL: tl.constexpr, SYNTAX: tl.constexpr, FAR: tl.constexpr,
):  # fmt: skip
    """One sampled query, at `places` (text, row) of one of the `texts`, which counts its `share` (text, row).

    `templates` (text, template, row, key) are even over the keys that a template names, or over all that are seen where
    it names none; `products` (text, row; template, template) are those of templates with each other, `sizes` (text,
    row; kind, offset) how many keys there are of each kind and offset. `kinds` (text, key) are those of keys.
    """
    row, number = tl.program_id(0), tl.program_id(1).to(tl.int64)
    text = tl.load(texts + number).to(tl.int64)
    line = number * rows + row
    place, counts = tl.load(places + line).to(tl.int32), tl.load(share + line)
    every, lanes = tl.arange(0, ROOM), tl.arange(0, LANES)
    named = tl.zeros([ROOM], tl.int32)
    for start in range(0, length, KEYS):
        bits = _bits(
            ids, word, word_type, segment, role, is_token, governor, text, place, start, length,
            KEYS, SEPARATOR, FULL_STOP, COMMAS, CAUSAL, SYNTAX,
        )  # fmt: skip
        named += tl.sum((bits[None, :] >> every[:, None]) & 1, 1)
    seen = tl.sum(tl.where(every == 0, named, 0), 0)
    is_template = every < TEMPLATES
    no_key = tl.sum(tl.where(is_template & (named == 0), 1 << every, 0), 0)
    weight = tl.where(is_template, 1.0 / tl.maximum(tl.where(named > 0, named, seen), 1), 0.0)
    weight = tl.where(counts > 0, weight, 0.0)
    together = tl.zeros([ROOM, ROOM], tl.float32)
    for start in range(0, length, KEYS):
        bits = _bits(
            ids, word, word_type, segment, role, is_token, governor, text, place, start, length,
            KEYS, SEPARATOR, FULL_STOP, COMMAS, CAUSAL, SYNTAX,
        )  # fmt: skip
        bits = (bits | no_key) * (bits != 0).to(tl.int32)
        keys = start + tl.arange(0, KEYS)
        down = ((bits[None, :] >> every[:, None]) & 1).to(tl.float16)
        tl.store(
            templates + ((number * TEMPLATES + every[:, None]) * rows + row) * length + keys[None, :],
            down.to(tl.float32) * weight[:, None],
            mask=is_template[:, None] & (keys < length)[None, :],
        )
        across = ((bits[:, None] >> every[None, :]) & 1).to(tl.float16)
        together = tl.dot(down, across, together)
    together *= weight[:, None] * weight[None, :] * counts
    tl.store(products + line * ROOM * ROOM + every[:, None] * ROOM + every[None, :], together)

    kind_of = tl.arange(0, KINDS)[:, None]
    keys = place - FARTHEST + lanes
    inside = (keys >= 0) & (keys < length) & (lanes <= 2 * FARTHEST)
    if CAUSAL:
        inside &= keys <= place
    is_real = tl.load(is_token + text * length + keys, mask=inside, other=0) != 0
    kind = tl.load(kinds + number * length + keys, mask=inside, other=KINDS)
    found = tl.where((kind[None, :] == kind_of) & is_real[None, :], counts, 0.0)
    if FAR:
        for start in range(0, length, LANES):
            keys = start + lanes
            before, after = keys < place - FARTHEST, (keys > place + FARTHEST) & (keys < length)
            if CAUSAL:
                after &= keys < 0
            is_real = tl.load(is_token + text * length + keys, mask=before | after, other=0) != 0
            kind = tl.load(kinds + number * length + keys, mask=before | after, other=KINDS)
            of_kind = tl.where((kind[None, :] == kind_of) & is_real[None, :], counts, 0.0)
            earlier = tl.sum(tl.where(before[None, :], of_kind, 0.0), 1)
            later = tl.sum(tl.where(after[None, :], of_kind, 0.0), 1)
            found += tl.where(lanes[None, :] == 0, earlier[:, None], 0.0)
            found += tl.where(lanes[None, :] == 2 * FARTHEST, later[:, None], 0.0)
    tl.store(sizes + (line * KINDS + kind_of) * LANES + lanes[None, :], found)


_TEMPLATES_OF = Launcher(_templates_of)


def template_rows(
    tokens: TokenBatch,
    texts: Tensor,
    places: Tensor,
    share: Tensor,
    kinds: Tensor,
    *,
    templates: int,
    farthest: int,
    count: int,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """(text, template, row, key) the templates of the queries at `places` (text, row) of some `texts`, 0 of no `share`.

    And sums over these queries, each of which counts its `share` (text, row): (template, template) of products of
    templates with each other, and (kind and offset,) of how many keys there are. `kinds` (text, key) are those of keys,
    of which there are `count`; offsets past the `farthest` count as that.
    """
    (chosen, rows), length, device = places.shape, tokens.ids.shape[1], places.device
    lanes = 1 << (2 * farthest).bit_length()
    made = torch.empty(chosen, templates, rows, length, device=device)
    products = torch.empty(chosen * rows, ROOM, ROOM, device=device)
    sizes = torch.empty(chosen * rows, count, lanes, device=device)
    known = tokens.derive(narrow)
    governor = known.ids if known.governor is None else known.governor
    _TEMPLATES_OF[(rows, chosen)](
        known.ids, known.word, known.word_type, known.segment, known.role, known.is_token, governor,
        texts, places, share, made, products, sizes, kinds, length, rows,
        TEMPLATES=templates, ROOM=ROOM, KEYS=_KEYS, FARTHEST=farthest, KINDS=count, LANES=lanes,
        SEPARATOR=SEP, FULL_STOP=PERIOD, COMMAS=COMMA, CAUSAL=causal, SYNTAX=tokens.governor is not None,
        FAR=length > farthest + 1, num_warps=2,
    )  # fmt: skip
    together = products.sum(0)[:templates, :templates]
    return made, together, sizes.sum(0)[:, : 2 * farthest + 1].flatten()
