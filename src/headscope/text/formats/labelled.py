"""Texts and pairs with a label or a score: tab-separated columns, as GLUE has them, or JSON lines.

A header names the columns; those of GLUE's tasks are known, others beside them are left alone. Without a header
two columns are a text and its label, three a pair and its label, and four CoLA's (source, label, mark, text).
Quotes are literal. JSON lines have `label` (or `score`) and `text`, `text_a` and `text_b`, or GLUE's names.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headscope.errors import TextError
from headscope.text.files import TextStream, check_file, joined_names, open_text, shown
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
_FORMS = {2: (0, None, 1), 3: (0, 1, 2), 4: (3, None, 1)}
"""Columns of the first text, the second text and the label of files without a header, by their number."""


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
    if not paths:
        raise TextError('read_labelled was given no file; name one or more, as in read_labelled("dev.tsv")')
    for path in paths:
        check_file(path)
    skipped = Skipped("texts")
    found: list[LabelledText] = []
    for path in paths:
        with open_text(path) as stream:
            is_json = Path(path).name.lower().removesuffix(".gz").endswith(".jsonl")
            found += _json_lines(stream, skipped) if is_json else _columns(stream, skipped)
    name = joined_names([Path(path).name for path in paths])
    if not found:
        reason = f"; the first is {skipped.places[0]}" if skipped.count else " and is empty"
        raise TextError(f"{name} holds no labelled text that can be used{reason}")
    return LabelledTexts(name, tuple(found), skipped)


def _columns(stream: TextStream, skipped: Skipped) -> Iterator[LabelledText]:
    form: tuple[int, int | None, int] | None = None
    width = 0
    for line in stream.lines():
        if not line.strip():
            continue
        cells = line.split("\t")
        if form is None:
            header = _header([cell.strip().lower() for cell in cells])
            form, width = header or _form(stream, cells), len(cells)
            if header:
                continue
        if len(cells) != width:
            skipped.add(f"{stream.where}: {len(cells)} columns where {width} were expected")
            continue
        first, second, label = form
        try:
            yield _labelled(stream, cells[first], None if second is None else cells[second], cells[label])
        except TextError as error:
            skipped.add(f"{stream.where}: {error}")


def _header(names: list[str]) -> tuple[int, int | None, int] | None:
    """The columns that a first line names; None when it is no header."""
    label = next((name for name in _LABELS if name in names), None)
    texts = _text_names(names)
    if label is None or texts is None:
        return None
    first, second = texts
    return names.index(first), None if second is None else names.index(second), names.index(label)


def _text_names(names: list[str]) -> tuple[str, str | None] | None:
    for first, second in _PAIRS:
        if first in names and second in names:
            return first, second
    single = next((name for name in _SINGLES if name in names), None)
    return None if single is None else (single, None)


def _form(stream: TextStream, cells: list[str]) -> tuple[int, int | None, int]:
    if len(cells) not in _FORMS:
        raise TextError(
            f"{shown(stream.path)}: {len(cells)} columns and no header that names them; expected text, label or "
            "text, text, label, or a header such as sentence1, sentence2, label"
        )
    return _FORMS[len(cells)]


def _json_lines(stream: TextStream, skipped: Skipped) -> Iterator[LabelledText]:
    for line in stream.lines():
        if not line.strip():
            continue
        try:
            yield _from_object(stream, _object(line))
        except TextError as error:
            skipped.add(f"{stream.where}: {error}")


def _object(line: str) -> dict[str, object]:
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TextError(f"not JSON ({error}); expected {_EXPECTED}") from error
    if not isinstance(found, dict):
        raise TextError(f"no object; expected {_EXPECTED}")
    return {str(key).lower(): value for key, value in found.items()}


def _from_object(stream: TextStream, found: Mapping[str, object]) -> LabelledText:
    present = [name for name, value in found.items() if value is not None]
    label = next((name for name in _LABELS if name in present), None)
    texts = _text_names(present)
    if label is None or texts is None:
        raise TextError(f"no {'text' if texts is None else 'label'}; expected {_EXPECTED}")
    value = found[label]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TextError(f"{label} is neither a name nor a number")
    first, second = texts
    return _labelled(stream, found[first], None if second is None else found[second], str(value))


def _labelled(stream: TextStream, first: object, second: object, label: str) -> LabelledText:
    if not isinstance(first, str) or not isinstance(second, str | None):
        raise TextError("a text that is no string")
    if not first.strip() or (second is not None and not second.strip()):
        raise TextError("an empty text")
    if not label.strip():
        raise TextError("no label")
    pair = None if second is None else clean(second).strip()
    return LabelledText(clean(first).strip(), pair, label.strip(), stream.where)
