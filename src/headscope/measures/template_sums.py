"""What `explained` needs of the templates of sampled queries, and sums of attention against them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.util import find_spec

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from headscope.batches import ChosenRows, TokenBatch
from headscope.measures.fast import cpu
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
            self._rounded[rows.dtype] = (self.templates * (self.share > 0)[:, None, :, None]).to(rows.dtype)
        counted = self._rounded[rows.dtype]
        by_text = torch.bmm(rows.flatten(2), counted.flatten(2).mT).to(self.share.dtype)
        products = (by_text * self._share_of_text).sum(0)
        if self.bins is None:
            from headscope.measures.fast.binned_kernel import binned  # noqa: PLC0415  (needs triton)

            return products, binned(rows, self.places, self._is_kind, self.share, farthest=FARTHEST)
        weighed = rows.to(self.share.dtype) * (self.share[..., None] * (self.bins >= 0))[:, None]
        flat = weighed.transpose(0, 1).flatten(1)
        return products, flat.new_zeros(len(flat), BINS).index_add_(1, self.bins.flatten().clamp_min(0), flat)

    @cached_property
    def _share_of_text(self) -> Tensor:
        """(text, 1, 1) what a real row counts."""
        return self.share.amax(-1)[:, None, None]

    @cached_property
    def _is_kind(self) -> Tensor:
        """(text, class, key) 1 for the class of a key."""
        return torch.nn.functional.one_hot(self.kinds, CLASSES).mT.float().contiguous()


@dataclass(frozen=True)
class SampledRows:
    """Some queries of some texts of a batch; tokens alone decide them, so they serve all layers."""

    tokens: TokenBatch  # of the batch, apart from what is derived of it
    texts: Tensor  # (text,) which of them
    places: Tensor  # (text, row) which queries
    real: Tensor  # (text, row) which of these are no padding
    in_batch: list[int]  # the same as `texts`, on the host
    numbers: list[int]  # of each text, by which it is known
    lengths: list[int]  # of each text
    causal: bool

    @property
    def chosen(self) -> ChosenRows:
        """Their rows, of which sums are wanted."""
        return ChosenRows(self.places, self.texts, self.sums)

    @cached_property
    def sums(self) -> TemplateSums:
        """What sums them up."""
        share = (self.real / self.real.sum(-1, keepdim=True)).to(digits_of(self.places))
        kinds = self._kinds
        if self.places.is_cuda and find_spec("triton") is not None:
            from headscope.measures.fast import templates_kernel  # noqa: PLC0415  (needs triton)

            count = len(TEMPLATES) + (len(SYNTAX) if self.tokens.governor is not None else 0)
            found = templates_kernel.template_rows(
                self.tokens, self.texts, self.places, share, kinds,
                templates=count, farthest=FARTHEST, count=CLASSES, causal=self.causal,
            )  # fmt: skip
            return TemplateSums(self.places, share, kinds, *found, None)
        templates, bins = template_rows(self._own, self.places, causal=self.causal), self._bins
        weighed = templates * share[:, None, :, None]
        products = torch.einsum("tkrj,tlrj->kl", weighed, templates)
        counted = (share[..., None] * (bins >= 0)).flatten()  # (text and row and key,)
        sizes = counted.new_zeros(BINS).index_add_(0, bins.flatten().clamp_min(0), counted)
        return TemplateSums(self.places, share, kinds, templates, products, sizes, bins)

    def of(self, some: list[int]) -> "SampledRows":
        """Those of some texts, by their places here."""
        where = torch.tensor(some).to(self.places.device, non_blocking=True)
        in_batch, numbers, lengths = (
            [values[place] for place in some] for values in (self.in_batch, self.numbers, self.lengths)
        )
        texts, places, real = self.texts[where], self.places[where], self.real[where]
        return SampledRows(self.tokens, texts, places, real, in_batch, numbers, lengths, self.causal)

    def alone(self, place: int) -> TokenBatch:
        """The tokens of one text, on the host and without padding."""
        text, size = self.in_batch[place], self.lengths[place]
        one = slice(text, text + 1)
        return self.tokens.on_host.map(
            lambda values: (values[one, :size] if values.dim() == 2 else values[one]).clone()
        )

    def templates(self) -> tuple[Tensor, Tensor, Tensor]:
        """(text, template, row, key) templates, those of another text of the same length, and (text, row, key) bins."""
        own = template_rows(self._own, self.places, causal=self.causal)
        return own, template_rows(shifted(self._own), self.places, causal=self.causal), self._bins

    @cached_property
    def _own(self) -> TokenBatch:
        return self.tokens.map(lambda values: values[self.texts])

    @cached_property
    def _kinds(self) -> Tensor:
        """(text, key) class of each key."""
        return _kind_of_roles(self.places.device)[self.tokens.role[self.texts]]

    @cached_property
    def _bins(self) -> Tensor:
        """(text, row, key) class and offset, -1 for keys that are not seen."""
        sees = visible(self._own, self.places, causal=self.causal)
        offset = torch.arange(self.tokens.ids.shape[1], device=self.places.device) - self.places[..., None]
        bins = self._kinds[:, None] * (2 * FARTHEST + 1) + offset.clamp(-FARTHEST, FARTHEST) + FARTHEST
        return torch.where(sees, bins, -1)


@lru_cache(maxsize=8)
def _kind_of_roles(device: torch.device) -> Tensor:
    """(role,) the class of a key by its role."""
    kinds = torch.full((len(ROLES),), CLASSES - 1)
    for number, roles in enumerate(((CLS,), (SEP,), (PERIOD, COMMA))):
        kinds[list(roles)] = number
    return kinds.to(device)


def plain_halves(tokens: TokenBatch) -> tuple[SampledRows, SampledRows]:
    """The rows of the texts that weights are fitted on, and of those that they are scored on."""
    return _halves(tokens, causal=False)


def causal_halves(tokens: TokenBatch) -> tuple[SampledRows, SampledRows]:
    """The same in a causal stack."""
    return _halves(tokens, causal=True)


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
    every, lengths = list(range(len(texts))), tokens.lengths.tolist()
    places, real = sampled_queries(tokens, SCORED_QUERIES)
    return SampledRows(tokens, torch.arange(len(texts)), places, real, every, every, lengths, causal)


def _halves(tokens: TokenBatch, *, causal: bool) -> tuple[SampledRows, SampledRows]:
    on_host = tokens.on_host
    numbers, lengths = on_host.derive(mixed_ids), on_host.lengths
    places, real = sampled_queries(
        tokens, FITTED_QUERIES
    )  # the first few of them are those of a smaller sample
    held_out = numbers // 64 % 2 == 1
    halves: list[SampledRows] = []
    apart = tokens.apart
    for wanted, most in ((~held_out, FITTED_QUERIES), (held_out, SCORED_QUERIES)):
        some = wanted.nonzero()[:, 0]
        texts = some.to(tokens.ids.device, non_blocking=True)
        rows = places[texts, :most].contiguous()
        known = (some.tolist(), numbers[some].tolist(), lengths[some].tolist())
        halves.append(SampledRows(apart, texts, rows, real[texts, :most], *known, causal))
    return halves[0], halves[1]
