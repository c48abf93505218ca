"""Reductions of attention maps in plain torch: what every other way to the same sums is held against.

Of a moved batch (each weight times the length of what is fetched, rows adding up to 1) no map is formed: its columns
are those of the weights, scaled, and its rows are scaled afterwards. The logarithms, which cost most, serve both.
"""

import torch
from torch import Tensor

from headscope.reductions.one_pass import one_pass
from headscope.reductions.tokens import (
    FARTHEST,
    KeyClass,
    class_table,
    group_weights,
    ordinary_keys,
    pattern_pairs,
    window_table,
)
from headscope.types import LayerAttention, MovedBatch, TokenBatch

_LENGTHS, _LOG_LENGTHS = range(len(KeyClass), len(KeyClass) + 2)
"""The columns of the class table in which a moved batch sums weights times f, and weights times f log f."""


def class_mass(batch: LayerAttention) -> Tensor:
    """(text, head, group, class) mean attention from each QueryGroup to each KeyClass."""
    if (sums := batch.reduce(one_pass)) is not None:
        return sums.mass
    mass = batch.reduce(_mass)  # (text, head, query, class)
    if isinstance(batch, MovedBatch):
        mass = mass * batch.reduce(row_scale)[..., None]
    weights = batch.queries.derive(group_weights).to(mass.dtype)  # (text, group, query)
    return (weights[:, None] @ mass)[..., : len(KeyClass)]


def row_scale(batch: LayerAttention) -> Tensor:
    """(text, head, query) one over sum_k A[i, k] |f_k| of a moved batch; 0 where nothing is fetched."""
    total = batch.reduce(_mass)[..., _LENGTHS]
    return torch.where(total > 0, 1 / total, 0)


def _mass(batch: LayerAttention) -> Tensor:
    """(text, head, query, class) the sum of each query's attention to each KeyClass; moved: before rows are scaled."""
    table = batch.keys.derive(class_table)  # (text, key, class)
    if isinstance(batch, MovedBatch):
        weights, lengths = batch.looked.attention, batch.lengths
        scaled = table.to(weights.dtype)[:, None] * lengths[..., None]  # (text, head, key, class)
        scaled[..., _LENGTHS], scaled[..., _LOG_LENGTHS] = lengths, torch.special.xlogy(lengths, lengths)
        return weights @ scaled
    texts, heads, queries, keys = batch.attention.shape
    flat = batch.attention.reshape(texts, heads * queries, keys)
    return torch.bmm(flat, table.to(flat.dtype)).view(texts, heads, queries, -1)


def mean_entropy(batch: LayerAttention) -> Tensor:
    """(text, head, group) mean entropy of each QueryGroup's attention, in nats."""
    if (sums := batch.reduce(one_pass)) is not None:
        return sums.entropies
    return mean_over_groups(batch.reduce(entropies), batch.queries)


def entropies(batch: LayerAttention) -> Tensor:
    """(text, head, query) the entropy of each query's attention, in nats.

    Of a moved batch m = a f / z it is log z - sum a f (log a + log f) / z: the logarithms of the weights serve both.
    """
    if not isinstance(batch, MovedBatch):
        return batch.reduce(_weights_log_weights).sum(-1).neg_()
    # Not a matrix product, which is slow with a single column.
    logarithms = batch.looked.reduce(_weights_log_weights)
    of_weights: Tensor = torch.linalg.vecdot(logarithms, batch.lengths[:, :, None])  # (text, head, query)
    scale = batch.reduce(row_scale)
    entropy = -(of_weights + batch.reduce(_mass)[..., _LOG_LENGTHS]) * scale
    return (entropy - scale.clamp_min(torch.finfo(scale.dtype).tiny).log()).where(scale > 0, 0).clamp_min_(0)


def _weights_log_weights(batch: LayerAttention) -> Tensor:
    """(text, head, query, key) a log a; 0 log 0 is 0."""
    # Not torch.special.entr, which is not vectorised on the CPU and costs twice as much.
    smallest = torch.finfo(batch.attention.dtype).tiny
    return batch.attention.clamp_min(smallest).log_().mul_(batch.attention)


def _pair_sums(batch: LayerAttention, pairs: Tensor, weights: Tensor) -> Tensor:
    """(text, head, sum) weighted sums over (query, key) pairs (text, pair), places in the flattened map.

    `weights` are (text, pair, sum).
    """
    looked = batch.looked if isinstance(batch, MovedBatch) else batch
    maps = looked.attention.flatten(2)  # (text, head, query and key)

    def at(values: Tensor, places: Tensor) -> Tensor:
        return values.gather(2, places[:, None, :].expand(-1, values.shape[1], -1))  # (text, head, pair)

    followed = at(maps, pairs)
    if isinstance(batch, MovedBatch):
        keys = looked.attention.shape[-1]
        followed = followed * at(batch.lengths, pairs % keys) * at(batch.reduce(row_scale), pairs // keys)
    return followed @ weights.to(followed.dtype)


def near_diagonals(batch: LayerAttention) -> Tensor:
    """(text, head, offset) attention summed along each diagonal up to FARTHEST from the middle one."""
    if (sums := batch.reduce(one_pass)) is not None and sums.by_offset is not None:
        return sums.by_offset
    if not isinstance(batch, MovedBatch):
        return batch.reduce(_band).sum(2)
    room = torch.nn.functional.pad(batch.lengths, (FARTHEST, FARTHEST))
    band = batch.looked.reduce(_band) * room.unfold(-1, 2 * FARTHEST + 1, 1)
    return (batch.reduce(row_scale)[..., None, :] @ band)[..., 0, :]


def _band(batch: LayerAttention) -> Tensor:
    """(text, head, query, offset) the attention near the diagonal; 0 where there is no such neighbour."""
    # With room on both sides and rows read one element longer, each offset stands in a column of its own.
    padded = torch.nn.functional.pad(batch.attention, (FARTHEST, FARTHEST))
    shape = (*padded.shape[:3], 2 * FARTHEST + 1)
    return padded.as_strided(shape, (*padded.stride()[:2], padded.shape[-1] + 1, 1)).contiguous()


def mean_over_groups(values: Tensor, queries: TokenBatch) -> Tensor:
    """(text, head, group) mean of `values` (text, head, query) over each QueryGroup."""
    return values @ queries.derive(group_weights).to(values.dtype).mT


def entropy_of(attention: Tensor) -> Tensor:
    """(...) entropy over the last axis, in nats; 0 log 0 is 0."""
    smallest = torch.finfo(attention.dtype).tiny
    return attention.clamp_min(smallest).log_().mul_(attention).sum(-1).neg_()


def divergence_of(first: Tensor, second: Tensor) -> Tensor:
    """(..., query) Jensen-Shannon divergence of maps (..., query, key) in nats; padding holds 0 and adds nothing.

    H((p + q) / 2) - (H(p) + H(q)) / 2.
    """
    own = (entropy_of(first) + entropy_of(second)) / 2
    return (entropy_of((first + second) / 2) - own).clamp_min(0)


def cosine_of(first: Tensor, second: Tensor) -> Tensor:
    """(...) cosine similarity of whole maps (..., query, key); 0 where there is padding.

    Two heads that look nowhere at all are alike (1); one that does and one that does not are not (0).
    """
    dot = (first * second).sum((-2, -1))
    norms = [maps.square().sum((-2, -1)) for maps in (first, second)]
    cosine = (dot / (norms[0] * norms[1]).sqrt().clamp_min(torch.finfo(dot.dtype).tiny)).clamp_max(1)
    return torch.where((norms[0] == 0) & (norms[1] == 0), 1.0, cosine)


def window_sums(batch: LayerAttention) -> Tensor:
    """(text, head, self and windows) attention to ordinary keys, summed over queries by distance."""
    if (sums := batch.reduce(one_pass)) is not None and sums.by_distance is not None:
        return sums.by_distance
    diagonals = _diagonal_sums(batch)
    return diagonals @ batch.keys.derive(window_table).to(diagonals.dtype)


def pattern_sums(batch: LayerAttention) -> Tensor:
    """(text, head, pattern) attention from all queries to the keys that each pattern points at."""
    if (sums := batch.reduce(one_pass)) is not None and sums.by_pattern is not None:
        return sums.by_pattern
    return _pair_sums(batch, *batch.keys.derive(pattern_pairs))


def _diagonal_sums(batch: LayerAttention) -> Tensor:
    """(text, head, offset + queries) attention to ordinary keys, summed along every diagonal.

    Offset is key minus query. The map is laid into a wider zeroed buffer; read back with rows one element
    longer, its diagonals stand in columns, and one column sum does all offsets at once.
    """
    looked = batch.looked if isinstance(batch, MovedBatch) else batch
    attention, keys = looked.attention, batch.keys.derive(ordinary_keys)
    columns = keys[:, None].to(attention.dtype)  # (text, 1, key)
    scale = None
    if isinstance(batch, MovedBatch):
        columns, scale = columns * batch.lengths, batch.reduce(row_scale)
    texts, heads, queries, width = attention.shape
    width += queries
    # On a CPU texts go one by one, so that the buffer stays in cache.
    step = 1 if attention.device.type == "cpu" else texts
    buffer = batch.keys.derive(_Zeros).like(attention, (step, heads, queries * (width + 1)))
    laid = buffer.as_strided((step, *attention.shape[1:]), (*buffer.stride()[:2], width, 1), queries)
    rows = buffer.view(step, heads, queries, width + 1)
    sums = attention.new_empty(texts, heads, width + 1)
    for start in range(0, texts, step):
        part = slice(start, start + step)
        torch.mul(attention[part], columns[part, :, None], out=laid)
        sums[part] = rows.sum(2) if scale is None else (scale[part, :, None, :] @ rows)[:, :, 0]
    return sums


class _Zeros:
    """A zeroed buffer for all layers of a batch: each writes the same places, and the rest stays zero."""

    def __init__(self, tokens: TokenBatch) -> None:
        self._buffer: Tensor | None = None

    def like(self, attention: Tensor, shape: tuple[int, ...]) -> Tensor:
        if self._buffer is None or self._buffer.shape != shape or self._buffer.dtype != attention.dtype:
            self._buffer = attention.new_zeros(shape)
        return self._buffer
