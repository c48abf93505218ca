"""What measures need of an attention map, each computed once per layer however many measures ask.

A reduction takes an `AttentionBatch` and returns a tensor without the (query, key) plane. Measures call
`batch.reduce(reduction)`; what depends on the tokens alone is derived once for all layers with
`tokens.derive(function)`.
"""

from enum import IntEnum

import torch
from torch import Tensor

from headscope.types import CLS, ROLES, SEP, AttentionBatch, TokenBatch


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


def class_mass(batch: AttentionBatch) -> Tensor:
    """(text, head, group, class) mean attention from each QueryGroup to each KeyClass."""
    table = batch.keys.derive(_class_table)  # (text, key, class)
    texts, heads, queries, keys = batch.attention.shape
    flat = batch.attention.reshape(texts, heads * queries, keys)
    mass = torch.bmm(flat, table.to(flat.dtype)).view(texts, heads, queries, -1)  # (text, head, query, class)
    weights = batch.queries.derive(_group_weights).to(flat.dtype)  # (text, group, query)
    return weights[:, None] @ mass


def mean_entropy(batch: AttentionBatch) -> Tensor:
    """(text, head, group) mean entropy of each QueryGroup's attention, in nats."""
    return mean_over_groups(entropy_of(batch.attention), batch.queries)


def mean_over_groups(values: Tensor, queries: TokenBatch) -> Tensor:
    """(text, head, group) mean of `values` (text, head, query) over each QueryGroup."""
    return values @ queries.derive(_group_weights).to(values.dtype).mT


def groups_present(tokens: TokenBatch) -> Tensor:
    """(text, group) which QueryGroups a text has."""
    return tokens.derive(_group_weights).any(-1)


def entropy_of(attention: Tensor) -> Tensor:
    """(...) entropy over the last axis, in nats; 0 log 0 is 0."""
    # Not torch.special.entr, which is not vectorised on the CPU and costs twice as much.
    smallest = torch.finfo(attention.dtype).tiny
    return attention.clamp_min(smallest).log_().mul_(attention).sum(-1).neg_()


def diagonal_sums(attention: Tensor, tokens: TokenBatch, *, keys: Tensor) -> Tensor:
    """(text, head, offset + queries) attention to the chosen keys (text, key), summed along every diagonal.

    Offset is key minus query. The map is laid into a wider zeroed buffer; read back with rows one element
    longer, its diagonals stand in columns, and one column sum does all offsets at once.
    """
    texts, heads, queries, width = attention.shape
    width += queries
    buffer = tokens.derive(_Zeros).like(attention, (texts, heads, queries * (width + 1)))
    laid = buffer.as_strided(attention.shape, (*buffer.stride()[:2], width, 1), storage_offset=queries)
    torch.mul(attention, keys[:, None, None, :].to(attention.dtype), out=laid)
    return buffer.view(texts, heads, queries, width + 1).sum(2)


class _Zeros:
    """A zeroed buffer for all layers of a batch: each writes the same places, and the rest stays zero."""

    def __init__(self, tokens: TokenBatch) -> None:
        self._buffer: Tensor | None = None

    def like(self, attention: Tensor, shape: tuple[int, ...]) -> Tensor:
        if self._buffer is None or self._buffer.shape != shape or self._buffer.dtype != attention.dtype:
            self._buffer = attention.new_zeros(shape)
        return self._buffer


def _class_table(tokens: TokenBatch) -> Tensor:
    """(text, token, class) 1 where the token is of the class; columns past the last KeyClass are empty."""
    table = torch.zeros(*tokens.ids.shape, _TABLE_WIDTH, device=tokens.ids.device)
    for role in range(len(ROLES)):
        table[..., role] = tokens.role == role
    table[..., KeyClass.FIRST_TEXT] = tokens.segment == 0
    table[..., KeyClass.SECOND_TEXT] = tokens.segment == 1
    table[:, 0, KeyClass.FIRST_TOKEN] = 1
    return table * tokens.is_token[..., None]


def _group_weights(tokens: TokenBatch) -> Tensor:
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
    pair = [QueryGroup.FIRST_TEXT, QueryGroup.SECOND_TEXT]
    counts[:, pair] = counts[:, pair].sum(1, keepdim=True)
    return members / counts.clamp_min(1)
