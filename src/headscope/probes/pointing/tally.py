"""What is counted of heads that point: means by label in each half, and where each head is right most surely."""

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from headscope.probes.halves import HALVES, SCORE, SELECT
from headscope.probes.means import CaseMeans, Cases
from headscope.probes.observe import Tally
from headscope.probes.pointing.cases import ALL, DIRECTIONS, CaseBatch, Pointing, PointingBatch
from headscope.probes.pointing.exemplars import Exemplars
from headscope.probes.words import word_attention_by
from headscope.stats.documents import FEWEST_DOCUMENTS
from headscope.text.skipped import Skipped
from headscope.types import AttentionBatch, HeadGrid, TokenBatch

BASELINE = "baseline"


class PointingTally(Tally[Pointing]):
    """Means over cases by label and half, of what every head does and of what baselines get right."""

    def __init__(
        self,
        grid: HeadGrid,
        *,
        batch_kind: type[CaseBatch] = PointingBatch,
        baselines: int = 0,
        faithful: bool = False,
        fewest_documents: int = FEWEST_DOCUMENTS,
    ) -> None:
        """`batch_kind` measures; `baselines` is how many each case brings along; else see CaseMeans."""
        self.grid = grid
        self.batch_kind = batch_kind
        self.baselines = baselines
        self.faithful = faithful
        self.fewest_documents = fewest_documents
        cells = (DIRECTIONS, grid.layers, grid.heads)
        shapes = {**dict.fromkeys(batch_kind.quantities, cells), BASELINE: (baselines,)}
        self.means = {
            name: {half: CaseMeans(*shape, fewest_documents=fewest_documents) for half in HALVES}
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

    def empty(self) -> Self:
        """A tally of the same kind that has counted nothing."""
        return type(self)(
            self.grid,
            batch_kind=self.batch_kind,
            baselines=self.baselines,
            faithful=self.faithful,
            fewest_documents=self.fewest_documents,
        )

    def begin(self, items: Sequence[Pointing], present: Tensor, tokens: TokenBatch) -> None:
        """Lay out the cases of a batch and score the baselines, which need no attention."""
        self._batch = batch = self.batch_kind(items, present, tokens)
        self.lost = batch.lost
        halves = torch.tensor([items[place].half for place, _ in batch.found], dtype=torch.long)
        self._parts: list[tuple[str, int, Tensor, Cases]] = []  # quantity, half, (case,) members, as counted
        for half in HALVES:
            for name in batch.quantities:
                members = ((halves == half) & batch.counts(name)).nonzero()[:, 0]
                self._parts.append((name, half, members, self._begin(self.means[name][half], members)))
            members = (halves == half).nonzero()[:, 0]
            cases = self._begin(self.baseline[half], members)
            if self.baselines:
                right = [batch.found[number][1].baselines for number in members.tolist()]
                self.baseline[half].add(cases, torch.tensor(right, dtype=torch.bool).repeat(2, 1))
        self._scored = (halves == SCORE).nonzero()[:, 0]
        scored = [batch.found[number] for number in self._scored.tolist()]
        self.exemplars.begin([(items[place], case) for place, case in scored])
        for place, case in batch.found:
            if case.label not in self.first_seen:
                self.first_seen[case.label] = items[place].where(case.asking)

    def _begin(self, means: CaseMeans, members: Tensor) -> Cases:
        """Count cases under their label and under all labels."""
        found = [self._batch.found[number] for number in members.tolist()]
        labels = [case.label for _, case in found] + [ALL] * len(found)
        places = [place for place, _ in found] * 2
        return means.begin(places, labels, [self._batch.items[place].document for place in places])

    def update(self, seen: AttentionBatch) -> None:
        """Count one layer of the batch."""
        if not self._batch.found:
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
