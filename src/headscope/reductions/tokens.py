"""What is known of tokens before the model has run, as tables that reductions work with; the same for all layers."""

from enum import IntEnum
from functools import cache, lru_cache, partial
from importlib.util import find_spec

import torch
from torch import Tensor

from headscope.attention import Derive
from headscope.types import CLS, OTHER, ROLES, SEP, TokenBatch


class KeyClass(IntEnum):
    """The classes of keys that attention is summed over; the first five are the roles, in their order."""

    CLS = 0
    SEP = 1
    PERIOD = 2
    COMMA = 3
    OTHER = 4
    FIRST_TEXT = 5
    SECOND_TEXT = 6
    FIRST_TOKEN = 7


class QueryGroup(IntEnum):
    """The groups of queries that attention is averaged over.

    The two texts of a pair count as parts of one group: their means are over the words of both, and add up.
    """

    ALL = 0
    SEP = 1
    NOT_SEP = 2
    CLS = 3
    FIRST_TEXT = 4
    SECOND_TEXT = 5
    NOT_FIRST_TOKEN = 6


# A product with 16 columns is three times as fast as one with 8 on the CPUs we measured (the narrow one
# falls off the vectorised path), so the class table is filled up with empty columns.
_TABLE_WIDTH = 16


FARTHEST = 8
"""The farthest offset that is looked at by itself."""

WINDOWS = 16
"""Into how many windows distances are sorted."""

PAIR_PATTERNS = (
    "next_word",
    "previous_word",
    "same_word",
    "same_word_other_sentence",
    "induction",
    "duplicate_token",
)


def ordinary_keys(tokens: TokenBatch) -> Tensor:
    """(text, token) which keys count by their distance: all but special tokens and punctuation."""
    return (tokens.role == OTHER) & tokens.is_token


def query_kinds(tokens: TokenBatch) -> tuple[Tensor, Tensor]:
    """(text, query) the kind of each query, -1 for padding, and (text, group, kind) what it counts in each QueryGroup.

    Queries of one kind are in the same groups, so that their rows may be summed first.
    """
    weights = tokens.derive(group_weights)  # (text, group, query)
    bits = 1 << torch.arange(len(QueryGroup))
    codes = ((weights > 0) * bits[:, None]).sum(1)  # (text, query)
    different, kinds = torch.unique(codes, return_inverse=True)
    of_kind = torch.zeros(*weights.shape[:2], len(different), dtype=torch.float64)
    of_kind.scatter_(2, kinds[:, None].expand_as(weights), weights.double())
    return kinds.where(tokens.is_token, -1), of_kind


def groups_present(tokens: TokenBatch) -> Tensor:
    """(text, group) which QueryGroups a text has."""
    return tokens.derive(group_weights).any(-1)


@cache
def has_groups(*groups: QueryGroup) -> Derive:
    """What tells (text, group) which of some QueryGroups a text has; the same function each time."""
    return partial(_has_groups, groups=groups)


def _has_groups(tokens: TokenBatch, *, groups: tuple[QueryGroup, ...]) -> Tensor:
    return picked(tokens.derive(groups_present), 1, groups)


def class_table(tokens: TokenBatch) -> Tensor:
    """(text, token, class) 1 where the token is of the class; columns past the last KeyClass are empty."""
    table = torch.zeros(*tokens.ids.shape, _TABLE_WIDTH, device=tokens.ids.device)
    each = torch.arange(len(ROLES), device=tokens.ids.device)
    table[..., : len(ROLES)] = tokens.role[..., None] == each
    table[..., KeyClass.FIRST_TEXT : KeyClass.SECOND_TEXT + 1] = tokens.segment[..., None] == each[:2]
    table[:, 0, KeyClass.FIRST_TOKEN] = 1
    return table * tokens.is_token[..., None]


def group_weights(tokens: TokenBatch) -> Tensor:
    """(text, group, token) what each token counts in the mean over each QueryGroup; 0 in groups a text lacks."""
    real = tokens.is_token
    separator = (tokens.role == SEP) & real
    later = real.clone()
    later[:, 0] = False
    is_pair = (tokens.segment == 1).any(-1, keepdim=True)
    groups = {
        QueryGroup.ALL: real,
        QueryGroup.SEP: separator,
        QueryGroup.NOT_SEP: real & ~separator,
        QueryGroup.CLS: (tokens.role == CLS) & real,
        QueryGroup.FIRST_TEXT: (tokens.segment == 0) & is_pair,
        QueryGroup.SECOND_TEXT: (tokens.segment == 1) & is_pair,
        QueryGroup.NOT_FIRST_TOKEN: later,
    }
    members = torch.stack([groups[group] for group in QueryGroup], 1)  # (text, group, token)
    counts = members.sum(-1, keepdim=True)
    pair = slice(QueryGroup.FIRST_TEXT, QueryGroup.SECOND_TEXT + 1)
    counts[:, pair] = counts[:, pair].sum(1, keepdim=True)
    return members / counts.clamp_min(1)


def window_of_offsets(tokens: TokenBatch) -> Tensor:
    """(text, offset + tokens) where each offset counts by distance: 0 for the token itself, else 1 + its window.

    Offset is key minus query. Distances past a text's end hold no attention; they are put in the last window.
    """
    longest = tokens.ids.shape[1]
    distance = torch.arange(-longest, longest + 1, device=tokens.ids.device).abs()
    window = distance * WINDOWS // tokens.lengths[:, None]
    return torch.where(distance == 0, 0, 1 + window).clamp_max(WINDOWS)


def window_table(tokens: TokenBatch) -> Tensor:
    """(text, offset + tokens, self and windows) 1 where the offset belongs there."""
    return torch.nn.functional.one_hot(tokens.derive(window_of_offsets), 1 + WINDOWS).double()


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


def pattern_entries(tokens: TokenBatch) -> tuple[Tensor, Tensor]:
    """(entry, 3) every query, key and pattern that points from one at the other, and where each text's start."""
    text, pattern, query, key = tokens.derive(pair_masks).nonzero().unbind(1)
    starts = torch.searchsorted(text, torch.arange(len(tokens.ids) + 1))
    return torch.stack([query, key, pattern], 1), starts


def pattern_codes(tokens: TokenBatch) -> tuple[Tensor, Tensor]:
    """(text, query, key) a bit for each pattern that points from the query at the key, and `pattern_queries`."""
    if tokens.ids.is_cuda and find_spec("triton") is not None:
        from headscope.kernels.triton import codes_kernel  # noqa: PLC0415  (needs triton)

        return codes_kernel.pattern_codes(tokens, patterns=len(PAIR_PATTERNS))
    masks = tokens.derive(pair_masks)  # (text, pattern, query, key)
    bits = 1 << torch.arange(masks.shape[1], device=masks.device, dtype=torch.uint8)
    return (masks * bits[:, None, None]).sum(1, dtype=torch.uint8), masks.any(-1).sum(-1)


def pattern_queries(tokens: TokenBatch) -> Tensor:
    """(text, pattern) how many queries each pattern applies to."""
    if tokens.ids.is_cuda:
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


def picked(values: Tensor, dim: int, places: tuple[int, ...]) -> Tensor:
    """Some places along a dimension; unlike a list of them, this stops no accelerator."""
    return values.index_select(dim, _index(places, values.device))


@lru_cache(maxsize=64)
def _index(places: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.tensor(places, device=device)
