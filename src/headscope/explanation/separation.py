"""Which neurons tell keys of one kind from other keys.

For a query, the area under the ROC curve (AUC) of the products of neuron m: the chance that a key of the kind gets
more than another key, ties counting half. 0.5 tells nothing, 1 always more, 0 always less. For one query and one neuron
the keys stand in the order of k[j, m], or the reverse where q[i, m] is negative, so few sortings are needed.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.trace import TextScores
from headscope.types import SEP

CONTRASTS = ("segment", "sentence", "sep")
"""Keys of the query's own segment against the other's; of its own sentence against others'; [SEP] against the rest."""


@dataclass(frozen=True)
class Side:
    """What is known of a text's tokens, as those that ask or those that are looked at; no padding."""

    role: Tensor  # (token,)
    segment: Tensor  # (token,) -1 special tokens
    sentence: Tensor  # (token,) -1 special tokens


@dataclass(frozen=True)
class Contrast:
    """Which keys are of the kind and which are not, for every query."""

    positive: Tensor  # (query, key)
    negative: Tensor  # (query, key)

    @property
    def asks(self) -> Tensor:
        """(query,) True for queries that see keys of both kinds."""
        return self.positive.any(-1) & self.negative.any(-1)


def contrasts(queries: Side, keys: Side, visible: Tensor, *, cross: bool) -> dict[str, Contrast]:
    """The contrasts of a text by name; `visible` is (query, key).

    In cross attention queries and keys are of different texts, so only [SEP] is told from other keys there. A token
    is not compared with itself as being of its own sentence: that would be no more than looking at itself.
    """
    is_sep = (keys.role == SEP).expand_as(visible)
    by_name = {"sep": Contrast(is_sep & visible, ~is_sep & visible)}
    if cross:
        return by_name
    itself = torch.eye(len(visible), dtype=torch.bool, device=visible.device)
    for name in ("segment", "sentence"):
        asking, looked_at = getattr(queries, name)[:, None], getattr(keys, name)[None]
        inside = (asking >= 0) & (looked_at >= 0) & visible & ~itself
        same = asking == looked_at
        by_name[name] = Contrast(inside & same, inside & ~same)
    return by_name


def area(values: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """(..., row) AUC of `values` (..., row, key), `positive` (row, key) against `negative` ones; nan without both."""
    lesser = values.masked_fill(~negative, torch.inf).sort(-1).values.contiguous()
    values = values.contiguous()
    below = torch.searchsorted(lesser, values) + torch.searchsorted(lesser, values, right=True)
    won = (below / 2).masked_fill(~positive, 0).sum(-1, dtype=torch.float64)
    return won / (positive.sum(-1) * negative.sum(-1))


def score_area(text: TextScores, contrast: Contrast) -> Tensor:
    """(head,) the AUC of the whole score, mean over queries that see both kinds."""
    asks = contrast.asks
    return area(text.scores[:, asks], contrast.positive[asks], contrast.negative[asks]).mean(-1)


def neuron_areas(text: TextScores, contrast: Contrast) -> Tensor:
    """(head, neuron) the AUC of each neuron's products, mean over queries that see both kinds."""
    asks = contrast.asks
    both = torch.cat([contrast.positive[asks], contrast.negative[asks]], -1)
    rows, row = torch.unique(both, dim=0, return_inverse=True)  # (row, 2 key), (query,)
    positive, negative = rows.chunk(2, -1)
    key = text.key.transpose(1, 2)  # (head, neuron, key)
    of_keys = area(key[:, :, None].expand(-1, -1, len(rows), -1), positive, negative)  # (head, neuron, row)
    sign = text.query[:, asks].sign().transpose(1, 2)  # (head, neuron, query)
    return (0.5 + sign * (of_keys[..., row] - 0.5)).mean(-1)
