"""What `explained` needs of the templates of sampled queries, and sums of attention against them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.util import find_spec

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from headscope.attention import ChosenRows, TokenBatch, each_tensor
from headscope.kernels.cpu import loops as cpu
from headscope.measures.folds import mixed_ids
from headscope.measures.templates import (
    SYNTAX,
    TEMPLATES,
    digits_of,
    sampled_queries,
    shifted,
    template_rows,
    visible,
)
from headscope.types import CLS, COMMA, OTHER, PERIOD, ROLES, SEP

FITTED_QUERIES = 16
"""How many queries of a text the weights are fitted on."""
SCORED_QUERIES = 4
"""How many queries of a held-out text the weights are scored on."""

FARTHEST = 127
"""The offset from which on the ceiling makes no difference."""
CLASSES = 4
"""[CLS], [SEP], punctuation, all else."""
BINS = CLASSES * (2 * FARTHEST + 1)


@dataclass(frozen=True)
class TemplateSums:
    """Sums of rows of attention against the templates of their queries, and by bin: class of key and offset."""

    places: Tensor  # (text, row) the queries
    share: Tensor  # (text, row) what a row counts in the mean over a text's rows
    kinds: Tensor  # (text, key) class of each key
    templates: Tensor  # (text, template, row, key)
    products: (
        Tensor  # (template, template) sum over texts of the mean over rows of their products with each other
    )
    sizes: Tensor  # (bin,) how many keys there are
    bins: Tensor | None  # (text, row, key) -1 for keys that are not seen; None where a kernel finds them
    _rounded: dict[torch.dtype, Tensor] = field(default_factory=dict, repr=False)

    def __call__(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """(head, template) products of rows (text, head, row, key) with templates, and (head, bin) their sums."""
        if cpu.takes(rows):
            assert self.bins is not None
            return cpu.template_sums(rows, self.templates, self.share, self.bins, count=BINS)
        # Every real row of a text counts the same; in half precision the share itself would lose digits.
        if rows.dtype not in self._rounded:
            counted = self.templates
            if self.bins is not None:  # a kernel has left out what does not count
                counted = counted * (self.share > 0)[:, None, :, None]
            self._rounded[rows.dtype] = counted.to(rows.dtype)
        counted = self._rounded[rows.dtype]
        by_text = torch.bmm(rows.flatten(2), counted.flatten(2).mT).to(self.share.dtype)
        products = (by_text * self._share_of_text).sum(0)
        if self.bins is None:
            from headscope.kernels.triton.binned_kernel import binned  # noqa: PLC0415  (needs triton)

            return products, binned(rows, self.places, self.kinds, self.share, farthest=FARTHEST)
        weighed = rows.to(self.share.dtype) * (self.share[..., None] * (self.bins >= 0))[:, None]
        flat = weighed.transpose(0, 1).flatten(1)
        return products, flat.new_zeros(len(flat), BINS).index_add_(1, self.bins.flatten().clamp_min(0), flat)

    @cached_property
    def _share_of_text(self) -> Tensor:
        """(text, 1, 1) what a real row counts."""
        return self.share.amax(-1)[:, None, None]


@dataclass(frozen=True)
class Drawn:
    """Which queries of which texts of a batch are looked at, as tokens alone decide."""

    texts: Tensor  # (text,) which of the batch
    places: Tensor  # (text, row) which queries
    share: Tensor  # (text, row) what each counts in the mean over a text's; 0 for padding
    kinds: Tensor  # (text, key) class of each key
    in_batch: list[int]  # the same as `texts`, on the host
    numbers: list[int]  # of each text, by which it is known
    lengths: list[int]  # of each text


@dataclass(frozen=True)
class NewTexts:
    """Texts of a batch that are to be kept."""

    rows: ChosenRows  # the queries that are kept of them
    tokens: TokenBatch  # (text, token) on the host
    numbers: list[int]
    lengths: list[int]

    def alone(self, place: int) -> TokenBatch:
        """(1, token) the tokens of one of them, without padding."""
        one, size = slice(place, place + 1), self.lengths[place]
        return self.tokens.map(lambda values: values[one, :size] if values.dim() == 2 else values[one])


@dataclass(frozen=True)
class SampledRows:
    """Some queries of some texts of a batch; tokens alone decide them, so they serve all layers."""

    tokens: TokenBatch  # of the batch, apart from what is derived of it
    drawn: Drawn
    causal: bool

    @property
    def numbers(self) -> list[int]:
        """Of each text, by which it is known."""
        return self.drawn.numbers

    @property
    def lengths(self) -> list[int]:
        """Of each text."""
        return self.drawn.lengths

    @property
    def chosen(self) -> ChosenRows:
        """Their rows, of which sums are wanted."""
        return ChosenRows(self.drawn.places, self.drawn.texts, self.sums)

    @cached_property
    def sums(self) -> TemplateSums:
        """What sums them up."""
        places, kinds = self.drawn.places, self.drawn.kinds
        share = self.drawn.share.to(digits_of(places))
        if places.is_cuda and find_spec("triton") is not None:
            from headscope.kernels.triton import templates_kernel  # noqa: PLC0415  (needs triton)

            count = len(TEMPLATES) + (len(SYNTAX) if self.tokens.governor is not None else 0)
            found = templates_kernel.template_rows(
                self.tokens, self.drawn.texts, places, share, kinds,
                templates=count, farthest=FARTHEST, count=CLASSES, causal=self.causal,
            )  # fmt: skip
            return TemplateSums(places, share, kinds, *found, None)
        templates, bins = template_rows(self._own, places, causal=self.causal), self._bins
        weighed = templates * share[:, None, :, None]
        products = torch.einsum("tkrj,tlrj->kl", weighed, templates)
        counted = (share[..., None] * (bins >= 0)).flatten()  # (text and row and key,)
        sizes = counted.new_zeros(BINS).index_add_(0, bins.flatten().clamp_min(0), counted)
        return TemplateSums(places, share, kinds, templates, products, sizes, bins)

    def of(self, some: list[int]) -> NewTexts:
        """Those of some texts, by their places here, to be kept."""
        in_batch, numbers, lengths = (
            [values[place] for place in some]
            for values in (self.drawn.in_batch, self.drawn.numbers, self.drawn.lengths)
        )
        device, texts = self.drawn.places.device, torch.tensor(in_batch)
        places = self.drawn.places[torch.tensor(some).to(device, non_blocking=True)]
        rows = ChosenRows(places, texts.to(device, non_blocking=True))
        return NewTexts(rows, self.tokens.on_host.map(lambda values: values[texts]), numbers, lengths)

    def templates(self) -> tuple[Tensor, Tensor, Tensor]:
        """(text, template, row, key) templates, those of another text of the same length, and (text, row, key) bins."""
        own, other = (
            template_rows(tokens, self.drawn.places, causal=self.causal)
            for tokens in (self._own, shifted(self._own))
        )
        return own, other, self._bins

    @cached_property
    def _own(self) -> TokenBatch:
        return self.tokens.map(lambda values: values[self.drawn.texts])

    @cached_property
    def _bins(self) -> Tensor:
        """(text, row, key) class and offset, -1 for keys that are not seen."""
        places = self.drawn.places
        sees = visible(self._own, places, causal=self.causal)
        offset = torch.arange(self.tokens.ids.shape[1], device=places.device) - places[..., None]
        classes = self.drawn.kinds[:, None] * (2 * FARTHEST + 1)
        return torch.where(sees, classes + offset.clamp(-FARTHEST, FARTHEST) + FARTHEST, -1)


@lru_cache(maxsize=1)
def _kind_of_roles() -> Tensor:
    """(role,) the class of a key by its role."""
    kinds = torch.full((len(ROLES),), CLASSES - 1)
    for number, roles in enumerate(((CLS,), (SEP,), (PERIOD, COMMA))):
        kinds[list(roles)] = number
    return kinds


def drawn_halves(tokens: TokenBatch) -> tuple[Drawn, Drawn]:
    """What is drawn of the texts that weights are fitted on, and of those that they are scored on."""
    if tokens.on_host is not tokens:
        halves: tuple[Drawn, Drawn] = each_tensor(
            tokens.on_host.derive(drawn_halves), lambda found: found.to(tokens.ids.device, non_blocking=True)
        )
        return halves
    held_out = tokens.derive(mixed_ids) // 64 % 2 == 1
    places, real = sampled_queries(tokens, FITTED_QUERIES)  # the first few are those of a smaller sample
    return _drawn(tokens, ~held_out, places, real), _drawn(
        tokens, held_out, places[:, :SCORED_QUERIES], real[:, :SCORED_QUERIES]
    )


def _drawn(tokens: TokenBatch, wanted: Tensor, places: Tensor, real: Tensor) -> Drawn:
    texts = wanted.nonzero()[:, 0]
    counts = real[texts]
    return Drawn(
        texts,
        places[texts],
        counts / counts.sum(-1, keepdim=True),
        _kind_of_roles()[tokens.role[texts]],
        texts.tolist(),
        tokens.derive(mixed_ids)[texts].tolist(),
        tokens.lengths[texts].tolist(),
    )


def plain_halves(tokens: TokenBatch) -> tuple[SampledRows, SampledRows]:
    """The rows of the texts that weights are fitted on, and of those that they are scored on."""
    return _halves(tokens, causal=False)


def causal_halves(tokens: TokenBatch) -> tuple[SampledRows, SampledRows]:
    """The same in a causal stack."""
    return _halves(tokens, causal=True)


def _halves(tokens: TokenBatch, *, causal: bool) -> tuple[SampledRows, SampledRows]:
    fitted, scored = tokens.derive(drawn_halves)
    apart = tokens.apart
    return SampledRows(apart, fitted, causal), SampledRows(apart, scored, causal)


def scored_rows(texts: Sequence[TokenBatch], *, causal: bool) -> SampledRows:
    """The rows that weights are scored on, of texts (1, token) each, as one batch."""

    def joined(name: str, padding: int) -> Tensor:
        return pad_sequence([getattr(text, name)[0] for text in texts], True, padding)

    tokens = TokenBatch(
        ids=joined("ids", 0),
        is_token=joined("is_token", 0),
        role=joined("role", OTHER),
        segment=joined("segment", -1),
        word=joined("word", -1),
        word_type=joined("word_type", -1),
        governor=joined("governor", -1) if all(text.governor is not None for text in texts) else None,
    )
    every = torch.ones(len(texts), dtype=torch.bool)
    return SampledRows(tokens, _drawn(tokens, every, *sampled_queries(tokens, SCORED_QUERIES)), causal)
