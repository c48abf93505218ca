"""From the tokenizer's pieces to words, by character: the same words whatever the tokenizer."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

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
    found = []
    for start, end in pieces:
        place = start
        while place < end and text[place].isspace():
            place += 1
        found.append(word_at[place] if place < end else -1)
    return found


@lru_cache(maxsize=4096)
def _kind(character: str) -> int:
    """Space, part of a word, or (by code point, so that each stands alone) anything else."""
    if character.isspace():
        return _SPACE
    # Combining marks and joiners belong to the letter before them; \w in a regular expression would cut there.
    if character.isalnum() or character == "_" or unicodedata.category(character) in {"Mn", "Mc", "Me", "Cf"}:
        return _WORD
    return 2
