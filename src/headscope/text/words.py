"""Words: where they stand in a text, by character, the same whatever the tokenizer; and texts given as words."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Self

from headscope.text.sentences import clean

Span = tuple[int, int]

_SPACE, _WORD = 0, 1
_ASCII_WORD = re.compile(r"\w+|[^\w\s\x1c-\x1f]", re.ASCII)


def word_spans(text: str) -> list[Span]:
    """Where the words of a text begin and end: runs of letters, digits and marks; other characters one by one."""
    if text.isascii():  # the same rule, ten times as fast
        return [match.span() for match in _ASCII_WORD.finditer(text)]
    spans = []
    start = 0
    for kind, run in groupby(text, _kind):
        length = sum(1 for _ in run)
        if kind == _WORD:
            spans.append((start, start + length))
        elif kind != _SPACE:
            spans.extend((place, place + 1) for place in range(start, start + length))
        start += length
    return spans


def pieces_to_words(text: str, words: Sequence[Span], pieces: Sequence[Span]) -> list[int]:
    """The number of the word each piece belongs to, by the piece's first visible character; -1 for none."""
    word_at = [-1] * len(text)
    for number, (start, end) in enumerate(words):
        word_at[start:end] = [number] * (end - start)
    numbers = []
    for start, end in pieces:
        place = start
        while place < end and text[place].isspace():
            place += 1
        numbers.append(word_at[place] if place < end else -1)
    return numbers


@lru_cache(maxsize=4096)
def _kind(character: str) -> int:
    """Space, part of a word, or (by code point, so that each stands alone) anything else."""
    if character.isspace():
        return _SPACE
    # Combining marks and joiners belong to the letter before them; \w in a regular expression would cut there.
    if character.isalnum() or character == "_" or unicodedata.category(character) in {"Mn", "Mc", "Me", "Cf"}:
        return _WORD
    return 2


@dataclass(frozen=True)
class WordText:
    """The words of a text and the text they make up."""

    text: str
    spans: tuple[Span, ...]
    """Where each word begins and ends in `text`; a word of unprintable characters is empty."""

    def __len__(self) -> int:
        return len(self.spans)

    @property
    def words(self) -> list[str]:
        """The words as they stand in the text."""
        return [self.text[start:end] for start, end in self.spans]

    @classmethod
    def of(cls, words: Sequence[str], *, space_after: Sequence[bool] | None = None) -> Self:
        """The words in a row, a space after each but where `space_after` says no."""
        parts: list[str] = []
        spans: list[Span] = []
        length = 0
        for number, word in enumerate(words):
            if number and (space_after is None or space_after[number - 1]):
                parts.append(" ")
                length += 1
            spans.append((length, length + len(word)))
            parts.append(word)
            length += len(word)
        return cls(clean("".join(parts)), tuple(spans))  # clean keeps every character's place

    @classmethod
    def joined(cls, texts: Sequence["WordText"]) -> Self:
        """Several texts as one, a space between them."""
        spans: list[Span] = []
        start = 0
        for part in texts:
            spans += [(start + a, start + b) for a, b in part.spans]
            start += len(part.text) + 1
        return cls(" ".join(part.text for part in texts), tuple(spans))

    def up_to(self, words: int) -> "WordText":
        """The first so many words."""
        spans = self.spans[:words]
        return WordText(self.text[: spans[-1][1]] if spans else "", spans)
