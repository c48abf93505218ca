"""What each kind of head does, read off attention maps: for every text its attention, and that of its control."""

import torch
from torch import Tensor

from headscope.types import CLS, SEP, LayerAttention

Reading = tuple[Tensor, Tensor]
"""(text, head) attention as the kind has it, and the same of its control."""


def offset_attention(weights: Tensor, offset: int, *, first: int, last: int | None = None) -> Tensor:
    """(text, head) mean attention to the key `offset` before the query; of keys `first` to `last`, exclusive."""
    return weights.diagonal(-offset, 2, 3)[..., first:last].float().mean(-1)


def even_share(weights: Tensor, first: int) -> Tensor:
    """(text, head) what one key gets from queries `first` and later that look evenly at what they see."""
    share = (1 / torch.arange(first + 1, weights.shape[2] + 1, dtype=torch.float64)).mean()
    return share.to(weights.device, torch.float32).expand(weights.shape[:2])


def previous_token(weights: Tensor, start: int) -> Reading:
    """Attention to the token before, from all that have an ordinary one; even attention is the control."""
    return offset_attention(weights, 1, first=start), even_share(weights, start + 1)


def first_token(weights: Tensor) -> Reading:
    """Attention of later tokens to the first one; even attention is the control."""
    return weights[:, :, 1:, 0].float().mean(-1), even_share(weights, 1)


def earlier_copy(weights: Tensor, half: int, start: int) -> Tensor:
    """(text, head) attention of the second half to the token as far into the first half."""
    return offset_attention(weights, half, first=start, last=start + half)


def after_copy(weights: Tensor, half: int, start: int) -> Tensor:
    """(text, head) attention of the second half to the token that follows there."""
    return offset_attention(weights, half - 1, first=start + 1, last=start + half)


def natural(batch: LayerAttention, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(text, head) attention to chosen keys, that of a control, and (text, 1) whether the text has such keys.

    `chosen` is (text, query, key). The mean is over queries that have such a key. The control is what the same head
    gives, in the same text, to other keys as far away: a head that only looks so far back has no difference.
    """
    weights = batch.attention.float()
    texts, heads, queries, keys = weights.shape
    others = _pairs(batch) & ~chosen & torch.ones_like(chosen).tril()
    apart = torch.arange(queries, device=weights.device)[:, None] - torch.arange(keys, device=weights.device)
    apart = apart.clamp_min(0).expand(texts, heads, -1, -1).flatten(2)  # (text, head, query * key)

    def by_distance(pairs: Tensor) -> Tensor:
        """(text, head, distance) sums over pairs."""
        zeros = weights.new_zeros(texts, heads, queries)
        return zeros.scatter_add(2, apart, pairs.expand(texts, heads, -1, -1).flatten(2))

    asking = chosen.any(-1).sum(-1)[:, None]  # (text, 1)
    count = by_distance(others[:, None].float())
    usual = by_distance(weights * others[:, None]) / count.clamp_min(1)
    matched = by_distance(chosen[:, None].float()) * (count > 0)
    value = (weights * chosen[:, None]).sum((2, 3)) / asking.clamp_min(1)
    return value, (usual * matched).sum(-1) / asking.clamp_min(1), asking > 0


def copies(batch: LayerAttention) -> Tensor:
    """(text, query, key) True where the key is an earlier token equal to the query; special tokens have none."""
    ids, role = batch.queries.ids, batch.queries.role
    ordinary = batch.queries.is_token & (role != CLS) & (role != SEP)
    same = (ids[:, :, None] == ids[:, None, :]) & ordinary[:, :, None] & ordinary[:, None, :]
    return same.tril(-1)


def after_copies(batch: LayerAttention) -> Tensor:
    """(text, query, key) True where the key follows an earlier token equal to the query, and is before the query."""
    found = copies(batch)
    return torch.nn.functional.pad(found, (1, 0))[..., :-1].tril(-1)


def before(batch: LayerAttention) -> Tensor:
    """(text, query, key) True for the token before the query."""
    return _pairs(batch).triu(-1).tril(-1)


def first(batch: LayerAttention) -> Tensor:
    """(text, query, key) True for the first token, seen from later ones."""
    pairs = _pairs(batch).tril(-1)
    pairs[:, :, 1:] = False
    return pairs


def beside_even(batch: LayerAttention, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same as `natural`, with even attention as the control, for keys that are told by their place alone."""
    asking = chosen.any(-1).sum(-1)[:, None]  # (text, 1)
    value = (batch.attention.float() * chosen[:, None]).sum((2, 3)) / asking.clamp_min(1)
    visible = torch.arange(1, chosen.shape[1] + 1, device=chosen.device)  # (query,)
    even = (chosen.sum(-1) / visible).sum(-1)[:, None] / asking.clamp_min(1)
    return value, even.expand_as(value), asking > 0


def _pairs(batch: LayerAttention) -> Tensor:
    """(text, query, key) True where both are tokens."""
    return batch.queries.is_token[:, :, None] & batch.keys.is_token[:, None, :]
