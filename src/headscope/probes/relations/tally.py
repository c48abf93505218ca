"""How much attention every head puts between predicates and arguments, by role, with its control."""

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from headscope.probes.exemplars import READABLE, case_keys
from headscope.probes.halves import SCORE, SELECT
from headscope.probes.pointing.accuracy import Accuracy, Cases
from headscope.probes.pointing.scoring import ALL, DIRECTIONS, Pointing, PointingTally
from headscope.probes.relations.batch import PairBatch
from headscope.probes.words import word_attention, word_attention_by_first_piece
from headscope.types import AttentionBatch, HeadGrid, TokenBatch


class RelationsTally(PointingTally):
    """Means over pairs by role, in each half; and the pairs that show each head best.

    `accuracy` holds the difference between a pair's attention and its control: that is what heads are chosen
    by. It and `control` are over pairs that have a control, `attention` is over all pairs.
    """

    def __init__(self, grid: HeadGrid, *, faithful: bool = False) -> None:
        super().__init__(grid, baselines=0, faithful=faithful)
        cells = (DIRECTIONS, grid.layers, grid.heads)
        self.attention = {half: self._sums(*cells) for half in (SELECT, SCORE)}
        self.control = {half: self._sums(*cells) for half in (SELECT, SCORE)}

    def empty(self) -> "RelationsTally":
        """A tally of the same kind that has counted nothing."""
        return RelationsTally(self.grid, faithful=self.faithful)

    def begin(self, items: Sequence[Pointing], present: Tensor, tokens: TokenBatch) -> None:
        """Lay out the pairs of a batch."""
        batch = PairBatch(items, present, tokens)
        self._pairs = batch
        self.lost = batch.lost
        half_of = torch.tensor([items[place].half for place, _ in batch.found], dtype=torch.long)
        has_control = batch.controls.cpu() > 0
        self._parts: list[tuple[int, Tensor, Tensor, Cases, Cases, Cases]] = []
        for half in (SELECT, SCORE):
            members = (half_of == half).nonzero()[:, 0]
            compared = ((half_of == half) & has_control).nonzero()[:, 0]
            all_cases = self._count(self.attention[half], members, items)
            control = self._count(self.control[half], compared, items)
            difference = self._count(self.accuracy[half], compared, items)
            self._parts.append((half, members, compared, all_cases, control, difference))
        self._scored = (half_of == SCORE).nonzero()[:, 0]
        scored = [batch.found[number] for number in self._scored.tolist()]
        self._rows = self.exemplars.rows([pair.label for _, pair in scored])
        numbers = torch.tensor([items[place].number for place, _ in scored], dtype=torch.long)
        words = torch.tensor([pair.asking for _, pair in scored], dtype=torch.long)
        self._keys = case_keys(numbers, words)
        readable = [len(items[place].content) in READABLE for place, _ in scored]
        self._penalty = 1.0 - torch.tensor(readable, dtype=torch.float)  # (pair,)
        for _, pair in batch.found:
            self.first_seen.setdefault(pair.label, pair.where)

    def _count(self, sums: Accuracy, members: Tensor, items: Sequence[Pointing]) -> Cases:
        """Count pairs under their role and under all roles."""
        found = [self._pairs.found[number] for number in members.tolist()]
        labels = [pair.label for _, pair in found] + [ALL] * len(found)
        places = [place for place, _ in found] * 2
        return sums.begin(places, labels, [items[place].document for place in places])

    def update(self, seen: AttentionBatch) -> None:
        """Count one layer of the batch."""
        if not self._pairs.found:
            return
        reduction = word_attention_by_first_piece if self.faithful else word_attention
        measured = self._pairs.measure(seen.reduce(reduction))
        at = (slice(None), seen.layer)
        for half, members, compared, all_cases, control_cases, difference_cases in self._parts:
            attention, control = measured.attention[compared], measured.control[compared]
            self.attention[half].add(all_cases, measured.attention[members].repeat(2, 1, 1), at)
            self.control[half].add(control_cases, control.repeat(2, 1, 1), at)
            self.accuracy[half].add(difference_cases, (attention - control).repeat(2, 1, 1), at)
        asking, strongest = measured.asking[self._scored], measured.strongest[self._scored]
        score = asking - self._penalty[:, None, None]
        is_right = (asking >= strongest) & (asking > 0)
        self.exemplars.add(self._rows, self._keys, score.masked_fill(~is_right, -torch.inf), at)

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        super().merge(other)
        for half in (SELECT, SCORE):
            self.attention[half].merge(other.attention[half])
            self.control[half].merge(other.control[half])
