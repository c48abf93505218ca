"""From attention between tokens to attention between words.

Attention *to* a word split into pieces is the sum over its pieces, attention *from* it the mean over them.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from headscope.types import LayerAttention, TokenBatch


def word_attention(batch: LayerAttention) -> Tensor:
    """(text, head, word, word) what a word gives a word; 0 where a word has no token. Specials are left out."""
    return _from_words(batch, batch.queries.derive(_shares))


def word_attention_by_first_piece(batch: LayerAttention) -> Tensor:
    """The same, from a word's first piece alone: what the released code of Clark et al. computes."""
    return _from_words(batch, batch.queries.derive(_first_pieces))


def word_attention_by(*, faithful: bool) -> Callable[[LayerAttention], Tensor]:
    """How attention between words is made: as the released code of Clark et al. does, or by means over pieces."""
    return word_attention_by_first_piece if faithful else word_attention


def words_present(tokens: TokenBatch) -> Tensor:
    """(text, word) True for words that have a token."""
    return tokens.derive(_members).any(1)


def _from_words(batch: LayerAttention, share: Tensor) -> Tensor:
    members = batch.keys.derive(_members).to(batch.attention.dtype)
    to_words = batch.attention @ members[:, None]  # (text, head, query, word)
    return share.to(batch.attention.dtype)[:, None].transpose(-1, -2) @ to_words


def _members(tokens: TokenBatch) -> Tensor:
    """(text, token, word) True where a token is a piece of a word."""
    words = max(1, int(tokens.word.max()) + 1)  # one at least, so that there is a maximum over words
    return tokens.word[:, :, None] == torch.arange(words, device=tokens.word.device)


def _shares(tokens: TokenBatch) -> Tensor:
    """(text, token, word) one over the number of pieces of the word the token belongs to."""
    members = tokens.derive(_members).float()
    return members / members.sum(1, keepdim=True).clamp_min(1)


def _first_pieces(tokens: TokenBatch) -> Tensor:
    """(text, token, word) 1 where a token is the first piece of a word."""
    members = tokens.derive(_members)
    return (members & (members.cumsum(1) == 1)).float()
