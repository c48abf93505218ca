"""What one head answers: for every word that asks, the word it chose."""

from collections.abc import Sequence
from typing import Self

from torch import Tensor

from headscope.probes.at_work import Question
from headscope.probes.observe import Tally
from headscope.probes.pointing.scoring import ALL, Pointing, PointingBatch
from headscope.probes.words import word_attention, word_attention_by_first_piece
from headscope.types import AttentionBatch, TokenBatch

Answers = dict[int, int]
"""The chosen word of each word that asks, by its number in the text."""


class PredictTally(Tally[Pointing]):
    """The answers of one head, text by text."""

    def __init__(self, question: Question, *, faithful: bool = False) -> None:
        self.question = question
        self.faithful = faithful
        self.answers: dict[int, Answers] = {}  # by the number of the text

    def empty(self) -> "PredictTally":
        """A tally of the same kind without answers."""
        return PredictTally(self.question, faithful=self.faithful)

    def begin(self, items: Sequence[Pointing], present: Tensor, tokens: TokenBatch) -> None:
        """Lay out the cases of a batch."""
        self._batch = PointingBatch(items, present, tokens)
        self._numbers = [item.number for item in items]
        self.answers = {number: {} for number in self._numbers}

    def update(self, seen: AttentionBatch) -> None:
        """Take the answers from the one layer that matters."""
        asked = self.question
        if seen.layer != asked.head.layer or not self._batch.found:
            return
        words = seen.reduce(word_attention_by_first_piece if self.faithful else word_attention)
        confidence, guess = self._batch.guesses(words)
        cell = (slice(None), asked.direction, asked.head.head)
        rows = zip(self._batch.found, confidence[cell].tolist(), guess[cell].tolist(), strict=True)
        for (place, case), sure, chosen in rows:
            if sure > 0 and asked.label in (ALL, case.label):
                self.answers[self._numbers[place]][case.asking] = chosen

    def merge(self, other: Self) -> None:
        """Take the answers of `other` too."""
        self.answers |= other.answers

    def result(self) -> list[Answers]:
        """The answers in the order of the texts."""
        return [self.answers[number] for number in sorted(self.answers)]
