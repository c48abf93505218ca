"""Sentences from running text: rules that lean on English, on text of any length in bounded memory.

A line break always ends a sentence (one paragraph a line) and a blank line ends a document. NEL (U+0085),
LINE SEPARATOR (U+2028) and PARAGRAPH SEPARATOR (U+2029) are line breaks too: that is all they mean in running
text, and a tokenizer would glue the lines together or give it back as an unknown character.

Every decision looks at a window that starts at the sentence and has a fixed length, whatever pieces the text
came in. So the same text gives the same sentences however it is cut into chunks, and the work is linear.
"""

import io
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from headscope.data import english
from headscope.errors import OptionError

MAX_CHARACTERS: Final = 5000
"""Longest sentence, in characters; a longer run without a boundary is cut."""

_LOOKAHEAD: Final = 64  # what the rules may need to see after a sentence: closing quotes, space, a word
_LONGEST_ABBREVIATION: Final = 16
_CLUSTER_LIMIT: Final = 32  # how far a hard cut moves back to keep a character and its marks together

_WIDE_MARKS = "。！？｡．"
_MARKS = ".!?…؟۔।" + _WIDE_MARKS
_CLOSERS = "\"'”’»›)]}」』）】〉》］｝"
_OPENERS = "\"'“”‘’«»‹›„‚([{「『（【〈《［｛¿¡*_-–—•"
_NEVER_FIRST = ",;:)]}" + _MARKS  # a sentence does not begin with these
_CANDIDATE = re.compile(f"[{re.escape(_MARKS)}]+[{re.escape(_CLOSERS)}]*")
_NOT_SPACE = re.compile(r"\S")
_WORD = re.compile(r"[^\W\d_]+")
_ACRONYM = re.compile(r"[^\W\d_](\.[^\W\d_]+)+")  # U.S, a.m, Ph.D: the last dot is not part of it
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


_WORDS = english("sentences")


def clean(text: str) -> str:
    """The text with a space for every control character but tab and newline, and for lone surrogates.

    BERT's tokenizer drops control characters, which glues the words around them together, others turn them
    into unknown tokens, and a lone surrogate (half an emoji in a JSON file) cannot be encoded at all.
    Format characters stay: emoji and right-to-left text are built with them.
    """
    return _UNSAFE.sub(" ", text)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, without white space around them; a sentence may be of any length."""
    sentences = stream_sentences([text], max_characters=max(len(text), 1))
    return [sentence for sentence in sentences if sentence is not None]


def stream_sentences(chunks: Iterable[str], *, max_characters: int = MAX_CHARACTERS) -> Iterator[str | None]:
    """The sentences of a text that comes in chunks, with None where a blank line ends a document.

    None comes once after each document that a blank line ended, never first and never twice in a row; a
    document that the text itself ended has none. Holds about `max_characters` and one chunk. A run of more
    than `max_characters` without a boundary is cut at the last white space, or hard where there is none.
    """
    if max_characters < 1:
        raise OptionError(f"max_characters is {max_characters}; give the longest sentence, 1 or more")
    line = _Line(max_characters)
    in_document = False
    for chunk in _normal(chunks):
        *ended, rest = chunk.split("\n")
        for piece in ended:
            line.add(piece)
            for sentence in line.take(final=True):
                in_document = True
                yield sentence
            if line.is_blank and in_document:
                in_document = False
                yield None
            line = _Line(max_characters)
        line.add(rest)
        for sentence in line.take(final=False):
            in_document = True
            yield sentence
    for sentence in line.take(final=True):
        in_document = True
        yield sentence
    # A last line of white space is a blank line even without a line break; no characters are no line.
    if line.has_characters and line.is_blank and in_document:
        yield None


class _Line:
    """The part of one line that is not yet given out, and whether any of it was."""

    def __init__(self, max_characters: int) -> None:
        self.max_characters = max_characters
        self.window = max_characters + _LOOKAHEAD
        self.is_blank = True  # nothing visible in it so far
        self.has_characters = False
        self._pieces: list[str] = []  # joined only once there is a window full: adding stays cheap
        self._length = 0

    def add(self, piece: str) -> None:
        """Put more text at the end of the line."""
        if piece:
            self.has_characters = True
            self._pieces.append(piece)
            self._length += len(piece)

    def take(self, *, final: bool) -> Iterator[str]:
        """The sentences that can be told by now: all of them when `final`."""
        if not final and self._length < self.window:
            return
        text = "".join(self._pieces)
        start = _skip_space(text, 0)
        while start < len(text) and (final or len(text) - start >= self.window):
            stop = min(start + self.window, len(text))
            end = _sentence_end(text, start, stop, start + self.max_characters)
            sentence = text[start:end].rstrip()
            if _is_visible(sentence):
                self.is_blank = False
                yield sentence
            start = _skip_space(text, end)
        self._pieces = [text[start:]]
        self._length = len(text) - start


def _normal(chunks: Iterable[str]) -> Iterator[str]:
    """Chunks in which every line break is a newline and no control character is left but tab."""
    newlines = io.IncrementalNewlineDecoder(None, translate=True)  # a \r\n may lie across two chunks
    for chunk in chunks:
        text = newlines.decode(chunk)
        yield clean(text.replace("\x85", "\n").replace("\u2028", "\n").replace("\u2029", "\n"))
    yield newlines.decode("", final=True)


def _skip_space(text: str, start: int) -> int:
    match = _NOT_SPACE.search(text, start)
    return match.start() if match else len(text)


def _is_visible(text: str) -> bool:
    """Whether there is more than white space and format characters (zero-width space, direction marks)."""
    return any(not character.isspace() and unicodedata.category(character) != "Cf" for character in text)


def _sentence_end(text: str, start: int, stop: int, limit: int) -> int:
    """Where the sentence at `start` ends: at most `limit`, seeing the text up to `stop`."""
    for candidate in _CANDIDATE.finditer(text, start, stop):
        if candidate.end() > limit:
            break
        if _is_boundary(text, start, candidate, stop):
            return candidate.end()
    return stop if stop <= limit else _cut(text, start, limit)


def _cut(text: str, start: int, limit: int) -> int:
    """Where to cut a run that is too long: the last white space up to `limit`, or `limit` itself."""
    head = text[start : limit + 1]  # the white space may stand right after the limit
    if head[-1].isspace():
        return limit
    words = head.rsplit(None, 1)
    if len(words) == 2:
        return limit + 1 - len(words[1])
    for end in range(limit, max(limit - _CLUSTER_LIMIT, start), -1):
        if not _continues(text[end]) and text[end - 1] != "\u200d":
            return end
    return limit


def _continues(character: str) -> bool:
    """Whether a character belongs to the one before it: combining mark, joiner, skin tone."""
    return (
        unicodedata.category(character).startswith("M")
        or character == "\u200d"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _is_boundary(text: str, start: int, candidate: re.Match[str], stop: int) -> bool:
    """Whether a sentence ends after these marks and the closing quotes and brackets that follow them."""
    marked = candidate.group().rstrip(_CLOSERS)
    end = candidate.end()
    if marked[-1] in _WIDE_MARKS:
        return True  # these are not followed by a space
    if end < stop and not text[end].isspace():
        return False  # 3.14, example.org, U.S.A
    following = _first_of_next(text, end, stop)
    if following == stop or text[following] in _NEVER_FIRST:
        return following == stop
    if text[following].islower():
        # "Stop!" he said: the sentence goes on. But informal text starts sentences in lower case.
        return marked[-1] in "!?؟" and end == candidate.start() + len(marked)
    return marked != "." or not _is_abbreviated(text, start, candidate.start(), following, stop)


def _first_of_next(text: str, position: int, stop: int) -> int:
    """Where the next word would begin: after white space and opening quotes and brackets."""
    while position < stop and (text[position].isspace() or text[position] in _OPENERS):
        position += 1
    return position


def _is_abbreviated(text: str, start: int, dot: int, following: int, stop: int) -> bool:
    """Whether the dot belongs to the word before it and ends no sentence."""
    first = dot
    earliest = max(start, dot - _LONGEST_ABBREVIATION)
    while first > earliest and (text[first - 1].isalnum() or text[first - 1] == "."):
        first -= 1
    word = text[first:dot]
    if word.isdecimal():
        return first == start and len(word) <= 3  # "1. Introduction" is one line of a list
    lower = word.lower()
    if lower in _WORDS["links"] or (lower in _WORDS["titles"] and word[0].isupper()):
        return True
    if lower in _WORDS["before_numbers"] and text[following].isdecimal():
        return True
    is_initial = len(word) == 1 and word.isupper()
    if is_initial or lower in _WORDS["often_inside"] or _ACRONYM.fullmatch(word):
        return not _starts_sentence(text, following, stop)
    return False


def _starts_sentence(text: str, following: int, stop: int) -> bool:
    """Whether the next word is one that often begins a sentence, and no initial (A. A. Milne)."""
    match = _WORD.match(text, following, stop)
    if match is None:
        return False
    is_initial = len(match.group()) == 1 and text[match.end() : match.end() + 1] == "."
    return not is_initial and match.group().lower() in _WORDS["starters"]
