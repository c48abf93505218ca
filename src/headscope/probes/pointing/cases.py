"""Heads that point: does the word that asks look most at a word that would be right?"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from headscope.probes.halves import SCORE
from headscope.text.skipped import Skipped
from headscope.text.words import WordText
from headscope.types import TokenBatch

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


@dataclass(frozen=True)
class Pointing:
    """A text with its cases."""

    content: WordText
    cases: Sequence[Case]
    document: int
    name: str
    """What to call it: its id in the file, or where it stands."""
    where: Callable[[int], str]
    """`file:line` of a word."""
    half: int = SCORE
    number: int = 0
    """Its place among all that were read."""

    @property
    def signature(self) -> str:
        """What the hash of the data is made of."""
        asked = [(case.label, case.asking, case.right, case.candidates) for case in self.cases]
        return f"{self.document}\0{self.content.text}\0{asked}\n"


@dataclass(frozen=True)
class Measured:
    """What one layer does with the cases of a batch."""

    values: Mapping[str, Tensor]  # (case, direction, head) of every quantity
    confidence: Tensor  # (case, direction, head) how much attention the answer has
    is_right: Tensor  # (case, direction, head) whether no other word has more


class CaseBatch(ABC):
    """The cases of a batch whose words have tokens, and what is measured of them."""

    quantities: ClassVar[tuple[str, ...]]
    """What is averaged over cases; heads are chosen by the first one."""

    def __init__(self, items: Sequence[Pointing], present: Tensor, tokens: TokenBatch) -> None:
        """`present` (item, word) is False for words without a token; `lost` tells whose case that spoils."""
        self.items = items
        self.cases: list[tuple[int, Case]] = []  # number of the item in the batch, and the case
        self.lost = Skipped("cases")
        is_cut = [False] * len(items) if tokens.is_cut is None else tokens.is_cut.tolist()
        for place, has_token in enumerate(present.tolist()):
            self._take(place, has_token, is_cut=is_cut[place])

    @abstractmethod
    def _take(self, place: int, has_token: list[bool], *, is_cut: bool) -> None:
        """Find or lose the cases of one item."""

    def counts(self, quantity: str) -> Tensor:
        """(case,) True for the cases that have the quantity."""
        return torch.ones(len(self.cases), dtype=torch.bool)

    @abstractmethod
    def measure(self, words: Tensor) -> Measured:
        """What one layer does with the cases, by its attention between words (text, head, word, word)."""


class PointingBatch(CaseBatch):
    """Cases as tensors, and what every head answers."""

    quantities = ("accuracy",)

    def __init__(self, items: Sequence[Pointing], present: Tensor, tokens: TokenBatch) -> None:
        super().__init__(items, present, tokens)
        self.text = torch.tensor([place for place, _ in self.cases], dtype=torch.long)
        self.asking = torch.tensor([case.asking for _, case in self.cases], dtype=torch.long)
        self.candidates = present.cpu()[self.text]  # (case, word)
        self.right = torch.zeros_like(self.candidates)  # (case, word)
        for number, (_, case) in enumerate(self.cases):
            self.right[number, list(case.right)] = True
            self.candidates[number, case.asking] = False
            if case.candidates is not None:
                allowed = torch.zeros_like(self.candidates[number])
                allowed[[word for word in case.candidates if word < len(allowed)]] = True
                self.candidates[number] &= allowed
        self.right &= self.candidates

    def _take(self, place: int, has_token: list[bool], *, is_cut: bool) -> None:
        item = self.items[place]
        length = len(item.content)
        has_token = [*has_token, *[False] * (length - len(has_token))]
        if is_cut:
            length = max((number for number, has in enumerate(has_token) if has), default=-1) + 1
        for case in item.cases:
            if case.asking >= length or min(case.right) >= length:
                continue  # cut off with the end of the text, which is told as such
            answers = tuple(word for word in case.right if word < length and has_token[word])
            if has_token[case.asking] and answers:
                self.cases.append((place, replace(case, right=answers)))
            else:
                word = case.asking if not has_token[case.asking] else min(case.right)
                form = item.content.words[word]
                self.lost.add(f"{item.where(word)}: the tokenizer has no token for the word {form!r} alone")

    def guesses(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """(case, direction, head) how much attention the chosen word has, and which it is.

        `words` is (text, head, word, word). A word that has no attention is never chosen: confidence is 0 then.
        """
        sent = words[self.text, :, self.asking]  # (case, head, word)
        received = words.transpose(-1, -2)[self.text, :, self.asking]
        both = torch.stack([sent, received], 1)  # (case, direction, head, word)
        best = both.masked_fill(~self.candidates.to(both.device)[:, None, None], -1.0).max(-1)
        return best.values.clamp_min(0).cpu(), best.indices.cpu()

    def is_right(self, confidence: Tensor, guess: Tensor) -> Tensor:
        """(case, direction, head) whether the chosen word is right."""
        right = self.right[:, None, None].expand(*guess.shape, -1).gather(-1, guess[..., None])[..., 0]
        return right & (confidence > 0)

    def measure(self, words: Tensor) -> Measured:
        """Whether every head chooses a right word."""
        confidence, guess = self.guesses(words)
        right = self.is_right(confidence, guess)
        return Measured({"accuracy": right}, confidence, right)
