"""Laying out the words of a sentence in one line, or the telling parts of a long one."""

import unicodedata
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import mean

from headscope.atlas import Example
from headscope.facts.wording import printed

WORD_SIZE = 9.5  # points
LONGEST_WORD = 22  # characters; a longer word loses its middle
GAP = 5.5  # points between two words
MOST_WIDTH = 700.0  # points that a line may take
MANY = 0.1  # attention that makes a word worth showing in an excerpt

_NARROW = frozenset("fijlrtI.,;:!'|()[]{}`´‘’ ")
_WIDE = frozenset("mwMW@%—…")


@dataclass(frozen=True)
class Place:
    """A word in the line, or a gap where words were left out."""

    words: tuple[int, ...]
    """The index of the word; of all that were left out where this is a gap."""
    text: str
    x: float
    """Its middle, in points from the left."""
    width: float

    @property
    def is_gap(self) -> bool:
        """True where words were left out, which are never few enough to be one."""
        return len(self.words) > 1


@dataclass(frozen=True)
class Line:
    """The words of a sentence, side by side."""

    places: tuple[Place, ...]
    width: float  # points

    def of(self, word: int) -> Place | None:
        """Where a word stands; None when it was left out."""
        return next((place for place in self.places if not place.is_gap and place.words[0] == word), None)


def lay_out(example: Example, *, below: Callable[[int], float], room: float = MOST_WIDTH) -> Line:
    """The sentence in one line of at most `room` points, or as much of it as fits around what matters.

    `below(word)` is how wide what stands below a word is. A line that is too long even without its less
    important words is returned as it is; whoever draws it makes the letters smaller.
    """
    words = range(len(example.words))
    line = _line(example, words, below)
    if line.width <= room:
        return line
    for wanted in _what_matters(example):
        shown = set(wanted)
        line = _line(example, shown, below)
        if line.width > room:
            continue
        for word in sorted(words, key=lambda word: min(abs(word - one) for one in wanted)):
            longer = _line(example, shown | {word}, below)
            if longer.width > room:
                break
            shown, line = shown | {word}, longer
        return line
    return line


def _what_matters(example: Example) -> Iterator[set[int]]:
    """Words that an excerpt must show: first all that matter, then fewer and fewer."""
    core = {example.asking, example.guess}
    much = {word for word, weight in enumerate(example.weights) if weight >= MANY}
    yield core | set(example.right) | much
    yield core | set(example.right)
    yield core | set(sorted(example.right, key=lambda word: abs(word - example.asking))[:1])
    yield core


def _line(example: Example, shown: Container[int], below: Callable[[int], float]) -> Line:
    parts: list[tuple[tuple[int, ...], str, float]] = []
    for group in _groups(len(example.words), shown):
        if len(group) == 1:
            text = short(printed(example.words[group[0]]))
            parts.append((group, text, max(text_width(text, WORD_SIZE), below(group[0]))))
        else:
            parts.append(
                (group, "…", max(text_width("…", WORD_SIZE), text_width(f"{len(group)} words", 7.0)))
            )
    total = sum(width for _, _, width in parts) + GAP * (len(parts) + 1)
    places = []
    left = GAP
    for group, text, width in parts:
        x = left + width / 2
        places.append(Place(group, text, total - x if _is_right_to_left(example.words) else x, width))
        left += width + GAP
    return Line(tuple(places), total)


def _groups(count: int, shown: Container[int]) -> Iterator[tuple[int, ...]]:
    """Every shown word alone, and every run of hidden ones together; a run of one is as good as shown."""
    for is_shown, group in groupby(range(count), key=shown.__contains__):
        run = tuple(group)
        if is_shown:
            yield from ((word,) for word in run)
        else:
            yield run


def short(word: str) -> str:
    """A long word without its middle."""
    if len(word) <= LONGEST_WORD:
        return word
    half = (LONGEST_WORD - 1) // 2
    return f"{word[: LONGEST_WORD - 1 - half]}…{word[-half:]}"


def text_width(text: str, size: float) -> float:
    """How wide a text is, about, in points; what fonts there will be is not known when a picture is made."""
    return size * sum(_em(c) for c in text)


def _em(character: str) -> float:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.05
    if character in _NARROW:
        return 0.37
    if character in _WIDE:
        return 0.95
    return 0.69 if character.isupper() else 0.61


def _is_right_to_left(words: Sequence[str]) -> bool:
    """Whether most letters belong to scripts that run from right to left."""
    kinds = [unicodedata.bidirectional(c) for word in words for c in word]
    strong = [kind in ("R", "AL") for kind in kinds if kind in ("L", "R", "AL")]
    return bool(strong) and mean(strong) > 0.5
