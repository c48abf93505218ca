"""Word vectors from text files: GloVe's form, and word2vec's, which has a line above that tells their size."""

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from headscope.errors import TextError
from headscope.text.files import TextStream, nothing_found, open_text, shown
from headscope.text.formats.lines import filled_lines, read_records
from headscope.text.skipped import Skipped
from headscope.types import Array


@dataclass(frozen=True)
class WordVectors:
    """The vectors of some words, as a file has them."""

    name: str  # of the file
    numbers: Mapping[str, int]  # the row of each word
    values: Array  # (word, dimension) float32
    skipped: Skipped
    """Lines that could not be used."""

    def find(self, word: str) -> Array | None:
        """(dimension,) the vector of the word as it is spelled, or else of its lower-case form; None for neither."""
        number = self.numbers.get(word)
        if number is None:
            number = self.numbers.get(word.lower())
        return None if number is None else self.values[number]


def spellings(words: Iterable[str]) -> set[str]:
    """The words and their lower-case forms: all that `WordVectors.find` may look for."""
    words_as_given = set(words)
    return words_as_given | {word.lower() for word in words_as_given}


def read_vectors(path: str | os.PathLike[str], *, wanted: Container[str]) -> WordVectors:
    """The vectors of the `wanted` words (see `spellings`) from a text file, plain or gzip, read line by line.

    A line is a word and its numbers, separated by spaces; a word may hold spaces, as some of GloVe's do. A first
    line of two whole numbers is word2vec's, and says how wide the vectors are; else the first vector does. Skipped
    and told in `skipped` are lines of another width, and wanted words whose numbers are no numbers or that had a
    line before. Other words' numbers are not looked at. Raises TextError for a file whose first line is no
    vector, and for one without a vector of any wanted word.
    """
    skipped = Skipped("vector lines")
    with open_text(path) as stream:
        lines = filled_lines(stream)
        first = next(lines, None)
        if first is None:
            raise nothing_found(path)
        heading = _heading(first)
        width = _first_width(stream, first) if heading is None else heading
        taken = _Taken(width, wanted)
        left = lines if heading is not None else chain([first], lines)
        vectors = dict(filter(None, read_records(stream, taken.vector, skipped, lines=left)))
    if not vectors and taken.others:
        raise TextError(
            f"{shown(path)} has vectors of {taken.others:,} words, and none of a word of these texts; is it of their "
            "language?"
        )
    if not vectors:
        raise skipped.nothing_left(shown(path), why="has a heading and no vector; fetch the file again")
    numbers = {word: number for number, word in enumerate(vectors)}
    return WordVectors(Path(path).name, numbers, np.stack(list(vectors.values())), skipped)


@dataclass
class _Taken:
    """What was taken from the file so far."""

    width: int
    wanted: Container[str]
    words: set[str] = field(default_factory=set)
    others: int = 0  # vectors of words that are not wanted

    def vector(self, line: str) -> tuple[str, Array] | None:
        """The word of a line and its vector; None for a word that is not wanted."""
        parts = line.rstrip().split(" ")
        is_plain = len(parts) == self.width + 1
        word = parts[0] if is_plain else self._spaced(parts)
        if not word and not is_plain:
            count = len(parts) - 1
            raise TextError(
                f"{count} {'number' if count == 1 else 'numbers'} where {self.width} are expected"
            )
        if word not in self.wanted:
            self.others += 1
            return None
        if word in self.words:
            raise TextError(f"a second vector for {word!r}; the first one counts")
        row = _numbers(parts[-self.width :])
        if row is None:
            raise TextError(f"the vector of {word!r} has something in it that is no number")
        self.words.add(word)
        return word, row

    def _spaced(self, parts: Sequence[str]) -> str:
        """The word of a line that has more parts than expected; empty when it is not the word that has them."""
        inside = parts[1 : -self.width]
        return "" if any(_numbers([part]) is not None for part in inside) else " ".join(parts[: -self.width])


def _heading(line: str) -> int | None:
    """The width that word2vec's first line names (how many words, how wide); None for any other line."""
    parts = line.split()
    if len(parts) != 2 or not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts):
        return None
    return int(parts[1]) or None


def _first_width(stream: TextStream, line: str) -> int:
    parts = line.rstrip().split(" ")
    if len(parts) < 2 or _numbers(parts[1:]) is None:
        raise TextError(
            f"{stream.where}: {line[:40]!r} is no word vector; expected a word and its numbers, separated by spaces, "
            "as in GloVe's text files"
        )
    return len(parts) - 1


def _numbers(parts: Sequence[str]) -> Array | None:
    """(part,) the parts as float32; None when one of them is no finite number, or too large a one."""
    try:
        row = np.array(parts, dtype=np.float64)
    except ValueError:
        return None
    return row.astype(np.float32) if (np.abs(row) <= np.finfo(np.float32).max).all() else None
