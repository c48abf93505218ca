"""Templates: what attention would be if a head did one nameable thing and nothing else.

A template is a row of weights for a query, evenly over the keys that its name points at; evenly over all that the query
sees where it points at none. `TEMPLATES` says what each points at.
"""

import torch
from torch import Tensor

from headscope.measures.folds import mixed_ids
from headscope.types import COMMA, PERIOD, SEP, TokenBatch

OFFSETS = (-3, -2, -1, 1, 2, 3)
TEMPLATES = (
    "even",
    "self",
    *(f"offset_{offset}" for offset in OFFSETS),
    "first_token",
    "delimiters",
    "punctuation",
    "same_word",
    "same_word_other_sentence",
    "induction",
    "own_sentence",
    "other_sentence",
)

SYNTAX = ("syntactic_head", "dependents")
"""Templates of texts whose words have syntactic heads: they come after the others."""

_MIXER = 6364136223846793005
_LARGEST = (1 << 62) - 1


def sampled_queries(tokens: TokenBatch, most: int) -> tuple[Tensor, Tensor]:
    """(text, row) places of queries drawn by a hash of the text, `most` of each, and which of them are real.

    The same ones in any batch: what is drawn depends on a text's own tokens.
    """
    places = torch.arange(1, tokens.ids.shape[1] + 1, device=tokens.ids.device)
    mixed = (tokens.derive(mixed_ids)[:, None] + places * _MIXER) * _MIXER
    mixed = ((mixed ^ (mixed >> 29 & _LARGEST)) & _LARGEST).masked_fill(~tokens.is_token, _LARGEST)
    drawn = mixed.argsort(dim=-1, stable=True)[:, :most]
    return drawn, tokens.is_token.gather(1, drawn)


def template_rows(tokens: TokenBatch, places: Tensor, *, causal: bool) -> Tensor:
    """(text, template, row, key) the weights that each template gives the queries at `places` (text, row).

    Templates are TEMPLATES, and where syntactic heads are known SYNTAX.
    """
    sees = visible(tokens, places, causal=causal)  # (text, row, key)
    key = torch.arange(tokens.ids.shape[1], device=places.device)
    offset = key - places[..., None]

    def of_query(values: Tensor) -> Tensor:
        return values.gather(1, places)[..., None]  # (text, row, 1)

    def same_as(values: Tensor, others: Tensor) -> Tensor:
        return (values[:, None] == of_query(others)) & (values >= 0)[:, None]

    def same(values: Tensor) -> Tensor:
        return same_as(values, values)

    same_word = same(tokens.word_type) & (tokens.word[:, None] != of_query(tokens.word))
    is_own = same(tokens.segment)
    is_other = (tokens.segment >= 0)[:, None] & (of_query(tokens.segment) >= 0) & ~is_own
    before = torch.cat([tokens.ids.new_full((len(tokens.ids), 1), -1), tokens.ids[:, :-1]], 1)
    masks = {
        "even": sees,
        "self": offset == 0,
        **{f"offset_{by}": offset == by for by in OFFSETS},
        "first_token": (key == 0).expand_as(sees),
        "delimiters": (tokens.role == SEP)[:, None].expand_as(sees),
        "punctuation": ((tokens.role == PERIOD) | (tokens.role == COMMA))[:, None].expand_as(sees),
        "same_word": same_word,
        "same_word_other_sentence": same_word & is_other,
        "induction": (before[:, None] == of_query(tokens.ids)) & (offset < 0),
        "own_sentence": is_own,
        "other_sentence": is_other,
    }
    if tokens.governor is not None:
        head = of_query(tokens.governor)
        masks["syntactic_head"] = (tokens.word[:, None] == head) & (head >= 0)
        masks["dependents"] = same_as(tokens.governor, tokens.word)
    rows = torch.stack([mask & sees for mask in masks.values()], 1)
    rows = torch.where(rows.any(-1, keepdim=True), rows, sees[:, None]).to(digits_of(places))
    return rows / rows.sum(-1, keepdim=True).clamp_min(1)


def digits_of(numbers: Tensor) -> torch.dtype:
    """What means over rows are formed in: an accelerator is many times as fast in half the digits."""
    return torch.float64 if numbers.device.type == "cpu" else torch.float32


def visible(tokens: TokenBatch, places: Tensor, *, causal: bool) -> Tensor:
    """(text, row, key) which keys the queries at `places` (text, row) see."""
    sees = tokens.is_token[:, None].expand(-1, places.shape[1], -1)
    key = torch.arange(tokens.ids.shape[1], device=places.device)
    return sees & (key <= places[..., None]) if causal else sees


def shifted(tokens: TokenBatch) -> TokenBatch:
    """Another text of the same length: every token but the first and last moved on by a third of the text.

    Places stay what they are; words, sentences and repetitions lie elsewhere.
    """
    inner = (tokens.lengths - 2).clamp_min(1)[:, None]
    place = torch.arange(tokens.ids.shape[1], device=tokens.ids.device)[None]
    moved = 1 + (place - 1 + (inner + 2) // 3) % inner
    source = torch.where((place > 0) & (place <= inner), moved, place)
    return tokens.map(lambda values: values.gather(1, source) if values.dim() == 2 else values)
