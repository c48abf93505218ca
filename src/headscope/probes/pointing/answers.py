"""What one head answers: every word it chose, or the cases where it is most sure and right, or sure and wrong."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from torch import Tensor

from headscope.atlas import Example
from headscope.probes.observe import Tally
from headscope.probes.pointing.cases import ALL, Case, Pointing, PointingBatch
from headscope.probes.pointing.tally import READABLE
from headscope.probes.words import word_attention_by
from headscope.types import HeadId, LayerAttention, TokenBatch

Answers = dict[int, int]
"""The chosen word of each word that asks, by its number in the text."""

Ranked = tuple[float, int, int, Example]
"""Confidence (less 1 for a text that is hard to read, where that matters), minus the text's number and the
word's, so that of two equals the earlier one wins, and the example."""


@dataclass(frozen=True)
class Question:
    """Whose answers are wanted: a label, and a head in one of the two directions."""

    probe: str
    label: str
    head: HeadId
    direction: int
    direction_name: str


@dataclass(frozen=True)
class _Answer:
    """What the head chose for one case."""

    item: Pointing
    case: Case
    chosen: int
    confidence: float
    is_right: bool
    weights: Tensor  # (word,) what the head gives each word, or gets from it


@dataclass(eq=False)
class _HeadTally(Tally[Pointing]):
    """Looks at the answers of one head to the cases of one label."""

    question: Question
    faithful: bool = field(default=False, kw_only=True)

    def begin(self, items: Sequence[Pointing], present: Tensor, tokens: TokenBatch) -> None:
        """Lay out the cases of a batch."""
        self._batch = PointingBatch(items, present, tokens)

    def update(self, seen: LayerAttention) -> None:
        """Look at the one layer that matters."""
        asked, batch = self.question, self._batch
        if seen.layer != asked.head.layer or not batch.cases:
            return
        words = seen.reduce(word_attention_by(faithful=self.faithful))
        confidence, guess = batch.guesses(words)
        right = batch.is_right(confidence, guess)
        cell = (slice(None), asked.direction, asked.head.head)
        columns = (values[cell].tolist() for values in (guess, confidence, right))
        for (place, case), chosen, sure, is_right in zip(batch.cases, *columns, strict=True):
            if asked.label in (ALL, case.label) and sure > 0:
                weights = words[place, asked.head.head]  # (word, word)
                row = weights[case.asking] if asked.direction == 0 else weights[:, case.asking]
                self._see(_Answer(batch.items[place], case, chosen, sure, is_right, row))

    @abstractmethod
    def _see(self, answer: _Answer) -> None:
        """Note an answer, or do not."""


@dataclass(eq=False)
class PredictTally(_HeadTally):
    """All answers of one head, text by text."""

    answers: dict[int, Answers] = field(init=False, default_factory=dict)  # by the number of the text

    def begin(self, items: Sequence[Pointing], present: Tensor, tokens: TokenBatch) -> None:
        """Lay out the cases of a batch."""
        super().begin(items, present, tokens)
        self.answers = {item.number: {} for item in items}

    def _see(self, answer: _Answer) -> None:
        self.answers[answer.item.number][answer.case.asking] = answer.chosen

    def merge(self, other: Self) -> None:
        """Take the answers of `other` too."""
        self.answers |= other.answers

    def result(self) -> list[Answers]:
        """The answers in the order of the texts."""
        return [self.answers[number] for number in sorted(self.answers)]


@dataclass(frozen=True)
class AtWork:
    """The cases where a head is most sure, the surest first."""

    right: list[Example]
    wrong: list[Example]


@dataclass(eq=False)
class AtWorkTally(_HeadTally):
    """The surest cases of one head and label, at most one a text.

    `readable_first` ranks texts that are easy to look at above all others.
    """

    most: int = field(kw_only=True)
    readable_first: bool = field(default=False, kw_only=True)
    right: dict[int, Ranked] = field(init=False, default_factory=dict)  # by the number of the text
    wrong: dict[int, Ranked] = field(init=False, default_factory=dict)

    def _see(self, answer: _Answer) -> None:
        item = answer.item
        is_hard = self.readable_first and len(item.content) not in READABLE
        rank = (answer.confidence - is_hard, -item.number, -answer.case.asking)
        kept = self.right if answer.is_right else self.wrong
        if len(kept) < self.most or rank > _rank(kept[_least(kept)]):
            self._keep(kept, (*rank, self._example(answer)))

    def merge(self, other: Self) -> None:
        """See all that `other` has seen."""
        for mine, theirs in ((self.right, other.right), (self.wrong, other.wrong)):
            for ranked in theirs.values():
                self._keep(mine, ranked)

    def _keep(self, kept: dict[int, Ranked], ranked: Ranked) -> None:
        """Add to the surest so many; of one text only its surest case."""
        text = -ranked[1]
        kept[text] = max(kept.get(text, ranked), ranked, key=_rank)
        if len(kept) > self.most:
            del kept[_least(kept)]

    def result(self) -> AtWork:
        """The examples, the surest first."""
        surest = (sorted(kept.values(), key=_rank, reverse=True) for kept in (self.right, self.wrong))
        return AtWork(*([ranked[-1] for ranked in kept] for kept in surest))

    def _example(self, answer: _Answer) -> Example:
        words = answer.item.content.words
        return Example(
            probe=self.question.probe,
            label=self.question.label,
            direction=self.question.direction_name,
            head=self.question.head,
            words=tuple(words),
            asking=answer.case.asking,
            right=answer.case.right,
            guess=answer.chosen,
            # Texts of a batch are padded to the most words; one that was cut has weights for fewer.
            weights=tuple((answer.weights.tolist() + [0.0] * len(words))[: len(words)]),
            name=answer.item.name,
            looked_at=self.question.direction == 1,
        )


def _rank(ranked: Ranked) -> tuple[float, int, int]:
    return ranked[:3]


def _least(kept: Mapping[int, Ranked]) -> int:
    """The text of the case that is least sure."""
    return min(kept, key=lambda text: _rank(kept[text]))
