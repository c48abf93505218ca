"""What measures need of an attention map, each computed once per layer however many measures ask.

A reduction takes an `AttentionBatch` and returns a tensor without the (query, key) plane. Measures call
`batch.reduce(reduction)`; what depends on the tokens alone is derived once for all layers with
`tokens.derive(function)`.
"""

import torch
from torch import Tensor

from headscope.types import ROLES, AttentionBatch, TokenBatch

KEY_CLASSES = (*ROLES, "first text", "second text", "first token")
"""The classes of keys whose mass `class_mass` sums: roles, then whose text, then the very first token."""

FIRST_TEXT, SECOND_TEXT, FIRST_TOKEN = range(len(ROLES), len(KEY_CLASSES))

# A product with 16 columns is three times as fast as one with 8 on the CPUs we measured (the narrow one
# falls off the vectorised path), so the class table is filled up with empty columns.
_TABLE_WIDTH = 16


def _class_table(tokens: TokenBatch) -> Tensor:
    """(text, token, class) 1 where the token is of the class; columns past KEY_CLASSES are empty."""
    table = torch.zeros(*tokens.ids.shape, _TABLE_WIDTH, device=tokens.ids.device)
    for role in range(len(ROLES)):
        table[..., role] = tokens.role == role
    table[..., FIRST_TEXT] = tokens.segment == 0
    table[..., SECOND_TEXT] = tokens.segment == 1
    table[:, 0, FIRST_TOKEN] = 1
    return table * tokens.is_token[..., None]


def class_mass(batch: AttentionBatch) -> Tensor:
    """(text, head, query, class) attention that each query gives to each class of KEY_CLASSES."""
    table = batch.keys.derive(_class_table)  # (text, key, class)
    texts, heads, queries, keys = batch.attention.shape
    flat = batch.attention.reshape(texts, heads * queries, keys)
    return torch.bmm(flat, table.to(flat.dtype)).view(texts, heads, queries, -1)[..., : len(KEY_CLASSES)]


def query_entropy(batch: AttentionBatch) -> Tensor:
    """(text, head, query) entropy of each query's attention, in nats."""
    return entropy_of(batch.attention)


def entropy_of(attention: Tensor) -> Tensor:
    """(...) entropy over the last axis, in nats; 0 log 0 is 0."""
    # Not torch.special.entr, which is not vectorised on the CPU and costs three times as much.
    smallest = torch.finfo(attention.dtype).tiny
    negative: Tensor = torch.linalg.vecdot(attention, attention.clamp_min(smallest).log_())
    return -negative


def offset_sums(batch: AttentionBatch) -> Tensor:
    """(text, head, offset + queries) attention at every offset, summed over the queries."""
    return diagonal_sums(batch.attention)


def diagonal_sums(attention: Tensor, *, keys: Tensor | None = None) -> Tensor:
    """(text, head, offset + queries) attention summed along every diagonal, over all keys or (text, key) chosen ones.

    Offset is key minus query. The map is laid into a wider zeroed buffer; read back with rows one element
    longer, its diagonals stand in columns, and one column sum does all offsets at once.
    """
    texts, heads, queries, width = attention.shape
    width += queries
    buffer = attention.new_zeros(texts, heads, queries * (width + 1))
    laid = buffer.as_strided(attention.shape, (*buffer.stride()[:2], width, 1), storage_offset=queries)
    if keys is None:
        laid.copy_(attention)
    else:
        torch.mul(attention, keys[:, None, None, :].to(attention.dtype), out=laid)
    return buffer.view(texts, heads, queries, width + 1).sum(2)


def mean_over_queries(values: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Mean of `values` (text, head, query, ...) over the chosen queries, and which texts have any.

    `chosen` is (text, query); returns (text, head, ...) and (text,).
    """
    counts = chosen.sum(-1)  # (text,)
    weights = chosen.to(values.dtype) / counts.clamp_min(1)[:, None]  # (text, query)
    means = torch.einsum("thq...,tq->th...", values, weights)
    return means, counts > 0
