"""What an edit does to the heads of one layer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from headscope.errors import InterventionError, OptionError
from headscope.models import Model
from headscope.trace import AttentionCall, Capture, Forward, surveyed
from headscope.trace.architecture import Place
from headscope.types import StackName

How = Literal["zero", "uniform", "mean", "intra", "inter"]
HOWS: tuple[How, ...] = get_args(How)

Means = Mapping[StackName, Tensor]
"""(layer, head, dim) for each stack, as `mean_outputs` gives them."""

Side = Literal["source", "target"]
SentenceIds = Tensor | Callable[[Mapping[str, Any]], Tensor]
"""(text, token) the number of each token's sentence, or a function of the forward pass's inputs that gives it."""
Sentences = SentenceIds | Mapping[Side, SentenceIds]


def editable(model: Model | Capture, why: str = "") -> Capture:
    """What a model is edited through; InterventionError, which says what that means, where it cannot be."""
    capture = model if isinstance(model, Capture) else surveyed(model)
    if not capture.hooked:
        reason = (
            why
            or "does not let its attention be changed while it runs; its heads can be watched but not edited"
        )
        raise InterventionError(f"{capture.model.name} ({capture.model.architecture}) {reason}")
    return capture


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
        same = self._same_sentence(place, call, forward)
        removed = same if self.how == "intra" else ~same  # (text, query, key)
        weights = call.weights[:, heads]
        left = weights.masked_fill(removed[:, None], 0)
        self.masked = self.masked or bool((removed & call.visible.any(1)).any())
        return renormalised(weights, left) if self.renormalise else left

    def _same_sentence(self, place: Place, call: AttentionCall, forward: Forward) -> Tensor:
        """(text, query, key) True where both tokens are of one sentence."""
        texts, _, queries, keys = call.weights.shape
        asks: Side = "target" if self.model.is_encoder_decoder and place.stack != "encoder" else "source"
        seen: Side = "target" if asks == "target" and place.stack == "decoder" else "source"
        key_ids = self._sentence_ids(seen, forward, (texts, keys)).to(call.weights.device)
        if asks == seen:
            query_ids = key_ids[:, keys - queries :]  # with a cache only the newest tokens ask
        else:
            query_ids = self._sentence_ids(asks, forward, (texts, queries)).to(call.weights.device)
        return query_ids[:, :, None] == key_ids[:, None, :]

    def _sentence_ids(self, side: Side, forward: Forward, shape: tuple[int, int]) -> Tensor:
        """(text, token) the number of each token's sentence."""
        ids: Any = self.sentences
        if isinstance(ids, Mapping):
            if side not in ids:
                raise OptionError(
                    f"sentences has no {side!r}; give sentences={{'source': ..., 'target': ...}}"
                )
            ids = ids[side]
        elif ids is not None and self.model.is_encoder_decoder:
            raise OptionError(
                f"{self.model.name} reads one text and writes another; say sentences={{'source': ..., 'target': ...}}"
            )
        if callable(ids):
            ids = ids(forward.inputs)
        elif ids is None:
            ids = self._segments(forward)
        if not isinstance(ids, Tensor) or tuple(ids.shape) != shape:
            seen = tuple(ids.shape) if isinstance(ids, Tensor) else type(ids).__name__
            raise OptionError(
                f"sentences of shape {seen} do not fit a batch of {shape[0]} texts of {shape[1]} tokens; give one "
                "number a token, padding included"
            )
        if torch.is_floating_point(ids):
            raise OptionError("sentences are numbers of sentences: give whole numbers")
        return ids

    def _segments(self, forward: Forward) -> Tensor:
        """(text, token) the segments of the input."""
        segments: Tensor | None = forward.inputs.get("token_type_ids") if self.model.has_segments else None
        if segments is None:
            why = "was run without token_type_ids" if self.model.has_segments else "has no segments"
            raise OptionError(
                f"{self.model.name} {why}, so headscope cannot tell its sentences; give sentences=, a number for each "
                "token (text, token), or a function of the inputs that returns it"
            )
        return segments


def renormalised(weights: Tensor, left: Tensor) -> Tensor:
    """What is left of weights (…, query, key), each row scaled up to what it had; rows with nothing left are 0."""
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
