"""Treebank sentences as the parser probe takes them: batches of like length, and what had to be left out."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

import torch
from torch import Tensor

from headscope.probes.parser.lexicon import NO_WORD, Lexicon, Pieces
from headscope.run.options import BatchSize
from headscope.text.annotated.treebank import ROOT, ParsedSentence, Treebank
from headscope.text.batching import by_length
from headscope.text.encode import EncodedInput, EncodedText, TextEncoder
from headscope.text.skipped import Skipped
from headscope.types import StackName, padded

BATCH_TOKENS = 1024
"""How much goes into a batch: a training step, so it depends on neither the device nor the architecture."""

WINDOW = 4096
"""How many sentences are looked at together to find some of like length."""

HELD_OUT_EVERY = 10
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


@dataclass
class Account:
    """What was read, and what was left out."""

    sentences: int = 0
    documents: int = 0
    tokens: int = 0
    cut: int = 0
    cases: int = 0
    left_out: Skipped = field(default_factory=lambda: Skipped("words"))
    """Words that would be cases if they and their heads had a token."""
    digest: Any = field(default_factory=hashlib.sha256)
    _document: int | None = None

    def add(self, sentence: ParsedSentence, encoded: EncodedInput, heads: Sequence[int]) -> None:
        """Count a sentence, as the model is shown it and with the heads it is asked for."""
        self.documents += sentence.document != self._document
        self._document = sentence.document
        self.sentences += 1
        self.tokens += len(encoded.source)
        self.cut += encoded.cut
        self.cases += sum(head != NO_CASE for head in heads)
        self.digest.update(f"{sentence.content.text}\0{sentence.heads}\n".encode())


@dataclass(frozen=True)
class _Shown:
    encoded: EncodedInput
    place: int
    document: int
    present: list[bool]
    number: list[int]
    head: list[int]

    def __len__(self) -> int:
        return len(self.encoded)


@dataclass(frozen=True)
class Batcher:
    """Turns sentences into batches for one stack of one model."""

    encoder: TextEncoder
    stack: StackName
    lexicon: Lexicon[Any] | None
    batch_size: BatchSize = "auto"

    def batches(self, sentences: Iterable[ParsedSentence], account: Account) -> Iterator[Batch]:
        """All sentences in batches, a window of them in memory at a time."""
        shown = (self._shown(one, account) for one in sentences)
        while window := list(islice(shown, WINDOW)):
            usable = [one for one in window if any(one.present)]
            yield from map(_batch, by_length(usable, self._together, key=_size))

    def _together(self, tokens: int) -> int:
        """How many sentences of a length make a batch."""
        return BATCH_TOKENS // tokens if self.batch_size == "auto" else self.batch_size

    def _shown(self, sentence: ParsedSentence, account: Account) -> _Shown:
        encoded = self.encoder.encode_words(sentence.content)
        pieces = _pieces(encoded, self.stack)
        present = [bool(own) for own in pieces]
        numbers = [NO_WORD] * len(pieces)
        if self.lexicon is not None:
            numbers = self.lexicon.numbers(sentence.forms[: len(pieces)], pieces)
        heads = _cases(sentence, present, account.left_out)
        account.add(sentence, encoded, heads)
        return _Shown(encoded, account.sentences - 1, sentence.document, present, numbers, heads)


def _size(shown: _Shown) -> tuple[int, int]:
    """Its tokens, which say how long the model takes, and its words, which say how large its maps are."""
    return len(shown), len(shown.present)


def _pieces(encoded: EncodedInput, stack: StackName) -> list[Pieces]:
    """The tokens of each word, up to the last word that has any."""
    side: EncodedText = encoded.source
    if stack == "decoder" and encoded.target is not None:
        side = encoded.target
    found: list[list[int]] = [[] for _ in range(max(side.word, default=-1) + 1)]
    for token, word in zip(side.ids, side.word, strict=True):
        if word >= 0:
            found[word].append(token)
    return [tuple(own) for own in found]


def _cases(sentence: ParsedSentence, present: Sequence[bool], left_out: Skipped) -> list[int]:
    """(word,) the syntactic head of every word that is a case, NO_CASE for the others."""
    heads = [NO_CASE] * len(present)
    for word, head in enumerate(sentence.heads):
        if sentence.upos[word] == "PUNCT" or sentence.relations[word].partition(":")[0] == "punct":
            continue
        lacking = next(
            (one for one in (word, head) if one != ROOT and not (one < len(present) and present[one])), None
        )
        if lacking is None:
            heads[word] = head
            continue
        whose = "" if lacking == word else f"its head {sentence.forms[lacking]!r} "
        reason = "was cut off" if lacking >= len(present) else "has no token of its own"
        left_out.add(f"{sentence.where(word)}: {sentence.forms[word]!r} {whose}{reason}")
    return heads


def _batch(shown: Sequence[_Shown]) -> Batch:
    return Batch(
        encoded=[one.encoded for one in shown],
        places=[one.place for one in shown],
        documents=[one.document for one in shown],
        present=padded([one.present for one in shown], value=False).bool(),
        number=padded([one.number for one in shown], value=NO_WORD),
        head=padded([one.head for one in shown], value=NO_CASE),
    )


def word_counts(batches: Iterable[Batch], numbers: int) -> Tensor:
    """(number,) how often each word of the lexicon occurs."""
    counts = torch.zeros(numbers, dtype=torch.long)
    for batch in batches:
        counts += torch.bincount(batch.number[batch.present], minlength=numbers)
    return counts


class HoldOut:
    """A treebank without every tenth document (or sentence, where there is one document), and those."""

    def __init__(self, train: Treebank) -> None:
        self.train = train
        first: int | None = None
        self.unit: Literal["document", "sentence"] = "sentence"
        for sentence in train:
            if first is not None and sentence.document != first:
                self.unit = "document"
                break
            first = sentence.document

    def part(self, *, held_out: bool) -> Iterator[ParsedSentence]:
        """The sentences that are held out, the first one or its document among them; or the others."""
        turn = -1
        document: int | None = None
        for sentence in self.train:
            turn += self.unit == "sentence" or sentence.document != document
            document = sentence.document
            if (turn % HELD_OUT_EVERY == 0) is held_out:
                yield sentence
