"""Heads that point: does the word that asks look most at a word that would be right?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor

from headscope.probes.exemplars import READABLE, Exemplars, case_keys
from headscope.probes.halves import SCORE, SELECT
from headscope.probes.observe import Annotated, Tally
from headscope.probes.pointing.accuracy import Accuracy, Cases
from headscope.probes.words import word_attention, word_attention_by_first_piece
from headscope.stats.documents import FEWEST_DOCUMENTS
from headscope.text.skipped import Skipped
from headscope.types import AttentionBatch, HeadGrid, TokenBatch

ALL = "all"
"""The label that every case has beside its own."""

DIRECTIONS = 2
"""What the asking word gives, and what it is given."""


@dataclass(frozen=True)
class Case:
    """A word that asks, and the words that would be a right answer."""

    label: str
    asking: int
    right: tuple[int, ...]
    candidates: tuple[int, ...] | None = None  # None: every other word
    baselines: tuple[bool, ...] = ()  # what each baseline, which knows no attention, got right


class Pointing(Annotated, Protocol):
    """A text with its cases."""

    @property
    def half(self) -> int:
        """SELECT or SCORE."""

    @property
    def number(self) -> int:
        """Its place among all that were read."""

    @property
    def document(self) -> int:
        """The number of its document."""

    @property
    def name(self) -> str:
        """What to call it: its id in the file, or where it stands."""

    @property
    def cases(self) -> Sequence[Case]:
        """What its words ask."""

    def where(self, word: int) -> str:
        """`file:line` of a word."""


class PointingBatch:
    """The cases of a batch whose words have tokens, as tensors."""

    def __init__(self, items: Sequence[Pointing], present: Tensor, tokens: TokenBatch) -> None:
        """`present` (item, word) is False for words without a token; `lost` tells whose case that spoils."""
        self.lost = Skipped("cases")
        has_token = present.tolist()
        is_cut = [False] * len(items) if tokens.is_cut is None else tokens.is_cut.tolist()
        self.found: list[tuple[int, Case]] = []  # number of the item in the batch, and the case
        for place, item in enumerate(items):
            self._take(place, item, has_token[place], is_cut=is_cut[place])
        self.text = torch.tensor([place for place, _ in self.found], dtype=torch.long)
        self.asking = torch.tensor([case.asking for _, case in self.found], dtype=torch.long)
        self.candidates = self._candidates(present)  # (case, word)
        self.right = torch.zeros(len(self.found), present.shape[1], dtype=torch.bool)  # (case, word)
        for number, (_, case) in enumerate(self.found):
            self.right[number, list(case.right)] = True
        self.right &= self.candidates

    def _take(self, place: int, item: Pointing, has_token: list[bool], *, is_cut: bool) -> None:
        length = len(item.content)
        has_token = [*has_token, *[False] * (length - len(has_token))]
        if is_cut:
            length = max((number for number, has in enumerate(has_token) if has), default=-1) + 1
        for case in item.cases:
            if case.asking >= length or min(case.right) >= length:
                continue  # cut off with the end of the text, which is told as such
            answers = [word for word in case.right if word < length and has_token[word]]
            if has_token[case.asking] and answers:
                self.found.append(
                    (place, Case(case.label, case.asking, tuple(answers), case.candidates, case.baselines))
                )
            else:
                word = case.asking if not has_token[case.asking] else min(case.right)
                form = item.content.words[word]
                self.lost.add(f"{item.where(word)}: the tokenizer has no token for the word {form!r} alone")

    def _candidates(self, present: Tensor) -> Tensor:
        candidates = present.cpu()[self.text]
        candidates[torch.arange(len(self.found)), self.asking] = False
        for number, (_, case) in enumerate(self.found):
            if case.candidates is not None:
                allowed = torch.zeros_like(candidates[number])
                allowed[[word for word in case.candidates if word < len(allowed)]] = True
                candidates[number] &= allowed
        return candidates

    def guesses(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """(case, direction, head) how much attention the chosen word has, and which it is.

        `words` is (text, head, word, word). A word that has no attention is never chosen: confidence is 0 then.
        """
        given = words[self.text, :, self.asking]  # (case, head, word)
        received = words.transpose(-1, -2)[self.text, :, self.asking]
        both = torch.stack([given, received], 1)  # (case, direction, head, word)
        found = both.masked_fill(~self.candidates.to(both.device)[:, None, None], -1.0).max(-1)
        return found.values.clamp_min(0).cpu(), found.indices.cpu()

    def is_right(self, confidence: Tensor, guess: Tensor) -> Tensor:
        """(case, direction, head) whether the chosen word is right."""
        right = self.right[:, None, None].expand(*guess.shape, -1).gather(-1, guess[..., None])[..., 0]
        return right & (confidence > 0)


class PointingTally(Tally[Pointing]):
    """How often every head is right, by label, in each half; and where it is right most surely."""

    def __init__(
        self,
        grid: HeadGrid,
        *,
        baselines: int,
        faithful: bool = False,
        fewest_documents: int = FEWEST_DOCUMENTS,
    ) -> None:
        """`baselines` is how many of them each case brings along; for `fewest_documents` see Accuracy."""
        self.grid = grid
        self.baselines = baselines
        self.faithful = faithful
        cells = (DIRECTIONS, grid.layers, grid.heads)
        self.fewest_documents = fewest_documents
        self.accuracy = {half: self._sums(*cells) for half in (SELECT, SCORE)}
        self.baseline = {half: self._sums(baselines) for half in (SELECT, SCORE)}
        self.exemplars = Exemplars(*cells)
        self.lost = Skipped("cases")
        self.first_seen: dict[str, str] = {}
        """`file:line` of a case of each label, to name rare ones by."""

    def _sums(self, *cells: int) -> Accuracy:
        return Accuracy(*cells, fewest_documents=self.fewest_documents)

    def empty(self) -> "PointingTally":
        """A tally of the same kind that has counted nothing."""
        return PointingTally(
            self.grid,
            baselines=self.baselines,
            faithful=self.faithful,
            fewest_documents=self.fewest_documents,
        )

    def begin(self, items: Sequence[Pointing], present: Tensor, tokens: TokenBatch) -> None:
        """Lay out the cases of a batch and score the baselines, which need no attention."""
        batch = PointingBatch(items, present, tokens)
        self._batch = batch
        self.lost = batch.lost
        self._members: dict[int, Tensor] = {}  # (case,) which cases belong to each half
        self._cases: dict[int, Cases] = {}
        halves = torch.tensor([items[place].half for place, _ in batch.found], dtype=torch.long)
        for half in (SELECT, SCORE):
            members = (halves == half).nonzero()[:, 0]
            found = [batch.found[number] for number in members.tolist()]
            texts = [place for place, _ in found] * 2
            labels = [case.label for _, case in found] + [ALL] * len(found)
            documents = [items[place].document for place in texts]
            self._members[half] = members
            self._cases[half] = self.accuracy[half].begin(texts, labels, documents)
            counted = self.baseline[half].begin(texts, labels, documents)
            if self.baselines:
                right = torch.tensor([case.baselines for _, case in found], dtype=torch.bool)
                self.baseline[half].add(counted, right.repeat(2, 1))
        scored = [batch.found[number] for number in self._members[SCORE].tolist()]
        self._rows = self.exemplars.rows([case.label for _, case in scored])
        numbers = torch.tensor([items[place].number for place, _ in scored], dtype=torch.long)
        self._keys = case_keys(numbers, batch.asking[self._members[SCORE]])
        readable = [len(items[place].content) in READABLE for place, _ in scored]
        self._penalty = 1.0 - torch.tensor(readable, dtype=torch.float)  # (case,)
        for place, case in batch.found:
            if case.label not in self.first_seen:
                self.first_seen[case.label] = items[place].where(case.asking)

    def update(self, seen: AttentionBatch) -> None:
        """Count one layer of the batch."""
        reduction = word_attention_by_first_piece if self.faithful else word_attention
        confidence, guess = self._batch.guesses(seen.reduce(reduction))
        right = self._batch.is_right(confidence, guess)
        at = (slice(None), seen.layer)
        for half, members in self._members.items():
            self.accuracy[half].add(self._cases[half], right[members].repeat(2, 1, 1), at)
        members = self._members[SCORE]
        score = confidence[members] - self._penalty[:, None, None]
        self.exemplars.add(self._rows, self._keys, score.masked_fill(~right[members], -torch.inf), at)

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        for half in (SELECT, SCORE):
            self.accuracy[half].merge(other.accuracy[half])
            self.baseline[half].merge(other.baseline[half])
        self.exemplars.merge(other.exemplars)
        self.lost.merge(other.lost)
        self.first_seen = {**other.first_seen, **self.first_seen}
