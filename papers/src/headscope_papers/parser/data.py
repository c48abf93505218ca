"""Treebank sentences as the parser probe takes them: batches of like length, and what had to be left out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from headscope.passes.options import BatchSize
from headscope.probes import observe
from headscope.probes.observe import Pass
from headscope.text.annotated.treebank import ROOT, ParsedSentence
from headscope.text.batching import by_length
from headscope.text.encode import EncodedInput, EncodedText, Shown, TextEncoder
from headscope.text.skipped import Skipped
from headscope.types import StackName, padded
from headscope_papers.parser.lexicon import NO_WORD, Lexicon, Pieces

BATCH_TOKENS = 1024
"""How much goes into a batch: a training step, so it depends on neither the device nor the architecture."""

WINDOW = 4096
"""How many sentences are looked at together to find some of like length."""

NO_CASE = -2
"""Stands for the head of a word that is not asked for."""


@dataclass(frozen=True)
class Batch:
    """Sentences of like length. The words are those up to a sentence's last one that has a token."""

    encoded: list[EncodedInput]
    places: list[int]  # where each sentence stands among all that were read
    documents: list[int]  # the number of each sentence's document
    present: Tensor  # (text, word) True for words that have a token
    number: Tensor  # (text, word) in the lexicon
    head: Tensor  # (text, word) index of the syntactic head, ROOT, or NO_CASE

    @property
    def words(self) -> int:
        """How many words the longest sentence has."""
        return self.present.shape[1]

    def cases(self) -> tuple[Tensor, Tensor]:
        """(case,) the text and the word of every case."""
        text, word = (self.head != NO_CASE).nonzero(as_tuple=True)
        return text, word

    def answers(self) -> Tensor:
        """(case,) the syntactic head as a scorer's candidate: the word's index, or the last one for ROOT."""
        head = self.head[self.cases()]
        return torch.where(head == ROOT, self.words, head)

    def is_right(self, guess: Tensor) -> Tensor:
        """(case,) whether a guess, the best candidate of every word (text, word), is the syntactic head."""
        return guess[self.cases()] == self.answers()


@dataclass
class Account(observe.Account):
    """What was read, and what was left out."""

    cases: int = 0
    left_out: Skipped = field(default_factory=lambda: Skipped("words"))
    """Words that would be cases if they and their heads had a token."""

    def add(self, sentence: ParsedSentence, encoded: EncodedInput, heads: Sequence[int]) -> None:
        """Count a sentence, as the model is shown it and with the heads it is asked for."""
        self.read(sentence.document, f"{sentence.content.text}\0{sentence.heads}\n")
        self.seen.merge(Pass(texts=1, tokens=len(encoded.source), texts_cut=int(encoded.cut)))
        self.cases += sum(head != NO_CASE for head in heads)


@dataclass(frozen=True)
class _Sentence(Shown):
    place: int
    document: int
    present: list[bool]
    number: list[int]
    head: list[int]


@dataclass(frozen=True)
class Batcher:
    """Turns sentences into batches for one stack of one model."""

    encoder: TextEncoder
    stack: StackName
    lexicon: Lexicon[Any] | None
    batch_size: BatchSize = "auto"
    limit: int | None = None
    """Most sentences of a file."""

    def batches(self, sentences: Iterable[ParsedSentence], account: Account) -> Iterator[Batch]:
        """All sentences in batches, a window of them in memory at a time."""
        shown = (self._encoded(sentence, account) for sentence in islice(sentences, self.limit))
        while window := list(islice(shown, WINDOW)):
            usable = [sentence for sentence in window if any(sentence.present)]
            yield from map(_batch, by_length(usable, self._together, key=_size))

    def _together(self, tokens: int) -> int:
        """How many sentences of a length make a batch."""
        return BATCH_TOKENS // tokens if self.batch_size == "auto" else self.batch_size

    def _encoded(self, sentence: ParsedSentence, account: Account) -> _Sentence:
        encoded = self.encoder.encode_words(sentence.content)
        pieces = _pieces(encoded, self.stack)
        present = [bool(own) for own in pieces]
        numbers = [NO_WORD] * len(pieces)
        if self.lexicon is not None:
            numbers = self.lexicon.numbers(sentence.forms[: len(pieces)], pieces)
        heads = _cases(sentence, present, account.left_out)
        account.add(sentence, encoded, heads)
        return _Sentence(encoded, account.seen.texts - 1, sentence.document, present, numbers, heads)


def _size(sentence: _Sentence) -> tuple[int, int]:
    """Its tokens, which say how long the model takes, and its words, which say how large its maps are."""
    return len(sentence), len(sentence.present)


def _pieces(encoded: EncodedInput, stack: StackName) -> list[Pieces]:
    """The tokens of each word, up to the last word that has any."""
    side: EncodedText = encoded.source
    if stack == "decoder" and encoded.target is not None:
        side = encoded.target
    pieces: list[Pieces] = [()] * (max(side.word, default=-1) + 1)
    for token, word in zip(side.ids, side.word, strict=True):
        if word >= 0:
            pieces[word] += (token,)
    return pieces


def _cases(sentence: ParsedSentence, present: Sequence[bool], left_out: Skipped) -> list[int]:
    """(word,) the syntactic head of every word that is a case, NO_CASE for the others."""
    heads = [NO_CASE] * len(present)
    for word, head in enumerate(sentence.heads):
        if sentence.is_punctuation(word):
            continue
        has_token = {
            other: other < len(present) and present[other] for other in (word, head) if other != ROOT
        }
        lacking = next((other for other, has in has_token.items() if not has), None)
        if lacking is None:
            heads[word] = head
            continue
        whose = "" if lacking == word else f"its head {sentence.forms[lacking]!r} "
        reason = "was cut off" if lacking >= len(present) else "has no token of its own"
        left_out.add(f"{sentence.where(word)}: {sentence.forms[word]!r} {whose}{reason}")
    return heads


def _batch(sentences: Sequence[_Sentence]) -> Batch:
    return Batch(
        encoded=[sentence.encoded for sentence in sentences],
        places=[sentence.place for sentence in sentences],
        documents=[sentence.document for sentence in sentences],
        present=padded([sentence.present for sentence in sentences], value=False).bool(),
        number=padded([sentence.number for sentence in sentences], value=NO_WORD),
        head=padded([sentence.head for sentence in sentences], value=NO_CASE),
    )


def running_words(batches: Iterable[Batch]) -> Tensor:
    """(word,) the numbers in the lexicon of all words."""
    return torch.cat([batch.number[batch.present] for batch in batches])
