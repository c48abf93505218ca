"""What an edit does to the heads of one layer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from headscope.capture import AttentionCall, Forward
from headscope.edits.sentences import Sentences, same_sentence
from headscope.errors import OptionError
from headscope.models import Model
from headscope.models.stacks import Place
from headscope.types import StackName

How = Literal["zero", "uniform", "mean", "intra", "inter"]
HOWS: tuple[How, ...] = ("zero", "uniform", "mean", "intra", "inter")

Means = Mapping[StackName, Tensor]
"""(layer, head, dim) for each stack, as `mean_outputs` gives them."""


@dataclass(eq=False)
class Change:
    """One way to edit heads, with what it needs to know."""

    model: Model
    how: How
    renormalise: bool = False
    means: Means | None = None
    sentences: Sentences | None = None
    masked: bool = False
    """Whether any attention was masked so far; only kept for "intra" and "inter"."""

    def apply(self, place: Place, heads: Tensor, call: AttentionCall, forward: Forward) -> AttentionCall:
        """The call with `heads` (chosen head,) edited and all others as they were, bit for bit."""
        call.check(heads)
        if self.how == "zero":
            return call.silenced(heads)
        if self.how == "uniform":
            return call.with_weights(heads, _uniform(call, heads))
        if self.how == "mean":
            assert self.means is not None
            vectors = self.means[place.stack][place.layer].to(call.output)[heads]  # (chosen head, dim)
            texts, queries = call.output.shape[:2]
            return call.with_output(heads, vectors.expand(texts, queries, -1, -1))
        if call.constant & set(heads.tolist()):
            raise OptionError(
                f"a head of layer {place.layer} gives its mean output whatever it looks at, so masking its attention "
                "would do nothing; do only one of the two"
            )
        return call.with_weights(heads, self._masked(place, heads, call, forward))

    def _masked(self, place: Place, heads: Tensor, call: AttentionCall, forward: Forward) -> Tensor:
        """(text, chosen head, query, key)."""
        same = same_sentence(self.model, place, call, forward, self.sentences)
        removed = same if self.how == "intra" else ~same  # (text, query, key)
        weights = call.weights[:, heads]
        left = weights.masked_fill(removed[:, None], 0)
        self.masked = self.masked or bool((removed & call.visible.any(1)).any())
        if not self.renormalise:
            return left
        # To what the row had, which is 1 but for architectures with a sink.
        had, has = weights.sum(-1, keepdim=True), left.sum(-1, keepdim=True)
        return torch.where(has > 0, left * (had / has.where(has > 0, 1)), 0)


def _uniform(call: AttentionCall, heads: Tensor) -> Tensor:
    """(text, chosen head, query, key) 1 / n on the n keys that the query may see; 0 for one that sees none."""
    visible = call.visible
    if visible.shape[1] > 1:
        visible = visible[:, heads]
    share = visible.to(call.weights.dtype) / visible.sum(-1, keepdim=True).clamp(min=1)
    texts = call.weights.shape[0]
    return share.expand(texts, len(heads), -1, -1)
