"""One attention call, as those who look at it or change it are handed it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn

from headscope.errors import CaptureError
from headscope.trace.scores import TextScores, wide

_ALL = slice(None)

# What rounding may do to weights @ value, as a share of the largest value.
_ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-4}
_ROUNDING_IN_HALF = 3e-2

# What hides a key makes its score smaller than any other by far more than this; old architectures add -10,000.
_FAR = 5_000


@dataclass(frozen=True)
class AttentionInputs:
    """What a layer's attention function was given: enough to compute what it does in another way."""

    module: nn.Module
    query: Tensor  # (text, head, query, neuron) after any rotation
    key: Tensor  # (text, group, key, neuron) after any rotation
    value: Tensor  # (text, group, key, dim)
    mask: Tensor | None  # (text or 1, head or 1, query or 1, key) added to the scores
    position_bias: Tensor | None = None  # likewise
    scaling: float | None = None
    soft_cap: float | None = None

    @property
    def scale(self) -> float:
        """What products of queries and keys are multiplied with."""
        return float(self.query.shape[-1] ** -0.5 if self.scaling is None else self.scaling)

    @property
    def sinks(self) -> Tensor | None:
        """(head,) a score that no key has, counted in by the softmax."""
        sinks = getattr(self.module, "sinks", None)
        return sinks.detach().reshape(-1) if isinstance(sinks, Tensor) else None

    @property
    def mask_of_all(self) -> Tensor | None:
        """(text, head, query, key) the mask, without a copy."""
        return self._of_all(self.mask)

    @property
    def bias_of_all(self) -> Tensor | None:
        """(text, head, query, key) the position bias, without a copy."""
        return self._of_all(self.position_bias)

    def finish(self, products: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """Turn products of queries and keys into scores, in place; `part` takes theirs of what is there for all."""
        products.mul_(self.scale)
        if self.soft_cap is not None:
            products.div_(self.soft_cap).tanh_().mul_(self.soft_cap)
        for added in (self.bias_of_all, self.mask_of_all):
            if added is not None:
                products.add_(part(added))
        return products

    def weights_of(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the weights of the queries at `places` (text, row) of all or some `texts` (text,)."""
        of = torch.arange(len(self.query), device=places.device) if texts is None else texts

        def rows(tensor: Tensor) -> Tensor:
            return tensor[of[:, None], :, places].transpose(1, 2)

        query = rows(self.query)
        key = self.key[of].repeat_interleave(query.shape[1] // self.key.shape[1], 1)
        scores = self.finish(query @ key.mT, rows)
        if self.sinks is not None:
            sinks = self.sinks.to(scores)[:, None, None].expand(*scores.shape[:3], 1)
            scores = torch.cat([scores, sinks], -1)
        return scores.softmax(-1)[..., : key.shape[2]]

    def _of_all(self, added: Tensor | None) -> Tensor | None:
        if added is None:
            return None
        texts, heads, queries, _ = self.query.shape
        keys = self.key.shape[2]
        return added[..., :keys].expand(texts, heads, queries, keys)


@dataclass(frozen=True)
class AttentionCall:
    """What a layer's heads did, after the model's own eager function and before the output projection."""

    module: nn.Module
    weights: Tensor  # (text, head, query, key)
    output: Tensor  # (text, query, head, dim)
    query: Tensor  # (text, head, query, neuron) after any rotation
    key: Tensor  # (text, group, key, neuron) after any rotation
    value: Tensor  # (text, group, key, dim) the heads are split evenly among the groups
    mask: Tensor | None  # (text or 1, head or 1, query or 1, key) added to the scores; None hides nothing
    position_bias: Tensor | None = None  # (text or 1, head or 1, query or 1, key) added to the scores too
    scaling: float | None = (
        None  # of the products of queries and keys; None for one over the root of the neurons
    )
    soft_cap: float | None = None
    constant: frozenset[int] = frozenset()
    """The heads whose output was replaced by one that does not follow from their weights."""
    softmax_input: Tensor | None = None
    """(text, head, query, key) where the module took the softmax itself: scores, biases and masks in one."""
    unknown_options: tuple[str, ...] = ()
    """What else its function was given that may change what it does."""
    scores_unknown: str = ""
    """Why its scores are not products of queries and keys and a bias, in words; empty where they are."""

    @property
    def inputs(self) -> AttentionInputs:
        """What it was given."""
        return AttentionInputs(
            self.module,
            self.query,
            self.key,
            self.value,
            self.mask,
            self.position_bias,
            self.scaling,
            self.soft_cap,
        )

    @property
    def visible(self) -> Tensor:
        """(text or 1, head or 1, query, key) True where the query may see the key.

        Told by the mask, not by weights of 0: a sharp head's weights underflow on keys that it may well see. What
        hides a key is (nearly) the least number there is; what is added to a mask for other reasons is not.
        """
        queries, keys = self.weights.shape[2:]
        if self.softmax_input is not None:
            return self.softmax_input > self.softmax_input.amax(-1, keepdim=True) - _FAR
        if self.mask is None:
            return torch.ones(1, 1, queries, keys, dtype=torch.bool, device=self.weights.device)
        hidden = torch.finfo(self.mask.dtype).min / 2
        return (self.mask[..., :keys] > hidden).expand(-1, -1, queries, -1)

    def output_of(self, heads: Tensor, weights: Tensor) -> Tensor:
        """(text, query, chosen head, dim) what `heads` (chosen head,) give with other weights (…, query, key)."""
        per_group = self.weights.shape[1] // self.value.shape[1]
        value = self.value[:, heads // per_group]  # (text, chosen head, key, dim)
        return (weights.to(value.dtype) @ value).transpose(1, 2).to(self.output.dtype)

    def only(self, text: int) -> Self:
        """The call as if there were no other text."""

        def own(tensor: Tensor) -> Tensor:
            return tensor[text : text + 1] if len(tensor) > 1 else tensor

        return replace(
            self,
            weights=own(self.weights),
            output=own(self.output),
            query=own(self.query),
            key=own(self.key),
            value=own(self.value),
            mask=None if self.mask is None else own(self.mask),
            position_bias=None if self.position_bias is None else own(self.position_bias),
            softmax_input=None if self.softmax_input is None else own(self.softmax_input),
        )

    @torch.no_grad()
    def scores(
        self, text: int, heads: Collection[int], queries: Tensor | slice = _ALL, keys: Tensor | slice = _ALL
    ) -> TextScores:
        """What the weights of `heads` on one text are made of; `queries` (query,), `keys` (key,): its real tokens."""
        if self.scores_unknown:
            raise CaptureError(f"headscope cannot tell the scores: {self.scores_unknown}")
        texts, count, asking, seen = self.weights.shape
        groups, neurons = self.key.shape[1], self.query.shape[-1]
        shapes = (self.query.shape, self.key.shape)
        if shapes != ((texts, count, asking, neurons), (texts, groups, seen, neurons)) or count % groups:
            raise CaptureError(
                f"{type(self.module).__name__} has queries of shape {tuple(self.query.shape)} and keys of "
                f"{tuple(self.key.shape)} for weights of {tuple(self.weights.shape)}; headscope cannot tell its scores"
            )
        alone, chosen = self.only(text), torch.tensor(sorted(heads), device=self.weights.device)

        def part(tensor: Tensor) -> Tensor:
            own = tensor[0].expand(count, asking, seen)[chosen]
            return own[:, queries][:, :, keys]  # (chosen head, query, key)

        visible = part(alone.visible)
        if (visible != visible[:1]).any():
            raise CaptureError(
                "the heads of a layer see different keys; headscope cannot tell their scores together"
            )
        weights = wide(part(alone.weights))
        hidden = ~visible[0].to(weights.device)
        sinks = getattr(self.module, "sinks", None)
        scale = float(neurons**-0.5 if self.scaling is None else self.scaling)
        query = wide(alone.query[0, chosen][:, queries]) * scale
        key = wide(alone.key[0, chosen // (count // groups)][:, keys])
        if alone.softmax_input is None:
            added = [tensor for tensor in (alone.position_bias, alone.mask) if tensor is not None]
            biases = [wide(part(tensor[..., :seen])).masked_fill(hidden, 0) for tensor in added]
        else:
            biases = [_beside(query @ key.mT, wide(part(alone.softmax_input)), hidden)]
        bias = torch.stack(biases).sum(0) if biases else None
        scores = TextScores(
            query,
            key,
            bias if bias is not None and bias.any() else None,
            ~hidden,
            weights,
            self.soft_cap,
            wide(sinks.reshape(-1)[chosen]) if isinstance(sinks, Tensor) else None,
            scale,
            self.weights.dtype,
        )
        # Some architectures let their sink shrink what a head gives instead of its weights.
        without = replace(scores, sink=None)
        return without if scores.sink is not None and without.apart < scores.apart else scores

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
        first = self.only(0)
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


def _beside(products: Tensor, scores: Tensor, hidden: Tensor) -> Tensor:
    """(head, query, key) what scores have beside products of queries and keys; 0 where that is rounding."""
    rest = (scores - products).masked_fill(hidden, 0)
    rounding = _ROUNDING[torch.float32] * scores.masked_fill(hidden, 0).abs().amax().clamp(min=1)
    return rest if float(rest.abs().amax()) > float(rounding) else torch.zeros_like(rest)
