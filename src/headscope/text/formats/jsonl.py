"""JSON lines: one object a line, a document in `text`, or a pair in `text_a` and `text_b`."""

import json
from collections.abc import Iterator

from headscope.errors import TextError
from headscope.text.files import TextStream
from headscope.text.items import Item, Sentence, TextPair
from headscope.text.sentences import clean, stream_sentences

_EXPECTED = '{"text": "..."} or {"text_a": "...", "text_b": "..."}'
_EXPECTED_PAIR = '{"text_a": "...", "text_b": "..."}'
_KEYS_SHOWN = 5


def read_items(stream: TextStream, *, first_document: int = 0) -> Iterator[Item]:
    """The items of a file, one object a line; blank lines are skipped.

    An object with `text` is one document and gives its sentences; line breaks and blank lines inside it are
    only sentence boundaries. One with `text_a`, and `text_b` or not, gives a TextPair.
    """
    document = first_document
    for found in _objects(stream):
        if "text" not in found:
            yield _pair(stream, found, expected=_EXPECTED)
            continue
        if "text_a" in found or "text_b" in found:
            raise TextError(f"{stream.where}: both text and text_a or text_b; keep one form, {_EXPECTED}")
        text = _string(stream, found, "text")
        for sentence in stream_sentences([text]):
            if sentence is not None:
                yield Sentence(sentence, document)
        document += 1


def read_pairs(stream: TextStream) -> Iterator[TextPair]:
    """The pairs of a file, one object a line; every object must be a pair. Blank lines are skipped."""
    for found in _objects(stream):
        yield _pair(stream, found, expected=_EXPECTED_PAIR)


def _objects(stream: TextStream) -> Iterator[dict[str, object]]:
    for line in stream.lines():
        if not line.strip():
            continue
        try:
            value: object = json.loads(line)
        except json.JSONDecodeError as error:
            raise TextError(
                f"{stream.where}: not JSON ({error.msg}, column {error.colno}); "
                f"expected one object a line, {_EXPECTED}"
            ) from error
        except (ValueError, RecursionError) as error:  # a number or a nesting beyond what Python takes
            raise TextError(
                f"{stream.where}: JSON that cannot be read ({error}); expected one object a line, {_EXPECTED}"
            ) from error
        if not isinstance(value, dict):
            raise TextError(f"{stream.where}: {_kind(value)}, not an object; expected {_EXPECTED}")
        yield value


def _pair(stream: TextStream, found: dict[str, object], *, expected: str) -> TextPair:
    if "text_a" not in found:
        keys = ", ".join(repr(key) for key in list(found)[:_KEYS_SHOWN]) or "none"
        more = " ..." if len(found) > _KEYS_SHOWN else ""
        raise TextError(f"{stream.where}: no text found (keys: {keys}{more}); expected {expected}")
    first = _string(stream, found, "text_a")
    if not first.strip():
        raise TextError(f"{stream.where}: text_a is empty; give it a text, or remove the line")
    second = _string(stream, found, "text_b") if found.get("text_b") is not None else ""
    return TextPair(first, second if second.strip() else None)


def _string(stream: TextStream, found: dict[str, object], key: str) -> str:
    value = found[key]
    if not isinstance(value, str):
        raise TextError(f"{stream.where}: {key} is {_kind(value)}; expected a string")
    return value if key == "text" else clean(value)  # a document is cleaned when it is split


def _kind(value: object) -> str:
    """What JSON calls a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
