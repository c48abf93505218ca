"""Named patterns: how strongly a head follows each of the patterns people have names for."""

from operator import itemgetter
from typing import ClassVar

import torch
from torch import Tensor

from headscope.measures import cpu
from headscope.measures.base import MEASURES, PerTextMeasure
from headscope.measures.reductions import (
    KeyClass,
    QueryGroup,
    class_mass,
    groups_present,
    one_pass,
    pair_sums,
    picked,
)
from headscope.types import AttentionBatch, TokenBatch

PAIR_PATTERNS = (
    "next_word",
    "previous_word",
    "same_word",
    "same_word_other_sentence",
    "induction",
    "duplicate_token",
)
PAIRS_TOGETHER = 1 << 24
"""How many pairs of query and key are looked at together."""

CLASS_PATTERNS = ("delimiters", "own_sentence", "other_sentence", "first_token")


@MEASURES.register("named_patterns")
class NamedPatterns(PerTextMeasure):
    """Mean attention that follows a named pattern, in [0, 1] (Vig 2019; induction: Olsson et al. 2022).

    For each pattern, the attention a query gives to the keys it points at, averaged over the queries
    for which it points anywhere. The docs page lists what each pattern points at.
    """

    name: ClassVar[str] = "named_patterns"
    summary: ClassVar[str] = "mean attention that follows a named pattern"
    from_sums: ClassVar[bool] = True
    within_text: ClassVar[bool] = True  # the patterns are about one text's own words
    dims = ("pattern",)
    coords: ClassVar = {"pattern": (*PAIR_PATTERNS, *CLASS_PATTERNS)}

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, head, pattern)."""
        asking = batch.keys.derive(pattern_queries)  # (text, pattern)
        by_pair = batch.reduce(pattern_sums) / asking.clamp_min(1)[:, None]  # (text, head, pattern)
        by_class, classes_apply = _by_class(batch)
        return (
            torch.cat([by_pair, by_class], -1),
            torch.cat([asking > 0, classes_apply], -1)[:, None, :],
        )


def pattern_sums(batch: AttentionBatch) -> Tensor:
    """(text, head, pattern) attention from all queries to the keys that each pattern points at."""
    if (passed := batch.reduce(one_pass)) is not None:
        return cpu.entry_sums(batch, passed.scales, *batch.keys.derive(_entries), count=len(PAIR_PATTERNS))
    return pair_sums(batch, *batch.keys.derive(pattern_pairs))


def _by_class(batch: AttentionBatch) -> tuple[Tensor, Tensor]:
    """(text, head, pattern) attention by class of key, and (text, pattern) whether the text has such a class."""
    mass = batch.reduce(class_mass)  # (text, head, group, class)
    from_first, from_second = mass[:, :, QueryGroup.FIRST_TEXT], mass[:, :, QueryGroup.SECOND_TEXT]
    values = (
        mass[:, :, QueryGroup.ALL, KeyClass.SEP],
        from_first[..., KeyClass.FIRST_TEXT] + from_second[..., KeyClass.SECOND_TEXT],
        from_first[..., KeyClass.SECOND_TEXT] + from_second[..., KeyClass.FIRST_TEXT],
        mass[:, :, QueryGroup.NOT_FIRST_TOKEN, KeyClass.FIRST_TOKEN],
    )
    needed = (QueryGroup.SEP, QueryGroup.SECOND_TEXT, QueryGroup.SECOND_TEXT, QueryGroup.NOT_FIRST_TOKEN)
    return torch.stack(values, -1), picked(groups_present(batch.queries), 1, needed)


def pattern_pairs(tokens: TokenBatch) -> tuple[Tensor, Tensor]:
    """(text, pair) places in the flattened map that patterns point at, and (text, pair, pattern) which ones do."""
    masks = tokens.derive(pair_masks)  # (text, pattern, query, key)
    texts, patterns = masks.shape[:2]
    used = masks.any(1).flatten(1)  # (text, query and key)
    most = max(1, int(used.sum(-1).max()))
    # A stable descending sort puts each text's used positions first; what fills the row up is no pattern's.
    positions = used.int().argsort(dim=-1, descending=True, stable=True)[:, :most]  # (text, pair)
    chosen = masks.flatten(2).gather(2, positions[:, None, :].expand(texts, patterns, most))
    return positions, chosen.transpose(1, 2)


def _entries(tokens: TokenBatch) -> tuple[Tensor, Tensor]:
    """(entry, 3) every query, key and pattern that points from one at the other, and where each text's start."""
    text, pattern, query, key = tokens.derive(pair_masks).nonzero().unbind(1)
    starts = torch.searchsorted(text, torch.arange(len(tokens.ids) + 1))
    return torch.stack([query, key, pattern], 1), starts


def pattern_codes(tokens: TokenBatch) -> tuple[Tensor, Tensor]:
    """(text, query, key) a bit for each pattern that points from the query at the key, and `pattern_queries`.

    Some texts go together, since masks take many times the memory of their bits.
    """
    texts, length = tokens.ids.shape
    step = max(1, PAIRS_TOGETHER // length**2)
    short = tokens.map(_short)
    codes, asking = [], []
    for start in range(0, texts, step):
        part = slice(start, start + step)
        masks = pair_masks(short.map(itemgetter(part)))
        bits = (masks.byte() << torch.arange(masks.shape[1], device=masks.device).byte()[:, None, None]).sum(
            1
        )
        codes.append(bits.byte())
        asking.append(masks.any(-1).sum(-1))
    return torch.cat(codes), torch.cat(asking)


def _short(values: Tensor) -> Tensor:
    return values.int() if values.dtype == torch.int64 else values


def pattern_queries(tokens: TokenBatch) -> Tensor:
    """(text, pattern) how many queries each pattern applies to."""
    if tokens.ids.device.type == "cuda":
        return tokens.derive(pattern_codes)[1]
    return tokens.derive(pair_masks).any(-1).sum(-1)


def pair_masks(tokens: TokenBatch) -> Tensor:
    """(text, pattern, query, key) True where the pattern points from the query at the key."""
    length = tokens.ids.shape[1]
    place = torch.arange(length, device=tokens.ids.device)
    earlier = place[None, :] < place[:, None]  # (query, key)
    both_real = tokens.is_token[:, :, None] & tokens.is_token[:, None, :]
    same_segment = tokens.segment[:, :, None] == tokens.segment[:, None, :]
    in_word = (tokens.word >= 0)[:, :, None] & (tokens.word >= 0)[:, None, :] & both_real
    step = tokens.word[:, None, :] - tokens.word[:, :, None]  # (text, query, key) words from query to key
    typed = tokens.word_type >= 0
    same_type = (tokens.word_type[:, :, None] == tokens.word_type[:, None, :]) & typed[:, :, None] & in_word
    same_word = same_type & (step != 0)
    copy_before = (tokens.ids[:, :, None] == tokens.ids[:, None, :]) & earlier & both_real
    after_copy = torch.zeros_like(copy_before)
    after_copy[:, :, 1:] = copy_before[:, :, :-1]
    masks = {
        "next_word": in_word & same_segment & (step == 1),
        "previous_word": in_word & same_segment & (step == -1),
        "same_word": same_word,
        "same_word_other_sentence": same_word & ~same_segment,
        "induction": after_copy & earlier,
        "duplicate_token": copy_before,
    }
    return torch.stack([masks[name] for name in PAIR_PATTERNS], 1)
