"""A large JSON object read part by part: its members one after the other, and the elements of one long array."""

import json
from collections.abc import Iterator
from typing import Any

from headscope.errors import TextError
from headscope.text.files import TextStream
from headscope.text.formats.lines import json_kind

PART_LIMIT = 1 << 25
"""Characters that one part may have: it is held in memory, where small values take twenty times their length."""

_LEAST = 1 << 16
_SPACE = " \t\n\r"


def read_parts(stream: TextStream, array: str, expected: str) -> Iterator[tuple[str, Any, bool]]:
    """The members of the object that a file is: the name, a value, and whether it is an element of `array`.

    The array itself comes as an empty one before its elements. Raises TextError for anything else, with what was
    `expected`.
    """
    source = _Source(stream, expected)
    if source.next() != "{":
        raise TextError(f"{json_kind(source.value())}, not an object; expected {expected}")
    source.skip()
    while source.next() != "}":
        if source.next() != '"':
            raise source.error("Expecting property name enclosed in double quotes")
        name = source.value()
        source.take(":")
        if name == array and source.next() == "[":
            source.skip()
            yield name, [], False
            while source.next() != "]":
                yield name, source.value(), True
                if source.next() != "]":
                    source.take(",")
            source.skip()
        else:
            yield name, source.value(), False
        if source.next() != "}":
            source.take(",")
    source.skip()
    if source.next():
        raise source.error("Extra data")


class _Source:
    """The characters of a file, of which as many are held as the part that is being read needs."""

    def __init__(self, stream: TextStream, expected: str) -> None:
        self._chunks, self._expected = stream.chunks(), expected
        self._text, self._place, self._ended = "", 0, False
        self._lines, self._column = 1, 1  # of the first character that is held

    def next(self) -> str:
        """The next character that is no white space, which stays; empty at the end."""
        while True:
            while self._place < len(self._text):
                if self._text[self._place] not in _SPACE:
                    return self._text[self._place]
                self._place += 1
            if not self._more(_LEAST):
                return ""

    def skip(self) -> None:
        """Go on behind the next character."""
        self._place += 1

    def take(self, character: str) -> None:
        """Go on behind a character that must be there."""
        if self.next() != character:
            raise self.error(f"Expecting {character!r} delimiter")
        self.skip()

    def value(self) -> Any:
        """The next value."""
        self.next()
        decoder = json.JSONDecoder()
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._place)
            except json.JSONDecodeError as error:
                # Twice as much, so that all of it is linear.
                if not self._more(len(self._text) - self._place):
                    raise self.error(error.msg, error.pos) from error
                continue
            except (ValueError, RecursionError) as error:  # a number or a nesting beyond what Python takes
                raise TextError(f"JSON that cannot be read ({error}); expected {self._expected}") from error
            if end < len(self._text) or not self._more(_LEAST):  # a number may go on behind what is held
                self._place = end
                return value

    def error(self, reason: str, place: int | None = None) -> TextError:
        """What is wrong at a place of the text that is held; else at the next character."""
        line, column = self._position(self._place if place is None else place)
        return TextError(f"not JSON ({reason}, line {line}, column {column}); expected {self._expected}")

    def _position(self, place: int) -> tuple[int, int]:
        lines = self._text.count("\n", 0, place)
        column = place - self._text.rfind("\n", 0, place) if lines else self._column + place
        return self._lines + lines, column

    def _more(self, size: int) -> bool:
        """Hold so many characters more, and let go of what was read; False at the end."""
        if self._ended:
            return False
        if len(self._text) - self._place > PART_LIMIT:
            raise TextError(
                f"an article of more than {PART_LIMIT:,} characters; split it into several, as SQuAD does"
            )
        self._lines, self._column = self._position(self._place)
        parts, length = [self._text[self._place :]], 0
        while length < max(size, _LEAST):
            chunk = next(self._chunks, None)
            if chunk is None:
                self._ended = True
                break
            parts.append(chunk)
            length += len(chunk)
        self._text, self._place = "".join(parts), 0
        return length > 0
