"""Texts and pairs with a label or a score: tab-separated columns, as GLUE has them, or JSON lines.

A header names the columns; those of GLUE's tasks are known, others beside them are left alone. Without a header
two columns are a text and its label, three a pair and its label, and four CoLA's (source, label, mark, text).
Quotes are literal. JSON lines have `label` (or `score`) and `text`, `text_a` and `text_b`, or GLUE's names.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from headscope.errors import TextError
from headscope.text.files import FileReading, TextStream, given_files, joined_names, shown
from headscope.text.formats.lines import filled_lines, json_object, read_records
from headscope.text.sentences import clean
from headscope.text.skipped import Skipped

_PAIRS = (
    ("sentence1", "sentence2"),
    ("#1 string", "#2 string"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("premise", "hypothesis"),
    ("text_a", "text_b"),
    ("text", "text_b"),
    ("text", "text_pair"),
)
_SINGLES = ("sentence", "text", "text_a", "sentence1")
_LABELS = ("gold_label", "label", "quality", "is_duplicate", "score", "similarity")
_EXPECTED = '{"text": "...", "label": "..."} or {"text_a": "...", "text_b": "...", "label": "..."}'
_WITHOUT_HEADER = {2: ("text", "label"), 3: ("text_a", "text_b", "label"), 4: ("", "label", "", "text")}
"""What the columns of files without a header are, by their number."""


@dataclass(frozen=True)
class LabelledText:
    """A text or a pair, with its label as the file writes it."""

    first: str
    second: str | None
    label: str
    where: str  # file:line


@dataclass(frozen=True)
class LabelledTexts:
    """All labelled texts of some files, in their order."""

    name: str
    texts: tuple[LabelledText, ...]
    skipped: Skipped

    def __len__(self) -> int:
        return len(self.texts)


def read_labelled(*paths: str | Path) -> LabelledTexts:
    """Labelled texts from `.jsonl` files and, by any other name, tab-separated ones; plain or gzip.

    What cannot be used is skipped and told in `skipped`; files without any usable text raise TextError.
    """
    skipped = Skipped("texts")
    texts: list[LabelledText] = []
    for stream in FileReading(files := given_files("read_labelled", "dev.tsv", paths)):
        is_json = stream.path.name.lower().removesuffix(".gz").endswith(".jsonl")
        records = read_records(stream, _from_object, skipped) if is_json else _from_columns(stream, skipped)
        texts += (LabelledText(*record, stream.where) for record in records)
    name = joined_names([path.name for path in files])
    if not texts:
        raise skipped.nothing_left(name, why="holds no labelled text and is empty")
    return LabelledTexts(name, tuple(texts), skipped)


Record = tuple[str, str | None, str]
"""A text, the second text if it is a pair, and the label."""


def _from_object(line: str) -> Record:
    return _record({key.lower(): value for key, value in json_object(line, _EXPECTED).items()})


def _from_columns(stream: TextStream, skipped: Skipped) -> Iterator[Record]:
    lines = filled_lines(stream)
    first = next(lines, "")
    names: Sequence[str] = [cell.strip().lower() for cell in first.split("\t")]
    if _label_name(names) is None or _text_names(names) is None:  # no header
        if first and len(names) not in _WITHOUT_HEADER:
            raise TextError(
                f"{shown(stream.path)}: {len(names)} columns and no header that names them; expected text, label or "
                "text, text, label, or a header such as sentence1, sentence2, label"
            )
        names = _WITHOUT_HEADER.get(len(names), ())
        lines = chain([first] if first else [], lines)

    def parse(line: str) -> Record:
        cells = line.split("\t")
        if len(cells) != len(names):
            raise TextError(f"{len(cells)} columns where {len(names)} were expected")
        # Of equal names the first counts.
        return _record(dict(zip(reversed(names), reversed(cells), strict=True)))

    return read_records(stream, parse, skipped, lines=lines)


def _label_name(names: Collection[str]) -> str | None:
    return next((name for name in _LABELS if name in names), None)


def _text_names(names: Collection[str]) -> tuple[str, str | None] | None:
    for first, second in _PAIRS:
        if first in names and second in names:
            return first, second
    single = next((name for name in _SINGLES if name in names), None)
    return None if single is None else (single, None)


def _record(named: Mapping[str, object]) -> Record:
    """The texts and the label among the values of a line, by their names."""
    present = [name for name, value in named.items() if value is not None]
    label, texts = _label_name(present), _text_names(present)
    if label is None or texts is None:
        raise TextError(f"no {'text' if texts is None else 'label'}; expected {_EXPECTED}")
    value = named[label]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TextError(f"{label} is neither a name nor a number")
    first, second = (None if name is None else named[name] for name in texts)
    if not isinstance(first, str) or not isinstance(second, str | None):
        raise TextError("a text that is no string")
    if not first.strip() or (second is not None and not second.strip()):
        raise TextError("an empty text")
    if not str(value).strip():
        raise TextError("no label")
    return clean(first).strip(), None if second is None else clean(second).strip(), str(value).strip()
