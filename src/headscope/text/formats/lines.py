"""One record a line: JSON objects, or two tab-separated columns. Blank lines are skipped."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard, TypeVar

from headscope.errors import TextError
from headscope.text.files import TextStream
from headscope.text.items import Item, Sentence, TextPair
from headscope.text.sentences import clean, stream_sentences
from headscope.text.skipped import Skipped

T = TypeVar("T")

_EXPECTED = '{"text": "..."} or {"text_a": "...", "text_b": "..."}'
_EXPECTED_PAIR = '{"text_a": "...", "text_b": "..."}'
_KINDS: Mapping[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
}
_KEYS_SHOWN = 5
_LONGEST_SHOWN = 40


def filled_lines(stream: TextStream) -> Iterator[str]:
    """The lines that are not blank."""
    return (line for line in stream.lines() if line.strip())


def read_records(
    stream: TextStream,
    parse: Callable[[str], T],
    skipped: Skipped | None = None,
    *,
    lines: Iterable[str] | None = None,
) -> Iterator[T]:
    """`parse(line)` of every line that is not blank; `lines` are those left where some were read before.

    A line for which it raises TextError is told by file and line: in `skipped`, or else in the error that ends the
    reading.
    """
    for line in filled_lines(stream) if lines is None else lines:
        try:
            yield parse(line)
        except TextError as error:
            if skipped is None:
                raise TextError(f"{stream.where}: {error}") from error
            skipped.add(f"{stream.where}: {error}")


def json_object(text: str, expected: str) -> dict[str, object]:
    """The JSON object that a text is; raises TextError, which names what was `expected`, for anything else."""
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
        raise TextError(f"not JSON ({error.msg}, {place}); expected {expected}") from error
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond what Python takes
        raise TextError(f"JSON that cannot be read ({error}); expected {expected}") from error
    if not isinstance(value, dict):
        raise TextError(f"{json_kind(value)}, not an object; expected {expected}")
    return value


def check_keys(record: Mapping[str, object], keys: Sequence[str], expected: str) -> None:
    """Raise TextError for a record that lacks one of the keys."""
    if missing := [key for key in keys if key not in record]:
        raise TextError(f"no {' and no '.join(missing)}; expected {expected}")


def filled_string(record: Mapping[str, object], key: str, expected: str = "a string") -> str:
    """The text of a record's key, cleaned; TextError for anything else, and for an empty one."""
    value = record[key]
    if not isinstance(value, str) or not value.strip():
        problem = "empty" if isinstance(value, str) else json_kind(value)
        raise TextError(f"{key} is {problem}; expected {expected}")
    return clean(value)


def is_index(value: object, allowed: range) -> TypeGuard[int]:
    """Whether it is one of these whole numbers. True is an int to Python, but no number of a word."""
    return isinstance(value, int) and not isinstance(value, bool) and value in allowed


def json_kind(value: object) -> str:
    """What JSON calls a value."""
    return _KINDS.get(type(value), "an object")


def brief(value: object) -> str:
    """A value as JSON, for a message: its beginning where it is long."""
    text = json.dumps(value, default=str)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def read_objects(stream: TextStream, first_document: int = 0) -> Iterator[Item]:
    """The items of a file of JSON objects, whose documents are numbered from `first_document` on.

    An object with `text` is one document and gives its sentences; line breaks and blank lines inside it are
    only sentence boundaries. One with `text_a`, and `text_b` or not, gives a TextPair.
    """
    document = first_document
    for content in read_records(stream, _text_or_pair):
        if isinstance(content, TextPair):
            yield content
            continue
        yield from (Sentence(text, document) for text in stream_sentences([content]) if text is not None)
        document += 1


def read_object_pairs(stream: TextStream) -> Iterator[TextPair]:
    """The pairs of a file of JSON objects, which must all be pairs."""
    return read_records(stream, lambda line: _object_pair(json_object(line, _EXPECTED), _EXPECTED_PAIR))


def read_column_pairs(stream: TextStream) -> Iterator[TextPair]:
    """The pairs of a file of two columns; an empty second one means a single text.

    Quotes are literal, as in the GLUE files: a quotation mark is part of the text.
    """
    return read_records(stream, _column_pair)


def _text_or_pair(line: str) -> str | TextPair:
    record = json_object(line, _EXPECTED)
    if "text" not in record:
        return _object_pair(record, _EXPECTED)
    if "text_a" in record or "text_b" in record:
        raise TextError(f"both text and text_a or text_b; keep one form, {_EXPECTED}")
    return _string(record, "text")


def _object_pair(record: dict[str, object], expected: str) -> TextPair:
    if "text_a" not in record:
        keys = ", ".join(map(repr, list(record)[:_KEYS_SHOWN])) or "none"
        more = " ..." if len(record) > _KEYS_SHOWN else ""
        raise TextError(f"no text found (keys: {keys}{more}); expected {expected}")
    first = clean(_string(record, "text_a"))
    if not first.strip():
        raise TextError("text_a is empty; give it a text, or remove the line")
    second = clean(_string(record, "text_b")) if record.get("text_b") is not None else ""
    return TextPair(first, second if second.strip() else None)


def _string(record: dict[str, object], key: str) -> str:
    value = record[key]
    if not isinstance(value, str):
        raise TextError(f"{key} is {json_kind(value)}; expected a string")
    return value


def _column_pair(line: str) -> TextPair:
    columns = line.split("\t")
    if len(columns) != 2:
        advice = "put a tab between the two texts, or after a single one"
        if len(columns) > 2:
            advice = "keep only the two text columns, e.g. with cut -f4,5"
        raise TextError(f"expected 2 columns, found {len(columns)}; {advice}")
    first, second = map(clean, columns)
    if not first.strip():
        raise TextError("the first column is empty; put the text there, a single text goes first")
    return TextPair(first, second if second.strip() else None)
