"""Explained: how much of a head's attention its names explain, and what is left without a name."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from headscope.measures import cpu
from headscope.measures.base import MEASURES, Measure
from headscope.measures.folds import mixed_ids
from headscope.measures.mixture import mixture_weights
from headscope.measures.reductions import entropy_of
from headscope.measures.templates import SYNTAX, TEMPLATES, sampled_queries, shifted, template_rows, visible
from headscope.stats.documents import jackknife
from headscope.types import CLS, COMMA, PERIOD, SEP, AttentionBatch, HeadGrid, LabelledArray, TokenBatch

FITTED_QUERIES = 16
"""How many queries of a text the weights are fitted on."""
SCORED_QUERIES = 4
SCORED_TEXTS = 128
"""How many queries of how many held-out texts are kept to score the weights on; of large models fewer texts."""
_FEWEST_TEXTS, _TEXTS_TIMES_HEADS = 16, 1 << 14

FARTHEST = 127
"""The offset from which on the ceiling makes no difference."""
_CLASSES = 4  # [CLS], [SEP], punctuation, all else
_BINS = _CLASSES * (2 * FARTHEST + 1)

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Rows:
    """The rows of some texts of a batch that are looked at; tokens alone decide them, so they serve all layers."""

    texts: Tensor  # (text,) which of the batch
    numbers: list[int]  # of each text, by which it is known
    places: Tensor  # (text, row) queries
    real: Tensor  # (text, row)
    templates: Tensor  # (text, template, row, key)
    control: Tensor | None  # the same of another text of the same length
    bins: Tensor  # (text, row, key) class and offset, -1 for keys that are not seen

    @cached_property
    def share(self) -> Tensor:
        """(text, row) what a row counts in the mean over those of its text."""
        return (self.real / self.real.sum(-1, keepdim=True)).double()

    def attention(self, batch: AttentionBatch) -> Tensor:
        """(text, head, row, key) what the heads of one layer give."""
        return batch.rows(self.places, self.texts if len(self.texts) < len(batch.queries.ids) else None)


@dataclass
class _HeldOut:
    """A text that weights are scored on, without padding."""

    templates: Tensor  # (template, row, key)
    control: Tensor
    bins: Tensor  # (row, key)
    attention: list[Tensor] = field(default_factory=list)  # a layer each, (head, row, key)


@dataclass
class _Sample:
    """The texts with the smallest numbers: the same whatever they were dealt into."""

    most: int
    texts: dict[int, _HeldOut] = field(default_factory=dict)

    @classmethod
    def of(cls, grid: HeadGrid) -> "_Sample":
        """No texts yet, and room for as many as what is kept of a stack may take."""
        fitting = _TEXTS_TIMES_HEADS // (grid.layers * grid.heads)
        return cls(min(SCORED_TEXTS, max(_FEWEST_TEXTS, fitting)))

    def empty(self) -> "_Sample":
        """No texts."""
        return _Sample(self.most)

    def merge(self, other: "_Sample") -> None:
        """Take in the texts of `other`."""
        self.texts |= other.texts
        self.cut()

    def cut(self) -> None:
        """Keep as many as may be kept."""
        self.texts = {number: self.texts[number] for number in sorted(self.texts)[: self.most]}


@MEASURES.register("explained")
@dataclass
class Explained(Measure):
    """How much of a head's attention a mixture of named templates explains, on texts it was not fitted on.

    1 - JS(A, sum_k w_k T_k) / JS(A, even), mean over queries and texts: 1 when the names say all there is, 0 when they
    say no more than even attention. The weights w >= 0 add up to 1 and are fitted by least squares on one half of the
    texts, told by a hash; the share is of the other half. 16 queries of a text are fitted on, and 4 queries of at most
    128 texts are scored, drawn by a hash too, so that no map is kept.
    """

    name: ClassVar[str] = "explained"
    summary: ClassVar[str] = "share of a head's attention that a mixture of named templates explains"
    within_text: ClassVar[bool] = True  # templates are about one text's own tokens
    weighable: ClassVar[bool] = False  # names are of where heads look

    templates: ClassVar[tuple[str, ...]] = TEMPLATES

    grid: HeadGrid
    products: Tensor  # (template, template) sum over texts of the mean over queries of <T_k, T_l>
    with_attention: Tensor  # (layer, head, template) the same of <T_k, A>
    binned: Tensor  # (layer, head, bin) attention by class of key and offset
    bin_sizes: Tensor  # (bin,) how many keys
    sample: _Sample

    @classmethod
    def empty(cls, grid: HeadGrid, *, faithful: bool = False) -> Self:
        """Nothing seen yet."""
        heads, size = (grid.layers, grid.heads), len(cls.templates)
        return cls(
            grid,
            _zeros(size, size),
            _zeros(*heads, size),
            _zeros(*heads, _BINS),
            _zeros(_BINS),
            _Sample.of(grid),
        )

    def update(self, batch: AttentionBatch) -> None:
        """Count one layer of one batch of texts."""
        fitted, scored = batch.queries.derive(_causal_rows if self.grid.causal else _plain_rows)
        if len(fitted.texts):
            self._fit(fitted, batch)
        self._keep(scored, batch)

    def _fit(self, rows: _Rows, batch: AttentionBatch) -> None:
        attention = rows.attention(batch)
        sums = cpu.template_sums if cpu.takes(attention) else _template_sums
        products, binned = sums(attention, rows.templates, rows.share, rows.bins, count=_BINS)
        self.with_attention[batch.layer] += products.cpu()
        self.binned[batch.layer] += binned.cpu()
        if batch.layer == 0:
            weighed = rows.templates * rows.share[:, None, :, None]
            self.products += torch.einsum("tkrj,tlrj->kl", weighed, rows.templates).cpu()
            sizes = (rows.share[..., None] * (rows.bins >= 0)).flatten()  # (text and row and key,)
            self.bin_sizes += (
                sizes.new_zeros(_BINS).index_add_(0, rows.bins.flatten().clamp_min(0), sizes).cpu()
            )

    def _keep(self, rows: _Rows, batch: AttentionBatch) -> None:
        assert rows.control is not None
        attention = rows.attention(batch).cpu()
        lengths, counts = batch.keys.lengths[rows.texts].tolist(), rows.real.sum(-1).tolist()
        for place, number in enumerate(rows.numbers):
            if batch.layer == 0 and number not in self.sample.texts:
                kept = (slice(counts[place]), slice(lengths[place]))  # real rows come first
                self.sample.texts[number] = _HeldOut(
                    rows.templates[place].cpu()[:, kept[0], kept[1]],
                    rows.control[place].cpu()[:, kept[0], kept[1]],
                    rows.bins[place].cpu()[kept[0], kept[1]],
                )
            own = self.sample.texts[number].attention
            if len(own) == batch.layer:  # not a text that was seen before
                own.append(attention[place, :, : counts[place], : lengths[place]].clone())
        if batch.layer == self.grid.layers - 1:
            self.sample.cut()

    def result(self) -> dict[str, LabelledArray]:
        """The share with its error, the weights, and the shares of control and ceiling."""
        shape = (self.grid.layers, self.grid.heads)
        shares = {name: np.full(shape, np.nan) for name in ("", "_stderr", "_control", "_ceiling")}
        weights = np.full((*shape, len(self.templates)), np.nan)
        if self.products.any():
            weights = mixture_weights(self.products.numpy(), self.with_attention.numpy())
        if self.products.any() and self.sample.texts:
            shares = self._shares(weights)
        heads = {"layer": range(self.grid.layers), "head": range(self.grid.heads)}
        words = {
            "": self.summary,
            "_stderr": "standard error over held-out texts of explained",
            "_control": "the same with the templates of another text of the same length",
            "_ceiling": "the same with the head's own mean attention by offset and class of key",
        }
        coords: dict[str, Sequence[str] | Sequence[int]] = {**heads, "template": self.templates}
        return {
            **{
                f"explained{ending}": LabelledArray(values, tuple(heads), heads, words[ending])
                for ending, values in shares.items()
            },
            "explained_weight": LabelledArray(
                weights,
                tuple(coords),
                coords,
                "weight of each template in the mixture that is nearest to the head",
            ),
        }

    def _shares(self, weights: Array) -> dict[str, Array]:
        """The explained share, its error, and that of control and ceiling, each (layer, head)."""
        mixed = torch.from_numpy(weights)
        means = self.binned / self.bin_sizes.clamp_min(1e-300)  # (layer, head, bin)
        left: list[Tensor] = []  # a text each, (what is held against attention, layer, head) mean divergence
        for number in sorted(self.sample.texts):
            text = self.sample.texts[number]
            attention = torch.stack(text.attention).double()  # (layer, head, row, key)
            even = text.templates[0].expand_as(attention)
            own = means[..., text.bins.clamp_min(0)] * (text.bins >= 0)
            size = own.sum(-1, keepdim=True)
            others = (
                torch.einsum("lhk,krj->lhrj", mixed, text.templates),
                torch.einsum("lhk,krj->lhrj", mixed, text.control),
                torch.where(size > 0, own / size.clamp_min(1e-300), even),
                even,
            )
            left.append(_divergences(attention, others).mean(-1))
        *numbers, by_even = torch.stack(left, 1).numpy()  # (text, layer, head) each
        # Of a head that looks evenly there is nothing to explain.
        whole = np.where(by_even.sum(0) > 1e-12, by_even, np.nan)
        named, control, ceiling = (1 - one.sum(0) / whole.sum(0) for one in numbers)
        return {
            "": named,
            "_stderr": jackknife(numbers[0], whole),
            "_control": control,
            "_ceiling": ceiling,
        }


class ExplainedWithSyntax(Explained):
    """The same with templates for the syntactic head and the dependents, on texts whose words have heads."""

    templates: ClassVar[tuple[str, ...]] = (*TEMPLATES, *SYNTAX)


def _zeros(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.float64)


def _template_sums(
    rows: Tensor, templates: Tensor, share: Tensor, bins: Tensor, *, count: int
) -> tuple[Tensor, Tensor]:
    """What `cpu.template_sums` gives, in plain torch."""
    weighed = rows.double() * share[:, None, :, None]  # (text, head, row, key)
    products = torch.bmm(weighed.flatten(2), templates.flatten(2).mT)  # (text, head, template)
    flat = (weighed * (bins >= 0)[:, None]).transpose(0, 1).flatten(1)
    binned = flat.new_zeros(len(flat), count).index_add_(1, bins.flatten().clamp_min(0), flat)
    return products.sum(0), binned


def _divergences(attention: Tensor, others: Sequence[Tensor]) -> Tensor:
    """(other, ...) Jensen-Shannon divergence of each from `attention`, over the last axis, in nats."""
    own = entropy_of(attention)
    joint = [entropy_of((attention + other) / 2) - (own + entropy_of(other)) / 2 for other in others]
    return torch.stack(joint).clamp_min(0)


def _plain_rows(tokens: TokenBatch) -> tuple[_Rows, _Rows]:
    return _halves(tokens, causal=False)


def _causal_rows(tokens: TokenBatch) -> tuple[_Rows, _Rows]:
    return _halves(tokens, causal=True)


def _halves(tokens: TokenBatch, *, causal: bool) -> tuple[_Rows, _Rows]:
    """The rows of the texts that weights are fitted on, and of those that they are scored on."""
    held_out = tokens.derive(mixed_ids) // 64 % 2 == 1
    return (
        _rows(tokens, ~held_out, FITTED_QUERIES, causal=causal, control=False),
        _rows(tokens, held_out, SCORED_QUERIES, causal=causal, control=True),
    )


def _rows(tokens: TokenBatch, wanted: Tensor, most: int, *, causal: bool, control: bool) -> _Rows:
    texts = wanted.nonzero()[:, 0]
    own = tokens.map(lambda values: values[texts])
    places, real = sampled_queries(own, most)
    sees = visible(own, places, causal=causal)
    kind = own.role.new_full(own.role.shape, 3)
    for number, roles in enumerate(((CLS,), (SEP,), (PERIOD, COMMA))):
        for role in roles:
            kind[own.role == role] = number
    offset = torch.arange(own.ids.shape[1], device=places.device) - places[..., None]
    bins = kind[:, None] * (2 * FARTHEST + 1) + offset.clamp(-FARTHEST, FARTHEST) + FARTHEST
    return _Rows(
        texts,
        own.derive(mixed_ids).tolist(),
        places,
        real,
        template_rows(own, places, causal=causal),
        template_rows(shifted(own), places, causal=causal) if control else None,
        torch.where(sees, bins, -1),
    )
