"""Semantic roles: predicates and the words of their arguments, from JSON lines or FrameNet's XML.

JSON lines have one predicate a line, words and arguments counted from 0, `end` excluded:

    {"sent_id": "news-0001", "tokens": ["She", "gave", "him", "a", "book"], "predicate": 1, "roleset": "give.01",
     "arguments": [{"label": "ARG0", "start": 0, "end": 1}, {"label": "ARG2", "start": 2, "end": 3}]}

`sent_id` and `roleset` may be missing. What stands before the last `-` of a `sent_id` is its document.
FrameNet's files are told by their name, `.xml` or `.xml.gz`; the package headscope-papers reads them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from headscope.errors import TextError
from headscope.registry import Registry
from headscope.text.annotated.files import AnnotatedFiles
from headscope.text.files import TextStream, given_files, joined_names, shown
from headscope.text.formats.lines import brief, check_keys, is_index, json_object, read_records
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
        is_empty = True
        reader = _frame_net_reader(self.paths)
        for stream in self._streams():
            if reader is not None and _is_xml(stream.path):
                rows = reader.rows(stream, self.skipped)
            else:
                rows = _json_rows(stream, self.skipped)
            numbers: dict[str, int] = {}  # of this file's documents; one may go on after others
            for document, predicate in self._usable(rows):
                is_empty = False
                yield replace(predicate, document=numbers.setdefault(document, documents + len(numbers)))
            documents += len(numbers)
        if is_empty:
            why = f"holds no predicate with arguments; give JSON lines such as {_EXPECTED}"
            raise self.skipped.nothing_left(self.name, why=why)

    def _usable(self, rows: "Iterator[RoleRow]") -> "Iterator[RoleRow]":
        """The rows of one file; of several files, one that is broken half-way does not spoil the others."""
        try:
            yield from rows
        except TextError as error:
            if len(self.paths) == 1:
                raise
            self.skipped.add(str(error))


def read_roles(*paths: str | Path) -> RoleCorpus:
    """Predicates and arguments from JSON lines, FrameNet files or folders of FrameNet files, in the given order.

    FrameNet's files need the package headscope-papers. Missing files raise TextError right away.
    """
    folders = {Path(path): _files_in(Path(path)) for path in paths if Path(path).is_dir()}
    files = [file for path in map(Path, paths) for file in folders.get(path, [path])]
    given_files("read_roles", "roles.jsonl", files)
    _frame_net_reader(files)
    return RoleCorpus(files, name=joined_names([Path(path).name or str(path) for path in paths]))


def _files_in(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.iterdir() if _is_xml(path))
    inner = [name for name in ("fulltext", "lu") if (folder / name).is_dir()]
    if inner:
        raise TextError(
            f"{shown(folder)} is a whole FrameNet; name the part to read, {shown(folder / inner[0])} for example"
        )
    if not files:
        raise TextError(
            f"{shown(folder)} holds no .xml file; give FrameNet's fulltext or lu folder, or a file"
        )
    return files


def _is_xml(path: Path) -> bool:
    return path.name.lower().endswith(_XML)


RoleRow = tuple[str, Predicate]
"""The name of a document, which has no number yet, and a predicate in it."""

NOT_NUMBERED = -1


class RoleReader(Protocol):
    """Reads predicates from files of another format; the same reader is given all files of a corpus."""

    def rows(self, stream: TextStream, skipped: Skipped) -> Iterator[RoleRow]:
        """The predicates of a file; what cannot be used is told in `skipped`."""


READERS: Registry[type[RoleReader]] = Registry("reader")
"""What reads FrameNet, by the name `framenet`: a class that takes no arguments, of the package headscope-papers."""


def _frame_net_reader(paths: Sequence[Path]) -> RoleReader | None:
    """What reads the XML files among these, if there are any; TextError where headscope-papers is not installed."""
    path = next(filter(_is_xml, paths), None)
    if path is None:
        return None
    reader = READERS.find("framenet")
    if reader is None:
        raise TextError(
            f"{shown(path)} looks like FrameNet's XML, which the package headscope-papers reads; install it with: "
            "pip install headscope-papers"
        )
    return reader()


def _json_rows(stream: TextStream, skipped: Skipped) -> Iterator[RoleRow]:
    content = WordText.of([])
    words: list[str] = []

    def row(line: str) -> RoleRow | None:
        nonlocal words, content
        record = json_object(line, _EXPECTED)
        check_keys(record, ("tokens", "predicate", "arguments"), _EXPECTED)
        tokens = _tokens(record)
        if tokens != words:  # rows of one sentence share its words
            words, content = tokens, WordText.of(tokens)
        predicate = _index(record, "predicate", range(len(words)))
        name, sense, listed = _name(record, "sent_id"), _name(record, "roleset"), record["arguments"]
        if not isinstance(listed, list):
            raise TextError(f"arguments is {brief(listed)}; expected a list")
        arguments = []
        for number, entry in enumerate(listed):
            try:
                arguments.append(_argument(entry, predicate, len(words)))
            except TextError as error:
                skipped.add(f"{stream.where}: argument {number}: {error}")
        if not arguments:
            return None
        roles = ((predicate,), tuple(arguments), sense, name)
        place = (NOT_NUMBERED, shown(stream.path), stream.line_number)
        return name.rpartition("-")[0], Predicate(content, *roles, *place)

    return filter(None, read_records(stream, row, skipped))


def _tokens(record: dict[str, object]) -> list[str]:
    tokens = record["tokens"]
    if not isinstance(tokens, list) or not tokens or not all(isinstance(token, str) for token in tokens):
        raise TextError(f"tokens is {brief(tokens)}; expected a list of one or more strings")
    return tokens


def _index(record: dict[str, object], key: str, allowed: range) -> int:
    value = record.get(key)
    if not is_index(value, allowed):
        raise TextError(
            f"{key} is {brief(value)}; expected a whole number from {allowed.start} to {allowed.stop - 1}"
        )
    return value


def _name(record: dict[str, object], key: str) -> str:
    value = record.get(key)
    if value is None:
        return ""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise TextError(f"{key} is {brief(value)}; expected a string")
    return clean(str(value))


def _argument(entry: object, predicate: int, words: int) -> Argument:
    if not isinstance(entry, dict):
        raise TextError(f'{brief(entry)} is no object; expected {{"label": "ARG0", "start": 0, "end": 1}}')
    label = entry.get("label")
    if not isinstance(label, str) or not label.strip() or label == RESERVED:
        raise TextError(f"label is {brief(label)}; expected the name of a role, other than {RESERVED!r}")
    start = _index(entry, "start", range(words))
    end = _index(entry, "end", range(words + 1))
    if start >= end:
        raise TextError(f"start {start}, end {end}: no words; the end is the first word after the argument")
    if start <= predicate < end:
        raise TextError(f"words {start} to {end - 1} contain the predicate {predicate}")
    return Argument(clean(label), start, end, _MODIFIER.match(label) is None)
