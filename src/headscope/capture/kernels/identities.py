"""Attention by torch alone, without whole maps: by its fused attention with wider values, or a block at a time.

Values V' = [V | classes | K] go through one fused call and come out as the output, the mass by class of key, and
(P K)_i, of which the entropy of query i follows: lse_i - scale q_i (P K)_i. By what heads move, classes and K are there
once more, each row times the length f_j of what is fetched. All of it is in float32: in half precision the difference
loses its digits.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import pad

from headscope.batches import TokenBatch
from headscope.capture.call import AttentionInputs
from headscope.capture.kernels.batch import HIDDEN, SeenMasks, is_plain
from headscope.measures.reductions import PAIR_PATTERNS, KeyClass, class_table

TOGETHER = 1 << 24
"""How many scores, or numbers of wider values, are in memory at once."""
_UNSEEN = -1e30  # a score, or a log-sum-exp, that leaves nothing of a weight
_ALIGNED, _ALIGNED_BIAS = 8, 16  # what fused attention wants widths to be multiples of
_CLASSES = len(KeyClass)


@dataclass(frozen=True)
class Found:
    """What is known of every query of a layer."""

    output: Tensor  # (text, head, query, dim)
    columns: Tensor  # (text, head, query, column) the weights times the table of keys
    logarithms: Tensor  # (way, text, head, query) sums of weights, and of weights times f, times log weights
    normaliser: Tensor  # (text, head, query) the log-sum-exp of the scores

    def part(self, rows: slice) -> "Found":
        """What is known of some queries."""
        output, columns, normaliser = (
            each[:, :, rows] for each in (self.output, self.columns, self.normaliser)
        )
        return Found(output, columns, self.logarithms[..., rows], normaliser)

    def mass(self, way: int) -> Tensor:
        """(text, head, query, class) attention to each class of key, by where heads look (0) or what they move (1)."""
        mass = self.columns[..., way * _CLASSES : (way + 1) * _CLASSES]
        return mass * self.scale[..., None] if way else mass

    def entropies(self, way: int) -> Tensor:
        """(text, head, query) in nats; of m = a f / z it is log z - sum a f (log a + log f) / z."""
        if not way:
            return -self.logarithms[0].clamp_max(0)
        of_moved = (self.logarithms[1] + self.columns[..., -1]) * self.scale
        entropy = -of_moved - self.scale.clamp_min(torch.finfo(torch.float32).tiny).log()
        return entropy.where(self.scale > 0, 0).clamp_min(0)

    @cached_property
    def scale(self) -> Tensor:
        """(text, head, query) one over sum_j a_ij f_j; 0 where nothing is fetched."""
        total = self.columns[..., -2]
        return torch.where(total > 0, 1 / total, 0)


class Attention:
    """One call: how its queries see its keys, and what is known of every query."""

    def __init__(
        self,
        inputs: AttentionInputs,
        sides: tuple[TokenBatch, TokenBatch],
        lengths: Tensor | None,
        *,
        causal: bool,
        plain: bool | None = None,
    ) -> None:
        """`lengths` (text, head, key) of what is fetched, where it is asked what heads move.

        `plain` says that the mask hides padding and, in a causal stack, what lies ahead, and nothing else; None: look.
        """
        query, key, value = (side.float() for side in (inputs.query, inputs.key, inputs.value))
        self.inputs = replace(inputs, query=query, key=key, value=value)
        self.sides, self.lengths = sides, lengths
        self.texts, self.heads, self.queries, _ = query.shape
        self.keys = key.shape[2]
        if plain is None:
            plain = inputs.mask is not None and is_plain(inputs, sides, causal=causal)
        self.plain = plain and (not causal or self.queries == self.keys)
        # Padding is on the right: who sees nothing ahead sees none of it.
        self.causal = self.plain and causal

    def blocks(self) -> Iterator[slice]:
        """All queries, some at a time."""
        # Which patterns point at which keys takes as much as the maps of so many heads.
        heads = max(self.heads, len(PAIR_PATTERNS))
        step = max(1, TOGETHER // (self.texts * heads * self.keys))
        for start in range(0, self.queries, step):
            yield slice(start, min(self.queries, start + step))

    def log_weights(self, rows: slice, normaliser: Tensor | None) -> tuple[Tensor, Tensor]:
        """(text, head, row, key) the logarithms of weights, and (text, head, row) the log-sum-exp; found if not given.

        In a causal stack keys that lie ahead of all rows are left out.
        """
        seen = rows.stop if self.causal else self.keys
        inputs = replace(self.inputs, mask=None) if self._sees_all else self.inputs
        products = self._by_group(inputs.query[:, :, rows]) @ inputs.key[:, :, :seen].mT
        scores = products.view(self.texts, self.heads, -1, seen)
        inputs.finish(scores, lambda added: added[:, :, rows, :seen])
        if normaliser is None:
            normaliser = scores.logsumexp(-1)
            if inputs.sinks is not None:
                normaliser = torch.logaddexp(normaliser, inputs.sinks.float()[:, None])
            normaliser = normaliser.clamp_min(_UNSEEN)
        return scores.sub_(normaliser[..., None]).clamp_min_(_UNSEEN), normaliser

    def found(self) -> Found | None:
        """What fused attention tells of every query; None where the identities do not hold or torch has no such call.

        They take scores to be products of queries and keys, hidden or not.
        """
        inputs = self.inputs
        others = (inputs.position_bias, inputs.soft_cap, inputs.sinks)
        if any(other is not None for other in others) or inputs.query.device.type not in _FUSED:
            return None
        if not (self.plain or inputs.mask is None or self._only_hides(inputs.mask)):
            return None
        bias, width = self._bias(), inputs.value.shape[-1] + self._table.shape[-1]
        columns = width + self.ways * inputs.key.shape[-1]
        step = max(1, TOGETHER // (self.heads * self.keys * columns))
        parts = [
            self._through_values(slice(start, start + step), bias) for start in range(0, self.texts, step)
        ]
        return joined(parts, 0)

    def of_block(self, weights: Tensor, log_weights: Tensor, normaliser: Tensor) -> Found:
        """The same of a block of queries, from their weights (text, head, row, key) and the logarithms of these."""
        seen = weights.shape[-1]
        output = self._by_group(weights) @ self.inputs.value[:, :, :seen]
        products = weights * log_weights  # (text, head, row, key)
        logarithms = [products.sum(-1)]
        if self.lengths is not None:
            logarithms.append(torch.linalg.vecdot(products, self.lengths[:, :, None, :seen]))
        return Found(
            output.view(self.texts, self.heads, -1, output.shape[-1]),
            weights @ self._table[:, :, :seen],
            torch.stack(logarithms),
            normaliser,
        )

    @property
    def ways(self) -> int:
        """In how many ways attention is weighed."""
        return 1 if self.lengths is None else 2

    @property
    def _sees_all(self) -> bool:
        """Whether the mask hides nothing."""
        return self.plain and self.sides[1].is_full and not self.causal

    def _by_group(self, rows: Tensor) -> Tensor:
        """(text, group, head and row, ...) of (text, head, row, ...): heads of a group have the same keys."""
        return rows.reshape(self.texts, self.inputs.key.shape[1], -1, rows.shape[-1])

    def _of_all_heads(self, side: Tensor, part: slice) -> Tensor:
        """(text, head, key, neuron) of (text, group, key, neuron)."""
        return side[part].repeat_interleave(self.heads // side.shape[1], 1)

    @cached_property
    def _table(self) -> Tensor:
        """(text, head or 1, key, column) the classes of keys; moved: these times f, f, and f log f."""
        classes = self.sides[1].derive(class_table)[:, None, :, :_CLASSES]  # (text, 1, key, class)
        if self.lengths is None:
            return classes
        fetched = self.lengths[..., None]  # (text, head, key, 1)
        looked = classes.expand(-1, self.heads, -1, -1)
        return torch.cat([looked, classes * fetched, fetched, torch.special.xlogy(fetched, fetched)], -1)

    def _only_hides(self, mask: Tensor) -> bool:
        """Whether a mask hides keys and adds nothing to the scores of others."""
        masks = self.sides[1].derive(SeenMasks)
        return masks.found(mask, "keys alone", lambda: bool(((mask == 0) | (mask < HIDDEN)).all()))

    def _bias(self) -> Tensor | None:
        """(text, head, query, key) what hides keys, in rows that begin where fused attention wants them; no copies."""
        mask = self.inputs.mask
        if mask is None or self.causal or self._sees_all:
            return None
        if self.plain:
            padding = ~self.sides[1].is_token[:, None, None]  # (text, 1, 1, key)
            hidden = torch.zeros(padding.shape, device=padding.device).masked_fill_(padding, _UNSEEN)
        else:
            hidden = mask[..., : self.keys].float().clamp_min(_UNSEEN)
        aligned = pad(hidden, (0, -self.keys % _ALIGNED_BIAS))[..., : self.keys]
        return aligned.expand(self.texts, self.heads, self.queries, self.keys)

    def _through_values(self, part: slice, bias: Tensor | None) -> Found:
        """What is known of the queries of some texts, by one fused call."""
        query, width = self.inputs.query[part], self.inputs.value.shape[-1]
        key, value = (self._of_all_heads(side, part) for side in (self.inputs.key, self.inputs.value))
        table = self._table[part].expand(-1, self.heads, -1, -1)
        scored = [key] if self.lengths is None else [key, key * self.lengths[part][..., None]]
        values = torch.cat([value, table, *scored], -1)  # (text, head, key, column)
        columns = values.shape[-1]
        values = pad(values, (0, -columns % _ALIGNED))
        attend = _FUSED[query.device.type]
        hidden = None if bias is None else bias[part]
        mixed, normaliser = attend(query, key, values, hidden, causal=self.causal, scale=self.inputs.scale)
        sizes = [width, table.shape[-1], *[key.shape[-1]] * len(scored)]
        output, sums, *keys = torch.split(mixed[..., :columns], sizes, -1)
        totals = [torch.ones_like(normaliser), sums[..., -2]]  # what weights, and weights times f, add up to
        logarithms = [
            self.inputs.scale * torch.linalg.vecdot(query, each) - total * normaliser
            for each, total in zip(keys, totals, strict=False)
        ]
        # Copies: views would keep all that came out of the call.
        return Found(output.contiguous(), sums.contiguous(), torch.stack(logarithms), normaliser)


def _on_gpu(
    query: Tensor, key: Tensor, values: Tensor, bias: Tensor | None, *, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """(text, head, query, column) attention's output, and (text, head, query) the log-sum-exp of its scores."""
    # The one of torch's fused calls that takes values of another width.
    attend = torch.ops.aten._scaled_dot_product_efficient_attention
    output, normaliser, *_ = attend(query, key, values, bias, True, 0.0, causal, scale=scale)
    return output, normaliser[..., : query.shape[2]]  # it is filled up to whole blocks


def _on_cpu(
    query: Tensor, key: Tensor, values: Tensor, bias: Tensor | None, *, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """The same; queries and keys are made as wide as values, for this call takes no others."""
    query, key = (pad(side, (0, values.shape[-1] - side.shape[-1])) for side in (query, key))
    attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    output, normaliser = attend(query, key, values, 0.0, causal, attn_mask=bias, scale=scale)
    return output, normaliser


_FUSED = {"cuda": _on_gpu, "cpu": _on_cpu}


def joined(parts: list[Found], dimension: int) -> Found:
    """Parts as one: of texts (0) or of queries (2)."""
    output, columns, normaliser = (
        torch.cat([getattr(part, name) for part in parts], dimension)
        for name in ("output", "columns", "normaliser")
    )
    logarithms = torch.cat([part.logarithms for part in parts], dimension + 1)
    return Found(output, columns, logarithms, normaliser)
