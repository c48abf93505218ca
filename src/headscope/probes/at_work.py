"""A head at work: the cases where it is most sure and right, and most sure and wrong."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor

from headscope.atlas import Example
from headscope.probes.exemplars import READABLE
from headscope.probes.observe import Tally
from headscope.probes.pointing.scoring import ALL, Pointing, PointingBatch
from headscope.probes.words import word_attention, word_attention_by_first_piece
from headscope.types import AttentionBatch, HeadId, TokenBatch

Ranked = tuple[float, int, int, Example]
"""Confidence (less 1 for a text that is hard to read, where that matters), minus the text's number and the
word's, so that of two equals the earlier one wins, and the example."""


@dataclass(frozen=True)
class Question:
    """Whose examples are wanted: a label, and a head in one of the two directions."""

    probe: str
    label: str
    head: HeadId
    direction: int
    direction_name: str


@dataclass(frozen=True)
class AtWork:
    """The cases where a head is most sure, the surest first."""

    right: list[Example]
    wrong: list[Example]


class AtWorkTally(Tally[Pointing]):
    """The surest cases of one head and label, at most one a text."""

    def __init__(
        self, question: Question, *, most: int, readable_first: bool = False, faithful: bool = False
    ) -> None:
        """`readable_first` ranks texts that are easy to look at above all others."""
        self.question = question
        self.most = most
        self.readable_first = readable_first
        self.faithful = faithful
        self.right: list[Ranked] = []
        self.wrong: list[Ranked] = []

    def empty(self) -> "AtWorkTally":
        """A tally of the same kind that has seen nothing."""
        return AtWorkTally(
            self.question, most=self.most, readable_first=self.readable_first, faithful=self.faithful
        )

    def begin(self, items: Sequence[Pointing], present: Tensor, tokens: TokenBatch) -> None:
        """Lay out the cases of a batch."""
        self._items = items
        self._batch = PointingBatch(items, present, tokens)

    def update(self, seen: AttentionBatch) -> None:
        """Look at the one layer that matters."""
        asked = self.question
        if seen.layer != asked.head.layer or not self._batch.found:
            return
        words = seen.reduce(word_attention_by_first_piece if self.faithful else word_attention)
        confidence, guess = self._batch.guesses(words)
        right = self._batch.is_right(confidence, guess)
        cell = (slice(None), asked.direction, asked.head.head)
        sure, chosen, is_right = confidence[cell].tolist(), guess[cell].tolist(), right[cell].tolist()
        for number, (place, case) in enumerate(self._batch.found):
            if asked.label not in (ALL, case.label) or sure[number] <= 0:
                continue
            item = self._items[place]
            hard = self.readable_first and len(item.content) not in READABLE
            rank = (sure[number] - hard, -item.number, -case.asking)
            kept = self.right if is_right[number] else self.wrong
            if len(kept) < self.most or rank > kept[0][:3]:
                weights = words[place, asked.head.head]  # (word, word)
                row = weights[case.asking] if asked.direction == 0 else weights[:, case.asking]
                example = self._example(item, case.asking, case.right, chosen[number], row)
                _keep(kept, (*rank, example), self.most)

    def merge(self, other: Self) -> None:
        """See all that `other` has seen."""
        for mine, theirs in ((self.right, other.right), (self.wrong, other.wrong)):
            for ranked in theirs:
                _keep(mine, ranked, self.most)

    def result(self) -> AtWork:
        """The examples, the surest first."""
        return AtWork(
            *([ranked[-1] for ranked in sorted(kept, reverse=True)] for kept in (self.right, self.wrong))
        )

    def _example(
        self, item: Pointing, asking: int, right: tuple[int, ...], guess: int, row: Tensor
    ) -> Example:
        asked = self.question
        words = item.content.words
        weights = row.tolist()
        return Example(
            probe=asked.probe,
            label=asked.label,
            direction=asked.direction_name,
            head=asked.head,
            words=tuple(words),
            asking=asking,
            right=right,
            guess=guess,
            # Texts of a batch are padded to the most words; one that was cut has weights for fewer.
            weights=tuple((weights + [0.0] * len(words))[: len(words)]),
            name=item.name,
            looked_at=asked.direction == 1,
        )


def _keep(kept: list[Ranked], ranked: Ranked, most: int) -> None:
    """Add to a heap of at most so many; of one text only its surest case."""
    same = next((number for number, other in enumerate(kept) if other[1] == ranked[1]), None)
    if same is not None:
        if ranked[:3] > kept[same][:3]:
            kept[same] = ranked
            heapq.heapify(kept)
        return
    heapq.heappush(kept, ranked)
    if len(kept) > most:
        heapq.heappop(kept)
