"""One attention call, as those who look at it or change it are handed it."""

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn

from headscope.errors import CaptureError

# What rounding may do to weights @ value, as a share of the largest value.
_ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-4}
_ROUNDING_IN_HALF = 3e-2


@dataclass(frozen=True)
class AttentionCall:
    """What a layer's heads did, after the model's own eager function and before the output projection."""

    module: nn.Module
    weights: Tensor  # (text, head, query, key)
    output: Tensor  # (text, query, head, dim)
    value: Tensor  # (text, group, key, dim) the heads are split evenly among the groups
    mask: Tensor | None  # (text or 1, head or 1, query or 1, key) added to the scores; None hides nothing
    constant: frozenset[int] = frozenset()
    """The heads whose output was replaced by one that does not follow from their weights."""

    @property
    def visible(self) -> Tensor:
        """(text or 1, head or 1, query, key) True where the query may see the key.

        Told by the mask, not by weights of 0: a sharp head's weights underflow on keys that it may well see. What
        hides a key is (nearly) the least number there is; what is added to a mask for other reasons is not.
        """
        queries, keys = self.weights.shape[2:]
        if self.mask is None:
            return torch.ones(1, 1, queries, keys, dtype=torch.bool, device=self.weights.device)
        hidden = torch.finfo(self.mask.dtype).min / 2
        return (self.mask[..., :keys] > hidden).expand(-1, -1, queries, -1)

    def output_of(self, heads: Tensor, weights: Tensor) -> Tensor:
        """(text, query, chosen head, dim) what `heads` (chosen head,) give with other weights (…, query, key)."""
        per_group = self.weights.shape[1] // self.value.shape[1]
        value = self.value[:, heads // per_group]  # (text, chosen head, key, dim)
        return (weights.to(value.dtype) @ value).transpose(1, 2).to(self.output.dtype)

    @torch.no_grad()
    def check(self, heads: Tensor) -> None:
        """Raise CaptureError unless the output of `heads` is weights @ value, as an edit takes it to be.

        The first text tells: it is a question of the architecture, and looking at all would cost as much as the edit.
        """
        texts, count, queries, _ = self.weights.shape
        groups = self.value.shape[1]
        if count % groups or tuple(self.output.shape) != (texts, queries, count, self.value.shape[-1]):
            raise CaptureError(
                f"{type(self.module).__name__} gives attention output of shape {tuple(self.output.shape)} for "
                f"weights of {tuple(self.weights.shape)} and values of {tuple(self.value.shape)}; headscope cannot "
                "edit that"
            )
        plain = heads[[head not in self.constant for head in heads.tolist()]]
        first = replace(self, weights=self.weights[:1], output=self.output[:1], value=self.value[:1])
        own = first.output[:, :, plain]
        again = first.output_of(plain, first.weights[:, plain])
        rounding = _ROUNDING.get(self.output.dtype, _ROUNDING_IN_HALF) * float(first.value.abs().amax())
        if not torch.allclose(again, own, rtol=0, atol=rounding, equal_nan=True):
            raise CaptureError(
                f"the output of {type(self.module).__name__} is not its weights times its values; headscope cannot "
                "edit it"
            )

    def with_weights(self, heads: Tensor, weights: Tensor) -> Self:
        """The call in which `heads` look where `weights` (text, chosen head, query, key) say."""
        return replace(
            self,
            weights=self.weights.index_copy(1, heads, weights.to(self.weights.dtype)),
            output=self.output.index_copy(2, heads, self.output_of(heads, weights)),
            constant=self.constant - set(heads.tolist()),
        )

    def silenced(self, heads: Tensor) -> Self:
        """The call in which `heads` look nowhere and give nothing."""
        return replace(
            self,
            weights=self.weights.index_fill(1, heads, 0),
            output=self.output.index_fill(2, heads, 0),
            constant=self.constant - set(heads.tolist()),
        )

    def with_output(self, heads: Tensor, output: Tensor) -> Self:
        """The call in which `heads` give `output` (text, query, chosen head, dim), whatever they look at."""
        return replace(
            self,
            output=self.output.index_copy(2, heads, output.to(self.output.dtype)),
            constant=self.constant | set(heads.tolist()),
        )
