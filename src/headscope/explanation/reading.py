"""The texts of an explanation, dealt into two halves: neurons are chosen on one and scored on the other."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from headscope.explanation.sentences import token_sentences
from headscope.probes.halves import Turns
from headscope.text.corpus import Corpus
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.text.items import TextPair
from headscope.text.segments import segments


@dataclass(frozen=True)
class _Numbered:
    pair: TextPair
    number: int

    @property
    def document(self) -> int:
        """A pair that was given as it is stands for a document of its own."""
        return -1 - self.number if self.pair.document is None else self.pair.document


@dataclass(frozen=True)
class Shown:
    """A text as the model is shown it, and what it is for."""

    encoded: EncodedInput
    sentences: tuple[list[int], list[int] | None]  # of the tokens of source and target
    half: int
    number: int
    """Its place among all texts."""

    def __len__(self) -> int:
        return len(self.encoded)


class Reader:
    """Encoded texts in reading order, with a running account of what was read; may be iterated over again."""

    def __init__(self, corpus: Corpus, encoder: TextEncoder, limit: int | None) -> None:
        self.corpus = corpus
        self.encoder = encoder
        self.limit = limit
        self._begin()

    def _begin(self) -> None:
        self.digest = hashlib.sha256()
        self.read = self.documents = self.cut = self.tokens = 0
        self.exhausted = False
        self.halves: set[int] = set()

    def __iter__(self) -> Iterator[Shown]:
        self._begin()
        pairs = islice(segments(self.corpus.items(), self.encoder), self.limit)
        document: int | None = None
        turns = Turns((_Numbered(pair, number) for number, pair in enumerate(pairs)), kind="text")
        for text, half, number in turns:
            pair = text.pair
            self.documents += text.document != document
            document = text.document
            self.digest.update(f"{pair.first}\0{pair.second or ''}\n".encode())
            encoded = self.encoder.encode(pair)
            self.read += 1
            self.cut += encoded.cut
            self.tokens += len(encoded.source) + len(encoded.target.ids if encoded.target else [])
            self.halves.add(half)
            yield Shown(encoded, token_sentences(pair, encoded, self.encoder.layout), half, number)
        self.exhausted = True

    def expected(self, done: int) -> float | None:
        """How many texts there will be, as far as can be told."""
        if self.exhausted:
            return self.read
        share = self.corpus.progress
        by_bytes = None if not share else max(done, self.read / share)
        if self.limit is None:
            return by_bytes
        return self.limit if by_bytes is None else min(self.limit, by_bytes)
