"""What is counted of heads that point: means by label in each half, and where each head is right most surely."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from headscope.probes.halves import HALVES, SCORE, SELECT
from headscope.probes.means import CaseMeans, Cases, Place, Rows
from headscope.probes.observe import Tally
from headscope.probes.pointing.cases import ALL, DIRECTIONS, Case, CaseBatch, Pointing, PointingBatch
from headscope.probes.words import word_attention_by
from headscope.stats.documents import FEWEST_DOCUMENTS
from headscope.text.skipped import Skipped
from headscope.types import HeadGrid, LayerAttention, TokenBatch

BASELINE = "baseline"
"""The name of what needs no attention, beside the quantities."""

READABLE = range(5, 26)
"""How many words a sentence has that is easy to look at; others are shown only for want of one."""

_WORD_BITS = 20
_NOWHERE = torch.iinfo(torch.int64).max


@dataclass(frozen=True)
class Spot:
    """A case: the number of its text and of the asking word."""

    text: int
    word: int


class Exemplars:
    """For every label and cell the right case with the highest confidence."""

    def __init__(self, *cells: int) -> None:
        """`cells` is the shape of what is told apart for each label, as in `CaseMeans`."""
        self.cells = cells
        # By label, (*cells) each: the highest confidence, less 1 if hard to read, and where that is.
        self.rows: Rows[str] = Rows(torch.full(cells, -torch.inf), torch.full(cells, _NOWHERE))

    def empty(self) -> Self:
        """The same cells, nothing seen."""
        return type(self)(*self.cells)

    @property
    def labels(self) -> list[str]:
        """The labels that have cases."""
        return list(self.rows.keys)

    def begin(self, cases: Sequence[tuple[Pointing, Case]]) -> None:
        """Note the cases of a batch, before they are looked at."""
        self._rows = self.rows.of(case.label for _, case in cases)
        self._keys = torch.tensor(
            [(text.number << _WORD_BITS) | case.asking for text, case in cases], dtype=torch.long
        )
        is_hard = [len(text.content) not in READABLE for text, _ in cases]
        self._penalty = torch.tensor(is_hard, dtype=torch.float)  # (case,)

    def add(self, confidence: Tensor, is_right: Tensor, at: Place = ()) -> None:
        """Look at the cases: how sure every cell is, and whether it is right, (case, *cells)."""
        if not len(self._rows):
            return
        wide = (-1, *[1] * (confidence.dim() - 1))
        scores, keys = self.rows.tables
        # A model may compute in float64.
        score = (confidence - self._penalty.view(wide)).to(scores.dtype).masked_fill(~is_right, -torch.inf)
        place = (slice(None), *at)
        index = self._rows.view(wide).expand_as(score)
        best = torch.full_like(scores[place], -torch.inf).scatter_reduce(0, index, score, "amax")
        is_best = (score == best[self._rows]) & (score > -torch.inf)
        candidates = torch.where(is_best, self._keys.view(wide), _NOWHERE)
        where = torch.full_like(keys[place], _NOWHERE).scatter_reduce(0, index, candidates, "amin")
        self._take(best, where, place)

    def merge(self, other: Self) -> None:
        """Look at all that `other` has seen."""
        rows = self.rows.of(other.rows.keys)
        if len(rows):
            score, key = other.rows.tables
            self._take(score, key, (rows,))

    def spot(self, label: str, *cell: int) -> Spot | None:
        """Where the best case of a label and cell is; None when the cell was never right."""
        if label not in self.rows.keys:
            return None
        key = int(self.rows.tables[1][(self.rows.keys[label], *cell)])
        return None if key == _NOWHERE else Spot(key >> _WORD_BITS, key & ((1 << _WORD_BITS) - 1))

    def _take(self, score: Tensor, key: Tensor, place: Place | tuple[Tensor]) -> None:
        scores, keys = self.rows.tables
        mine, my_key = scores[place], keys[place]
        # Equal confidence: the earlier case, so that the order of merging makes no difference.
        better = (score > mine) | ((score == mine) & (key < my_key))
        scores[place] = torch.where(better, score, mine)
        keys[place] = torch.where(better, key, my_key)


@dataclass(eq=False)
class PointingTally(Tally[Pointing]):
    """Means over cases by label and half, of what every head does and of what baselines get right.

    `batch_kind` measures; `baselines` is how many each case brings along; `fewest_documents`: see CaseMeans.
    """

    grid: HeadGrid
    batch_kind: type[CaseBatch] = PointingBatch
    baselines: int = 0
    faithful: bool = False
    fewest_documents: int = FEWEST_DOCUMENTS

    def __post_init__(self) -> None:
        cells = (DIRECTIONS, *self.grid.shape)
        shapes = {**dict.fromkeys(self.batch_kind.quantities, cells), BASELINE: (self.baselines,)}
        self.means = {
            name: {half: CaseMeans(*shape, fewest_documents=self.fewest_documents) for half in HALVES}
            for name, shape in shapes.items()
        }
        self.exemplars = Exemplars(*cells)
        self.lost = Skipped("cases")
        self.first_seen: dict[str, str] = {}
        """`file:line` of a case of each label, to name rare ones by."""

    @property
    def scores(self) -> dict[int, CaseMeans]:
        """What heads are chosen by in one half and scored by in the other."""
        return self.means[self.batch_kind.quantities[0]]

    @property
    def baseline(self) -> dict[int, CaseMeans]:
        """What needs no attention, in each half."""
        return self.means[BASELINE]

    def begin(self, items: Sequence[Pointing], present: Tensor, tokens: TokenBatch) -> None:
        """Lay out the cases of a batch and score the baselines, which need no attention."""
        self._batch = batch = self.batch_kind(items, present, tokens)
        self.lost = batch.lost
        halves = torch.tensor([items[place].half for place, _ in batch.cases], dtype=torch.long)
        self._parts: list[tuple[str, int, Tensor, Cases]] = []  # quantity, half, (case,) members, as counted
        for half in HALVES:
            for name in batch.quantities:
                members = ((halves == half) & batch.counts(name)).nonzero()[:, 0]
                self._parts.append((name, half, members, self._begin(self.means[name][half], members)))
            members = (halves == half).nonzero()[:, 0]
            cases = self._begin(self.baseline[half], members)
            if self.baselines:
                right = [batch.cases[number][1].baselines for number in members.tolist()]
                self.baseline[half].add(cases, torch.tensor(right, dtype=torch.bool).repeat(2, 1))
        self._scored = (halves == SCORE).nonzero()[:, 0]
        scored = [batch.cases[number] for number in self._scored.tolist()]
        self.exemplars.begin([(items[place], case) for place, case in scored])
        for place, case in batch.cases:
            if case.label not in self.first_seen:
                self.first_seen[case.label] = items[place].where(case.asking)

    def _begin(self, means: CaseMeans, members: Tensor) -> Cases:
        """Count cases under their label and under all labels."""
        own = [self._batch.cases[number] for number in members.tolist()]
        labels = [case.label for _, case in own] + [ALL] * len(own)
        places = [place for place, _ in own] * 2
        return means.begin(places, labels, [self._batch.items[place].document for place in places])

    def update(self, seen: LayerAttention) -> None:
        """Count one layer of the batch."""
        if not self._batch.cases:
            return
        measured = self._batch.measure(seen.reduce(word_attention_by(faithful=self.faithful)))
        at = (slice(None), seen.layer)
        for name, half, members, cases in self._parts:
            self.means[name][half].add(cases, measured.values[name][members].repeat(2, 1, 1), at)
        self.exemplars.add(measured.confidence[self._scored], measured.is_right[self._scored], at)

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        for half in HALVES:
            self._merge_half(other, half)
        self.exemplars.merge(other.exemplars)
        self.lost.merge(other.lost)
        self.first_seen = {**other.first_seen, **self.first_seen}

    def choose_by(self, other: Self) -> None:
        """Take over what `other` has counted to choose heads by, and nothing else."""
        self._merge_half(other, SELECT)

    def _merge_half(self, other: Self, half: int) -> None:
        for name, halves in self.means.items():
            halves[half].merge(other.means[name][half])
