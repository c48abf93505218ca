"""The case that shows each head best, found in the same pass: only its place is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from headscope.probes.means import Place
from headscope.probes.pointing.cases import Case, Pointing

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
        self.labels: dict[str, int] = {}
        self.score = torch.zeros(0, *cells)  # (label, *cells) highest confidence, less 1 if hard to read
        self.key = torch.zeros(0, *cells, dtype=torch.long)  # (label, *cells) where

    def empty(self) -> Self:
        """The same cells, nothing seen."""
        return type(self)(*self.cells)

    def begin(self, found: Sequence[tuple[Pointing, Case]]) -> None:
        """Note the cases of a batch, before they are looked at."""
        self._rows = self._rows_of([case.label for _, case in found])
        self._keys = torch.tensor(
            [(text.number << _WORD_BITS) | case.asking for text, case in found], dtype=torch.long
        )
        is_hard = [len(text.content) not in READABLE for text, _ in found]
        self._penalty = torch.tensor(is_hard, dtype=torch.float)  # (case,)

    def add(self, confidence: Tensor, is_right: Tensor, at: Place = ()) -> None:
        """Look at the cases: how sure every cell is, and whether it is right, (case, *cells)."""
        if not len(self._rows):
            return
        wide = (-1, *[1] * (confidence.dim() - 1))
        # A model may compute in float64.
        score = (
            (confidence - self._penalty.view(wide)).to(self.score.dtype).masked_fill(~is_right, -torch.inf)
        )
        place = (slice(None), *at)
        index = self._rows.view(wide).expand_as(score)
        best = torch.full_like(self.score[place], -torch.inf).scatter_reduce(0, index, score, "amax")
        is_best = (score == best[self._rows]) & (score > -torch.inf)
        candidates = torch.where(is_best, self._keys.view(wide), _NOWHERE)
        where = torch.full_like(self.key[place], _NOWHERE).scatter_reduce(0, index, candidates, "amin")
        self._take(best, where, place)

    def merge(self, other: Self) -> None:
        """Look at all that `other` has seen."""
        rows = self._rows_of(list(other.labels))
        if len(rows):
            score, key = torch.full_like(self.score, -torch.inf), torch.full_like(self.key, _NOWHERE)
            score[rows], key[rows] = other.score, other.key
            self._take(score, key, (slice(None),))

    def spot(self, label: str, *cell: int) -> Spot | None:
        """Where the best case of a label and cell is; None when the cell was never right."""
        if label not in self.labels:
            return None
        key = int(self.key[(self.labels[label], *cell)])
        return None if key == _NOWHERE else Spot(key >> _WORD_BITS, key & ((1 << _WORD_BITS) - 1))

    def _rows_of(self, labels: list[str]) -> Tensor:
        """(label,) their rows, new ones if need be."""
        rows = [self.labels.setdefault(label, len(self.labels)) for label in labels]
        missing = len(self.labels) - len(self.score)
        if missing:
            self.score = torch.cat([self.score, torch.full((missing, *self.cells), -torch.inf)])
            self.key = torch.cat([self.key, torch.full((missing, *self.cells), _NOWHERE)])
        return torch.tensor(rows, dtype=torch.long)

    def _take(self, score: Tensor, key: Tensor, place: Place) -> None:
        mine, my_key = self.score[place], self.key[place]
        # Equal confidence: the earlier case, so that the order of merging makes no difference.
        better = (score > mine) | ((score == mine) & (key < my_key))
        self.score[place] = torch.where(better, score, mine)
        self.key[place] = torch.where(better, key, my_key)
