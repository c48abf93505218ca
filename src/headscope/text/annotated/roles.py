"""Semantic roles: predicates and the words of their arguments, from JSON lines or FrameNet's XML.

JSON lines have one predicate a line, words and arguments counted from 0, `end` excluded:

    {"sent_id": "news-0001", "tokens": ["She", "gave", "him", "a", "book"], "predicate": 1, "roleset": "give.01",
     "arguments": [{"label": "ARG0", "start": 0, "end": 1}, {"label": "ARG2", "start": 2, "end": 3}]}

`sent_id` and `roleset` may be missing. What stands before the last `-` of a `sent_id` is its document.
FrameNet's files are told by their name, `.xml` or `.xml.gz`; see `headscope.text.formats.framenet`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from headscope.errors import TextError
from headscope.text.align import Span, word_spans
from headscope.text.annotated.files import AnnotatedFiles
from headscope.text.files import TextStream, check_file, joined_names, shown
from headscope.text.formats.framenet import FrameAnnotation, Frames, read_annotations
from headscope.text.sentences import clean
from headscope.text.skipped import Skipped
from headscope.text.words import WordText

RESERVED = "all"
"""No role may be called that: it stands for all roles together."""

_EXPECTED = '{"tokens": [...], "predicate": 1, "arguments": [{"label": "ARG0", "start": 0, "end": 1}]}'
_MODIFIER = re.compile(r"(?:[CR]-)*(?:ARGM|AM)(?:-|$)")
_XML = (".xml", ".xml.gz")


class Argument(NamedTuple):
    """The words of one argument of a predicate."""

    label: str
    start: int
    end: int  # excluded
    is_core: bool | None = None  # None when the data do not say

    @property
    def words(self) -> range:
        """The words it consists of."""
        return range(self.start, self.end)


@dataclass(frozen=True)
class Predicate:
    """A predicate in its sentence, with its arguments; none of them contains a word of the predicate."""

    content: WordText
    predicate: tuple[int, ...]  # its words, one or more
    arguments: tuple[Argument, ...]  # one or more
    sense: str  # the roleset or frame, or ""
    name: str  # the sentence's id, or ""
    document: int  # numbered from 0 through all files
    path: str
    line: int

    def where(self, word: int | None = None) -> str:
        """`file:line` of the predicate, to begin a message with."""
        return f"{self.path}:{self.line}"


class RoleCorpus(AnnotatedFiles):
    """Predicates that can be iterated over, lazily and as often as wanted; made by `read_roles`.

    The predicates of a sentence come one after the other. A row or an argument that cannot be used is skipped
    and told in `skipped`, and the others still count.
    """

    kind = "annotations"

    def __iter__(self) -> Iterator[Predicate]:
        """The predicates from the beginning; raises TextError when none of them can be used."""
        documents = 0
        found = False
        frames: dict[Path, Frames] = {}
        for stream in self._streams():
            if _is_xml(stream.path):
                release = stream.path.parent.parent
                known = frames.setdefault(release, Frames(release))
                rows = _frame_rows(stream, known, self.skipped)
            else:
                rows = _json_rows(stream, self.skipped)
            numbers: dict[str, int] = {}  # of this file's documents; one may go on after others
            for row in self._usable(rows):
                found = True
                number = numbers.setdefault(row.document, documents + len(numbers))
                yield row.placed(number, shown(stream.path))
            documents += len(numbers)
        if not found:
            raise self._nothing()

    def _usable(self, rows: "Iterator[_Row]") -> "Iterator[_Row]":
        """The rows of one file; of several files, one that is broken half-way does not spoil the others."""
        try:
            yield from rows
        except TextError as error:
            if len(self.paths) == 1:
                raise
            self.skipped.add(str(error))

    def _nothing(self) -> TextError:
        if not self.skipped.count:
            return TextError(
                f"{self.name} holds no predicate with arguments; give JSON lines such as {_EXPECTED}"
            )
        return TextError(
            f"{self.name}: none of its predicates can be used, {self.skipped.count} annotations were skipped, the "
            f"first is {self.skipped.places[0]}"
        )


def read_roles(*paths: str | Path) -> RoleCorpus:
    """Predicates and arguments from JSON lines, FrameNet files or folders of FrameNet files, in the given order.

    Missing files raise TextError right away.
    """
    if not paths:
        raise TextError('read_roles was given no file; name one or more, as in read_roles("roles.jsonl")')
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            files += _files_in(path)
        else:
            check_file(path)
            files.append(path)
    return RoleCorpus(files, name=joined_names([Path(path).name or str(path) for path in paths]))


def _files_in(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.iterdir() if _is_xml(path))
    inner = [name for name in ("fulltext", "lu") if (folder / name).is_dir()]
    if inner:
        raise TextError(
            f"{shown(folder)} is a whole FrameNet; name the part to read, {shown(folder / inner[0])} for example"
        )
    if not found:
        raise TextError(
            f"{shown(folder)} holds no .xml file; give FrameNet's fulltext or lu folder, or a file"
        )
    return found


def _is_xml(path: Path) -> bool:
    return path.name.lower().endswith(_XML)


@dataclass(frozen=True)
class _Row:
    """A predicate whose document has no number yet."""

    content: WordText
    predicate: tuple[int, ...]
    arguments: tuple[Argument, ...]
    sense: str
    name: str
    document: str
    line: int

    def placed(self, document: int, path: str) -> Predicate:
        return Predicate(
            self.content, self.predicate, self.arguments, self.sense, self.name, document, path, self.line
        )


def _json_rows(stream: TextStream, skipped: Skipped) -> Iterator[_Row]:
    words: list[str] = []
    content = WordText.of(words)
    for line in stream.lines():
        if not line.strip():
            continue
        try:
            found = _object(line)
            tokens = _tokens(found)
            if tokens != words:  # rows of one sentence share its words
                words, content = tokens, WordText.of(tokens)
            predicate = _index(found, "predicate", range(len(words)))
            name = _name(found, "sent_id")
            sense = _name(found, "roleset")
            listed = found["arguments"]
            if not isinstance(listed, list):
                raise TextError(f"arguments is {_brief(listed)}; expected a list")
        except TextError as error:
            skipped.add(f"{stream.where}: {error}")
            continue
        arguments = []
        for number, one in enumerate(listed):
            try:
                arguments.append(_argument(one, predicate, len(words)))
            except TextError as error:
                skipped.add(f"{stream.where}: argument {number}: {error}")
        if arguments:
            document = name.rpartition("-")[0]
            yield _Row(content, (predicate,), tuple(arguments), sense, name, document, stream.line_number)


def _object(line: str) -> dict[str, object]:
    try:
        found: object = json.loads(line)
    except json.JSONDecodeError as error:
        raise TextError(f"not JSON ({error.msg}, column {error.colno}); expected {_EXPECTED}") from error
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond what Python takes
        raise TextError(f"JSON that cannot be read ({error}); expected {_EXPECTED}") from error
    if not isinstance(found, dict):
        raise TextError(f"{_brief(found)} is no object; expected {_EXPECTED}")
    missing = [key for key in ("tokens", "predicate", "arguments") if key not in found]
    if missing:
        raise TextError(f"no {' and no '.join(missing)}; expected {_EXPECTED}")
    return found


def _tokens(found: dict[str, object]) -> list[str]:
    tokens = found["tokens"]
    if not isinstance(tokens, list) or not tokens or not all(isinstance(token, str) for token in tokens):
        raise TextError(f"tokens is {_brief(tokens)}; expected a list of one or more strings")
    return tokens


def _index(found: dict[str, object], key: str, allowed: range) -> int:
    value = found.get(key)
    # True is an int to Python, but no number of a word.
    if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
        raise TextError(
            f"{key} is {_brief(value)}; expected a whole number from {allowed.start} to {allowed.stop - 1}"
        )
    return value


def _name(found: dict[str, object], key: str) -> str:
    value = found.get(key)
    if value is None:
        return ""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise TextError(f"{key} is {_brief(value)}; expected a string")
    return clean(str(value))


def _argument(one: object, predicate: int, words: int) -> Argument:
    if not isinstance(one, dict):
        raise TextError(f'{_brief(one)} is no object; expected {{"label": "ARG0", "start": 0, "end": 1}}')
    label = one.get("label")
    if not isinstance(label, str) or not label.strip() or label == RESERVED:
        raise TextError(f"label is {_brief(label)}; expected the name of a role, other than {RESERVED!r}")
    start = _index(one, "start", range(words))
    end = _index(one, "end", range(words + 1))
    if start >= end:
        raise TextError(f"start {start}, end {end}: no words; the end is the first word after the argument")
    if start <= predicate < end:
        raise TextError(f"words {start} to {end - 1} contain the predicate {predicate}")
    return Argument(clean(label), start, end, _MODIFIER.match(label) is None)


def _brief(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _frame_rows(stream: TextStream, frames: Frames, skipped: Skipped) -> Iterator[_Row]:
    text: str | None = None
    content = WordText.of([])
    for one in read_annotations(stream, frames=frames, skip=skipped.add):
        if one.text != text:  # the frames of one sentence share its words
            text, content = one.text, WordText(clean(one.text), tuple(word_spans(clean(one.text))))
        row = _frame_row(one, content)
        if row is not None:
            yield row


def _frame_row(one: FrameAnnotation, content: WordText) -> _Row | None:
    """A frame by words; None when no element is left beside the target.

    A word belongs to all whose characters it shares. Elements that contain the target (the *seller* is the Seller)
    are no pair of words and are left out.
    """
    predicate = tuple(dict.fromkeys(word for span in one.targets for word in _words_in(content, span)))
    arguments = []
    for element in one.elements:
        words = _words_in(content, element.span)
        if words and predicate and not set(predicate) & set(words):
            arguments.append(Argument(clean(element.name), words[0], words[-1] + 1, element.is_core))
    if not arguments:
        return None
    return _Row(content, predicate, tuple(arguments), one.frame, one.sentence, one.document, one.line)


def _words_in(content: WordText, span: Span) -> list[int]:
    start, end = span
    return [word for word, (first, last) in enumerate(content.spans) if first < end and last > start]
