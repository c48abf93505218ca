"""Explained: how much of a head's attention its names explain, and what is left without a name."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from headscope.accumulator import counted, nothing, settled
from headscope.attention import AttentionBatch, ChosenRows, Derive
from headscope.measures.base import MEASURES, Measure
from headscope.measures.mixture import mixture_weights
from headscope.measures.template_sums import (
    BINS,
    NewTexts,
    SampledRows,
    causal_halves,
    drawn_halves,
    plain_halves,
    scored_rows,
)
from headscope.measures.templates import SYNTAX, TEMPLATES
from headscope.reductions import entropy_of
from headscope.stats.documents import jackknife
from headscope.types import HeadGrid, LabelledArray, TokenBatch

SCORED_TEXTS = 128
"""Of how many held-out texts queries are kept to score the weights on; of large models fewer texts."""
_FEWEST_TEXTS, _TEXTS_TIMES_HEADS = 16, 1 << 14

Array = np.ndarray[Any, Any]


@dataclass
class _HeldOut:
    """A text that weights are scored on, without padding; its templates are made of its tokens when that is done."""

    tokens: TokenBatch  # (1, token), on the host
    attention: Tensor = field(default_factory=lambda: torch.zeros(0))  # (layer, head, row, key)


@dataclass
class _Sample:
    """The texts with the smallest numbers: the same whatever they were dealt into."""

    most: int
    texts: dict[int, _HeldOut] = field(default_factory=dict)
    _new: NewTexts | None = field(default=None, repr=False)  # the batch's texts that are let in
    _last: int | None = field(default=None, repr=False)  # numbers beyond this would be dropped again
    _known: set[int] = field(default_factory=set, repr=False)  # those of texts that are there already

    @classmethod
    def of(cls, grid: HeadGrid) -> "_Sample":
        """No texts yet, and room for as many as what is kept of a stack may take."""
        fitting = _TEXTS_TIMES_HEADS // (grid.size)
        return cls(min(SCORED_TEXTS, max(_FEWEST_TEXTS, fitting)))

    def empty(self) -> "_Sample":
        """No texts."""
        return _Sample(self.most)

    def after(self, counted: "_Sample") -> None:
        """Let in no text that would be dropped beside those that were `counted`."""
        texts = counted.texts  # which another thread may replace, not change
        self._known = set(texts)
        if len(texts) >= self.most:
            self._last = max(texts)

    def merge(self, other: "_Sample") -> None:
        """Take in the texts of `other`; of one that both have, what came first stays."""
        self.texts = other.texts | self.texts
        self.cut()

    def begin(self, rows: SampledRows) -> ChosenRows | None:
        """Let in the texts among `rows` that are new, and say which; none that would be dropped again."""
        fitting = {
            number
            for number in rows.numbers
            if number not in self._known and (self._last is None or number <= self._last)
        }
        numbers = set(sorted({*self.texts, *fitting})[: self.most]) - self.texts.keys()
        # A text that a batch holds twice is the same both times.
        first = {
            number: place for place, number in reversed(list(enumerate(rows.numbers))) if number in numbers
        }
        self._new = rows.of(sorted(first.values())) if first else None
        return self._new.rows if self._new else None

    def let_in(self) -> None:
        """Keep what is known of the new texts' tokens."""
        if self._new is None:
            return
        for place, number in enumerate(self._new.numbers):
            self.texts[number] = _HeldOut(self._new.alone(place))
        self.cut()

    def keep(self, batch: AttentionBatch, grid: HeadGrid) -> None:
        """Keep the attention of the texts that were let in."""
        if self._new is None:
            return
        every = batch.rows(self._new.rows)  # (text, layer and head, row, key)
        layers = every.view(len(every), grid.layers, grid.heads, *every.shape[2:])
        for number, size, attention in zip(self._new.numbers, self._new.lengths, layers, strict=True):
            self.texts[number].attention = attention[:, :, :size, :size].clone()
        self._new = None

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
    def empty(cls, grid: HeadGrid) -> Self:
        """Nothing seen yet."""
        heads, size = (grid.layers, grid.heads), len(cls.templates)
        return cls(
            grid,
            nothing(size, size),
            nothing(*heads, size),
            nothing(*heads, BINS),
            nothing(BINS),
            _Sample.of(grid),
        )

    def _halves(self, queries: TokenBatch) -> tuple[SampledRows, SampledRows]:
        return queries.derive(causal_halves if self.grid.causal else plain_halves)

    def after(self, counted: Self) -> None:
        """Keep no text that would be dropped beside those that were `counted`."""
        self.sample.after(counted.sample)

    def derives(self, *, moved: bool) -> Sequence[Derive]:
        """What is drawn of texts."""
        return (drawn_halves,)

    def wanted(self, queries: TokenBatch, keys: TokenBatch, *, moved: bool) -> Sequence[ChosenRows]:
        """The rows that weights are fitted on, and those of new texts to score them on."""
        fitted, scored = self._halves(queries)
        new = self.sample.begin(scored)
        return [*([fitted.chosen] if fitted.numbers else []), *([new] if new else [])]

    def update(self, batch: AttentionBatch) -> None:
        """Count one batch of texts."""
        fitted, _ = self._halves(batch.queries)
        if fitted.numbers:
            self._fit(fitted, batch)
        self.sample.let_in()
        self.sample.keep(batch, self.grid)

    def _fit(self, rows: SampledRows, batch: AttentionBatch) -> None:
        with_attention, binned = batch.row_sums(rows.chosen)  # (layer and head, ...)
        self._count("with_attention", with_attention.view(*self.grid.shape, -1))
        self._count("binned", binned.view(*self.grid.shape, -1))
        self._count("products", rows.sums.products)
        self._count("bin_sizes", rows.sums.sizes)

    def _count(self, name: str, found: Tensor) -> None:
        """Add to sums where they were found, so that an accelerator need not stop."""
        setattr(self, name, counted(getattr(self, name), found))

    def result(self) -> dict[str, LabelledArray]:
        """The share with its error, the weights, and the shares of control and ceiling."""
        shares = {name: np.full(self.grid.shape, np.nan) for name in ("", "_stderr", "_control", "_ceiling")}
        weights = np.full((*self.grid.shape, len(self.templates)), np.nan)
        for name in ("products", "with_attention", "binned", "bin_sizes"):
            setattr(self, name, settled(getattr(self, name), torch.device("cpu")))
        if self.products.any():
            weights = mixture_weights(self.products.numpy(), self.with_attention.numpy())
        if self.products.any() and self.sample.texts:
            shares = self._shares(weights)
        words = {
            "": self.summary,
            "_stderr": "standard error over held-out texts of explained",
            "_control": "the same with the templates of another text of the same length",
            "_ceiling": "the same with the head's own mean attention by offset and class of key",
        }
        arrays = {
            f"explained{ending}": LabelledArray.of(values, self.grid.coords, words[ending])
            for ending, values in shares.items()
        }
        coords = {**self.grid.coords, "template": self.templates}
        nearest = "weight of each template in the mixture that is nearest to the head"
        return arrays | {"explained_weight": LabelledArray.of(weights, coords, nearest)}

    def _shares(self, weights: Array) -> dict[str, Array]:
        """The explained share, its error, and that of control and ceiling, each (layer, head)."""
        mixed = torch.from_numpy(weights)
        means = self.binned / self.bin_sizes.clamp_min(1e-300)  # (layer, head, bin)
        left: list[Tensor] = []  # a text each, (what is held against attention, layer, head) mean divergence
        held = [self.sample.texts[number] for number in sorted(self.sample.texts)]
        rows = scored_rows([text.tokens for text in held], causal=self.grid.causal)
        for text, size, *of_tokens in zip(held, rows.lengths, *rows.templates(), strict=True):
            # (template, row, key) twice, and (row, key)
            templates, control, bins = (values[..., :size, :size] for values in of_tokens)
            attention = text.attention.cpu().double()  # (layer, head, row, key)
            even = templates[0].expand_as(attention)
            own = means[..., bins.clamp_min(0)] * (bins >= 0)
            total = own.sum(-1, keepdim=True)
            others = (
                torch.einsum("lhk,krj->lhrj", mixed, templates),
                torch.einsum("lhk,krj->lhrj", mixed, control),
                torch.where(total > 0, own / total.clamp_min(1e-300), even),
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


def _divergences(attention: Tensor, others: Sequence[Tensor]) -> Tensor:
    """(other, ...) Jensen-Shannon divergence of each from `attention`, over the last axis, in nats."""
    own = entropy_of(attention)
    joint = [entropy_of((attention + other) / 2) - (own + entropy_of(other)) / 2 for other in others]
    return torch.stack(joint).clamp_min(0)
