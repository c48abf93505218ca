"""What measures need of an attention map, each computed once per layer however many measures ask.

A reduction takes an `AttentionBatch` and returns a tensor without the (query, key) plane. Measures call
`batch.reduce(reduction)`; what depends on the tokens alone is derived once for all layers with
`tokens.derive(function)`.

Of a moved batch (each weight times the length of what is fetched, rows adding up to 1) no map is formed: its columns
are those of the weights, scaled, and its rows are scaled afterwards. The logarithms, which cost most, serve both.
"""

from enum import IntEnum
from functools import lru_cache

import torch
from torch import Tensor

from headscope.measures import cpu
from headscope.types import CLS, OTHER, ROLES, SEP, AttentionBatch, MovedBatch, TokenBatch


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

_LENGTHS, _LOG_LENGTHS = range(len(KeyClass), len(KeyClass) + 2)
"""The columns of the class table in which a moved batch sums weights times f, and weights times f log f."""


def one_pass(batch: AttentionBatch) -> cpu.MapSums | None:
    """What one pass over the maps gives, where they are on a CPU and compiled loops can take them."""
    looked = batch.looked if isinstance(batch, MovedBatch) else batch
    if batch.keys.ids.device.type != "cpu" or not cpu.takes(
        looked.attention
    ):  # elsewhere maps may not be formed
        return None
    kinds, members = batch.queries.derive(_query_kinds)
    ordinary = batch.keys.derive(ordinary_keys)
    return cpu.map_sums(batch, kinds, members.shape[2], ordinary, farthest=FARTHEST)


def ordinary_keys(tokens: TokenBatch) -> Tensor:
    """(text, token) which keys count by their distance: all but special tokens and punctuation."""
    return (tokens.role == OTHER) & tokens.is_token


def _query_kinds(tokens: TokenBatch) -> tuple[Tensor, Tensor]:
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


def class_mass(batch: AttentionBatch) -> Tensor:
    """(text, head, group, class) mean attention from each QueryGroup to each KeyClass."""
    if (sums := batch.reduce(one_pass)) is not None:
        of_kinds = sums.columns.flatten(1, 2) @ batch.keys.derive(
            _precise_classes
        )  # (text, head and kind, class)
        members = batch.queries.derive(_query_kinds)[1]  # (text, group, kind)
        return members[:, None] @ of_kinds.view(*sums.columns.shape[:3], -1)
    mass = batch.reduce(_mass)  # (text, head, query, class)
    if isinstance(batch, MovedBatch):
        mass = mass * batch.reduce(row_scale)[..., None]
    weights = batch.queries.derive(group_weights).to(mass.dtype)  # (text, group, query)
    return (weights[:, None] @ mass)[..., : len(KeyClass)]


def row_scale(batch: AttentionBatch) -> Tensor:
    """(text, head, query) one over sum_k A[i, k] |f_k| of a moved batch; 0 where nothing is fetched."""
    if (sums := batch.reduce(one_pass)) is not None:
        return sums.scales
    total = batch.reduce(_mass)[..., _LENGTHS]
    return torch.where(total > 0, 1 / total, 0)


def _mass(batch: AttentionBatch) -> Tensor:
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


def mean_entropy(batch: AttentionBatch) -> Tensor:
    """(text, head, group) mean entropy of each QueryGroup's attention, in nats."""
    return mean_over_groups(batch.reduce(entropies), batch.queries)


def entropies(batch: AttentionBatch) -> Tensor:
    """(text, head, query) the entropy of each query's attention, in nats.

    Of a moved batch m = a f / z it is log z - sum a f (log a + log f) / z: the logarithms of the weights serve both.
    """
    if (sums := batch.reduce(one_pass)) is not None:
        return sums.entropies
    if not isinstance(batch, MovedBatch):
        return batch.reduce(_weights_log_weights).sum(-1).neg_()
    # Not a matrix product, which is slow with a single column.
    logarithms = batch.looked.reduce(_weights_log_weights)
    of_weights: Tensor = torch.linalg.vecdot(logarithms, batch.lengths[:, :, None])  # (text, head, query)
    scale = batch.reduce(row_scale)
    entropy = -(of_weights + batch.reduce(_mass)[..., _LOG_LENGTHS]) * scale
    return (entropy - scale.clamp_min(torch.finfo(scale.dtype).tiny).log()).where(scale > 0, 0).clamp_min_(0)


def _weights_log_weights(batch: AttentionBatch) -> Tensor:
    """(text, head, query, key) a log a; 0 log 0 is 0."""
    # Not torch.special.entr, which is not vectorised on the CPU and costs twice as much.
    smallest = torch.finfo(batch.attention.dtype).tiny
    return batch.attention.clamp_min(smallest).log_().mul_(batch.attention)


def pair_sums(batch: AttentionBatch, pairs: Tensor, weights: Tensor) -> Tensor:
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


def near_diagonals(batch: AttentionBatch) -> Tensor:
    """(text, head, offset) attention summed along each diagonal up to FARTHEST from the middle one."""
    if (sums := batch.reduce(one_pass)) is not None:
        return sums.near
    if not isinstance(batch, MovedBatch):
        return batch.reduce(_band).sum(2)
    room = torch.nn.functional.pad(batch.lengths, (FARTHEST, FARTHEST))
    band = batch.looked.reduce(_band) * room.unfold(-1, 2 * FARTHEST + 1, 1)
    return (batch.reduce(row_scale)[..., None, :] @ band)[..., 0, :]


def _band(batch: AttentionBatch) -> Tensor:
    """(text, head, query, offset) the attention near the diagonal; 0 where there is no such neighbour."""
    # With room on both sides and rows read one element longer, each offset stands in a column of its own.
    padded = torch.nn.functional.pad(batch.attention, (FARTHEST, FARTHEST))
    shape = (*padded.shape[:3], 2 * FARTHEST + 1)
    return padded.as_strided(shape, (*padded.stride()[:2], padded.shape[-1] + 1, 1)).contiguous()


def picked(values: Tensor, dim: int, places: tuple[int, ...]) -> Tensor:
    """Some places along a dimension; unlike a list of them, this stops no accelerator."""
    return values.index_select(dim, _index(places, values.device))


@lru_cache(maxsize=64)
def _index(places: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.tensor(places, device=device)


def mean_over_groups(values: Tensor, queries: TokenBatch) -> Tensor:
    """(text, head, group) mean of `values` (text, head, query) over each QueryGroup."""
    return values @ queries.derive(group_weights).to(values.dtype).mT


def groups_present(tokens: TokenBatch) -> Tensor:
    """(text, group) which QueryGroups a text has."""
    return tokens.derive(group_weights).any(-1)


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


def diagonal_sums(batch: AttentionBatch) -> Tensor:
    """(text, head, offset + queries) attention to ordinary keys, summed along every diagonal.

    Offset is key minus query. The map is laid into a wider zeroed buffer; read back with rows one element
    longer, its diagonals stand in columns, and one column sum does all offsets at once.
    """
    if (passed := batch.reduce(one_pass)) is not None:
        return passed.diagonals
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


def class_table(tokens: TokenBatch) -> Tensor:
    """(text, token, class) 1 where the token is of the class; columns past the last KeyClass are empty."""
    table = torch.zeros(*tokens.ids.shape, _TABLE_WIDTH, device=tokens.ids.device)
    for role in range(len(ROLES)):
        table[..., role] = tokens.role == role
    table[..., KeyClass.FIRST_TEXT] = tokens.segment == 0
    table[..., KeyClass.SECOND_TEXT] = tokens.segment == 1
    table[:, 0, KeyClass.FIRST_TOKEN] = 1
    return table * tokens.is_token[..., None]


def _precise_classes(tokens: TokenBatch) -> Tensor:
    """(text, token, class) the same for the sums of one pass, without columns to spare."""
    return tokens.derive(class_table)[..., : len(KeyClass)].double()


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
    pair = [QueryGroup.FIRST_TEXT, QueryGroup.SECOND_TEXT]
    counts[:, pair] = counts[:, pair].sum(1, keepdim=True)
    return members / counts.clamp_min(1)
