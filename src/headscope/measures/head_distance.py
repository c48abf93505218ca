"""Head distance: how differently two heads look at the same texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from math import log
from typing import ClassVar, Self

import torch
from torch import Tensor

from headscope.accumulator import is_nothing
from headscope.attention import AttentionBatch, ChosenRows, Derive, lengths_of
from headscope.kernels.cpu import loops as cpu
from headscope.measures.base import MEASURES, Measure, TextMean
from headscope.measures.folds import mixed_ids
from headscope.reductions import entropy_of
from headscope.types import Coords, HeadGrid, LabelledArray, TokenBatch

SMOOTHING = 0.001
SAMPLED_QUERIES = 32
"""How many queries of a text are compared when not all are, by stacks of up to SAMPLED_HEADS heads."""
SAMPLED_HEADS = 512
LEAST_QUERIES = 4
MOVED_STEP = 16
"""Of how many queries one is compared by what heads move."""
SUMMED = "Jensen-Shannon divergence between two heads' attention, summed over the queries of all texts, as published"

# How many numbers of one head are worked on at once. On a CPU few texts go together, almost without padding, in blocks
# that stay in cache for all heads; an accelerator takes a whole batch in few large steps.
CPU_BLOCK = 1 << 12
ACCELERATOR_BLOCK = 1 << 20
ACCELERATOR_BYTES = 1 << 27
"""How much of what is held is compared at once on an accelerator."""

_STEP = 1 << 20  # into how many parts a step between sampled queries is divided


@MEASURES.register("head_distance")
@dataclass
class HeadDistance(Measure):
    """Jensen-Shannon divergence between every two heads of the stack, in nats (Clark et al. 2019, section 6).

    JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2 for each query, averaged over queries, then over texts.
    0 for heads that look alike everywhere, log 2 = 0.693 for heads that never look at the same token.

    In a decoder the first token is left out and what remains of a row adds up to 1: there heads look that have nothing
    to do (Xiao et al. 2024), and two that rest in different places would else be told apart, or not, by how long.

    By what heads move, it is the mean over every 16th query, from a place that differs from text to text: it costs
    several times as much as all other measures together, and would otherwise double the time of a run.
    """

    name: ClassVar[str] = "head_distance"
    summary: ClassVar[str] = "mean Jensen-Shannon divergence between two heads' attention"

    grid: HeadGrid
    means: TextMean  # (head_a, head_b)

    @classmethod
    def empty(cls, grid: HeadGrid) -> Self:
        """Nothing seen yet."""
        return cls(grid, TextMean.zeros(grid.size, grid.size))

    def derives(self, *, moved: bool) -> Sequence[Derive]:
        """Which queries are compared."""
        return lengths_of, self._sampler(moved=moved) or _every

    def wanted(self, queries: TokenBatch, keys: TokenBatch, *, moved: bool) -> Sequence[ChosenRows]:
        """The rows that are compared."""
        return [self._chosen(queries, moved=moved)]

    def _chosen(self, queries: TokenBatch, *, moved: bool) -> ChosenRows:
        return ChosenRows(queries.derive(self._sampler(moved=moved) or _every)[0], None, moved=moved)

    def held_rows(self, length: int, *, moved: bool) -> int:
        """All, or those that are sampled."""
        return -(-length // MOVED_STEP) if moved else length

    def update(self, batch: AttentionBatch) -> None:
        """Compare all heads on one batch of texts."""
        moved = batch.weighting == "value"
        sampler = self._sampler(moved=moved)
        sample = None if sampler is None else batch.queries.derive(sampler)
        held = batch.rows(self._chosen(batch.queries, moved=moved))  # (text, head, query, key)
        if not batch.queries.on_host.derive(sampler or _every)[1].all():
            with torch.inference_mode():  # in which rows are made
                held.mul_(batch.queries.derive(sampler or _every)[1][:, None, :, None])
        on_cpu, (texts, _, queries, keys) = held.device.type == "cpu", held.shape
        by_kernel = held.is_cuda and find_spec("triton") is not None
        held_rows = batch.queries.lengths if sample is None else sample[1].sum(-1)  # (text,)
        compared = self._compared(sample, held_rows)  # (text,)
        size = queries * keys
        is_copied = self.copies_maps or not by_kernel
        of_text = self.grid.size * max(size * is_copied, self.grid.size) * held.element_size()
        step = max(1, CPU_BLOCK // size if on_cpu else ACCELERATOR_BYTES // of_text)
        for part in (slice(start, start + step) for start in range(0, texts, step)):
            asked = compared[part]  # (text,) how many queries
            rows, columns = queries, keys
            if on_cpu:
                rows, columns = int(held_rows[part].max()), int(batch.keys.lengths[part].max())
            maps = self.prepared(held[part, :, :rows, :columns], batch, part)
            asked = self.divisor(asked)
            if by_kernel:
                self._add_by_kernel(maps, asked)
                continue
            block = CPU_BLOCK if on_cpu else ACCELERATOR_BLOCK
            sums = divergence_sums(maps.transpose(0, 1), block=block, causal=self.grid.causal)
            values = sums / asked.clamp_min(1)[:, None, None]
            # A decoder's text whose only sampled query is the first says nothing.
            self.means.add(values, applies=(asked > 0)[:, None, None] if self.leaves_first else None)

    @property
    def leaves_first(self) -> bool:
        """Whether the first token is left out."""
        return self.grid.causal

    @property
    def copies_maps(self) -> bool:
        """Whether `prepared` makes maps of its own."""
        return self.leaves_first

    def prepared(self, maps: Tensor, batch: AttentionBatch, texts: slice) -> Tensor:
        """(text, head, query, key) the maps that are compared, of some `texts` of the batch."""
        return without_first(maps) if self.leaves_first else maps

    def divisor(self, queries: Tensor) -> Tensor:
        """(text,) what a text's sum over its compared `queries` (text,) is divided by."""
        return queries

    def _add_by_kernel(self, maps: Tensor, asked: Tensor) -> None:
        """Count maps (text, head, query, key) on a GPU, by the mean over the queries that are `asked` (text,)."""
        from headscope.kernels.triton import divergence_kernel  # noqa: PLC0415  (needs triton)

        before = None if is_nothing(self.means.sums) else self.means.sums.to(maps.device)
        self.means.sums = divergence_kernel.text_sums(maps, asked, before)

    @property
    def described(self) -> str:
        """What the numbers are."""
        return f"{self.summary}, without the first token" if self.leaves_first else self.summary

    def _compared(self, sample: tuple[Tensor, Tensor] | None, rows: Tensor) -> Tensor:
        """(text,) how many of the `rows` (text,) count: not the first query where the first token is left out."""
        if not self.leaves_first:
            return rows
        has_first = 1 if sample is None else (sample[1] & (sample[0] == 0)).sum(-1)
        return rows - has_first

    def _sampler(self, *, moved: bool) -> "Sampler | None":
        """What tells which queries are compared; None for all."""
        return _every_16th if moved else None

    def result(self) -> dict[str, LabelledArray]:
        """`head_distance` (head_a, head_b), heads labelled layer.head, and its standard error."""
        return self.means.labelled(self.name, self._coords, self.described, "nats")

    @property
    def _coords(self) -> Coords:
        return {"head_a": self.grid.labels, "head_b": self.grid.labels}


class PublishedHeadDistance(HeadDistance):
    """Head distance as the code of Clark et al. computes it.

    It smooths every distribution (0.999 a + 0.001 / n), keeps the first token, and sums over all queries of all texts.
    """

    leaves_first = False
    copies_maps = True

    def prepared(self, maps: Tensor, batch: AttentionBatch, texts: slice) -> Tensor:
        """(text, head, query, key) the maps after smoothing; 0 where there is padding."""
        rows, columns = maps.shape[-2:]
        is_query = batch.queries.is_token[texts, None, :rows, None]
        is_key = batch.keys.is_token[texts, None, None, :columns]
        lengths = batch.keys.lengths[texts, None, None, None]
        return ((1 - SMOOTHING) * maps + SMOOTHING / lengths) * (is_query & is_key)

    def divisor(self, queries: Tensor) -> Tensor:
        """(text,) one: it is a sum."""
        return torch.ones_like(queries)

    def result(self) -> dict[str, LabelledArray]:
        """`head_distance` (head_a, head_b), which as a sum has no standard error."""
        total = self.means.total.cpu().numpy().copy()
        return {self.name: LabelledArray.of(total, self._coords, SUMMED, "nats")}


class SampledHeadDistance(HeadDistance):
    """The same, estimated from a fixed number of queries of each text: the cost no longer grows with their square."""

    @property
    def described(self) -> str:
        """With how many queries of a text are compared."""
        return f"{super().described}, from {compared_queries(self.grid)} queries of each text"

    def held_rows(self, length: int, *, moved: bool) -> int:
        """Those that are sampled."""
        most = compared_queries(self.grid)
        return -(-length // MOVED_STEP) if moved and most == SAMPLED_QUERIES else min(most, length)

    def _sampler(self, *, moved: bool) -> "Sampler":
        most = compared_queries(self.grid)
        return _every_16th if moved and most == SAMPLED_QUERIES else evenly(most)


def compared_queries(grid: HeadGrid) -> int:
    """How many queries of a text are compared: in stacks of many heads fewer, as pairs grow with their square."""
    heads = max(SAMPLED_HEADS, grid.size)
    return max(LEAST_QUERIES, SAMPLED_QUERIES * SAMPLED_HEADS**2 // heads**2)


NOTHING = 1e-30
"""Less than this is nothing: numbers near the smallest that there are have few digits, and other roads give others."""


def without_first(maps: Tensor) -> Tensor:
    """(..., query, key) attention without the first key, as shares of what is left of a row; 0 where nothing is."""
    if maps.shape[-1] < 2:
        return torch.zeros_like(maps)
    rest = maps[..., 1:]
    total = rest.sum(-1, keepdim=True, dtype=torch.promote_types(rest.dtype, torch.float32))
    return (rest / total.masked_fill_(total < NOTHING, torch.inf)).to(maps.dtype)


Sampler = Callable[[TokenBatch], tuple[Tensor, Tensor]]
"""What tells (text, query) the places of some queries, and which of them are real."""


def _every(tokens: TokenBatch) -> tuple[Tensor, Tensor]:
    """(text, query) the places of all queries, and which are real."""
    count = tokens.ids.shape[1]
    return torch.arange(count, device=tokens.ids.device).repeat(len(tokens.ids), 1), tokens.is_token


def _every_16th(tokens: TokenBatch) -> tuple[Tensor, Tensor]:
    """(text, query) the places of every 16th query, first real ones, and which are real.

    Where it starts is told by the text's tokens, so that no place, [CLS] say, is in all samples.
    """
    lengths = tokens.lengths[:, None]
    first = tokens.derive(mixed_ids)[:, None] % lengths.clamp(1, MOVED_STEP)
    steps = torch.arange(0, tokens.ids.shape[1], MOVED_STEP, device=tokens.ids.device)
    places = first + steps
    return places.clamp_max(tokens.ids.shape[1] - 1).contiguous(), places < lengths


@cache
def evenly(most: int) -> Callable[[TokenBatch], tuple[Tensor, Tensor]]:
    """What samples so many queries; the same function each time, so that a batch samples once."""
    return partial(evenly_sampled, most=most)


def evenly_sampled(tokens: TokenBatch, *, most: int = SAMPLED_QUERIES) -> tuple[Tensor, Tensor]:
    """(text, query) the places of up to `most` queries of each text, at even steps, and which are real.

    Where the steps start is told by a hash of the text, so that runs and machines agree, and every query is as likely
    to be among them: the mean over them is an unbiased estimate of the mean over all. Short texts have all theirs.
    """
    lengths = tokens.lengths[:, None]
    count = lengths.clamp(1, most)
    steps = torch.arange(min(most, tokens.ids.shape[1]), device=tokens.ids.device)
    start = (tokens.derive(mixed_ids) >> 7)[:, None] % _STEP  # within the first step, in parts of it
    places = (start + steps * _STEP) * lengths // (count * _STEP)
    return places.clamp_max(tokens.ids.shape[1] - 1), steps < lengths.clamp_max(most)


def divergence_sums(maps: Tensor, *, block: int, causal: bool = False) -> Tensor:
    """(text, head, head) Jensen-Shannon divergence of every two heads, summed over queries.

    `maps` is (head, text, query, key), 0 where there is padding. With s = p + q, H(s / 2) = log 2 - sum(s log s) / 2
    when p and q add up to 1, so the inner loop is one sum, one logarithm and one dot product for each pair. In `causal`
    maps what no head may look at, about half, is left out of it.
    """
    if cpu.takes(maps):
        mass, negative, joint = cpu.joint_sums(maps.transpose(0, 1), sparse=causal)
    else:
        mass, negative, joint = _sums(maps, block=block, sparse=causal)
    divergence = _pair_mean(mass) * log(2) - joint / 2 + _pair_mean(negative)
    above = divergence.triu(1).clamp_min(0)
    return above + above.mT


def _sums(maps: Tensor, *, block: int, sparse: bool) -> tuple[Tensor, Tensor, Tensor]:
    """What `cpu.joint_sums` gives, in plain torch, of maps (head, text, query, key)."""
    heads, texts, queries, keys = maps.shape
    # No zeros under the logarithm; what this adds is far below rounding.
    maps = maps.clamp_min(torch.finfo(maps.dtype).tiny)
    mass = maps.sum((2, 3), dtype=torch.float64).T  # the number of queries, but for rounding and sinks
    negative = -entropy_of(maps).sum(-1, dtype=torch.float64).T
    joint = maps.new_zeros(texts, heads, heads, dtype=torch.float64)
    rows = max(1, block // (texts * keys))
    for start in range(0, queries, rows):
        part = maps[:, :, start : start + rows].flatten(2)  # (head, text, query and key)
        if sparse:
            part = part[..., (part > torch.finfo(part.dtype).tiny).flatten(0, 1).any(0)]
        for head in range(heads - 1):
            both = part[head] + part[head + 1 :]
            joint[:, head, head + 1 :] += torch.linalg.vecdot(both, both.log()).T
    return mass, negative, joint


def _pair_mean(values: Tensor) -> Tensor:
    """(text, head, head) the mean of each two heads' values (text, head)."""
    return (values[:, :, None] + values[:, None, :]) / 2
