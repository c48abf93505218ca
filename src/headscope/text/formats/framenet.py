"""FrameNet 1.7, from the user's own copy: frame-evoking words and their frame elements, by character.

Two kinds of files hold annotated sentences: `fulltext/*.xml` (running text) and `lu/*.xml` (examples of one
lexical unit). Which elements are core a lexical unit's file says itself; for running text the `frame/` folder
beside `fulltext/` does. Elements that are not expressed in the sentence (null instantiations) have no words and
are left out, and so are elements of a second rank.

Files are read piece by piece by the standard library's expat parser. A document type is refused, so that no
entity can be declared: neither one that swells nor one that reads other files.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from headscope.errors import TextError
from headscope.text.align import Span
from headscope.text.files import TextStream, open_text, shown

NAMESPACE = "http://framenet.icsi.berkeley.edu"
FULL_TEXT, LEXICAL_UNIT, FRAME = "fullTextAnnotation", "lexUnit", "frame"
CORE = frozenset({"Core", "Core-Unexpressed"})
_SEPARATOR = " "  # cannot stand in a name

Skip = Callable[[str], None]


@dataclass(frozen=True)
class Element:
    """A frame element that is expressed in the sentence."""

    name: str
    span: Span  # of characters
    is_core: bool | None  # None when no file says


@dataclass(frozen=True)
class FrameAnnotation:
    """One frame in one sentence."""

    text: str
    targets: tuple[Span, ...]  # characters of the words that evoke the frame
    elements: tuple[Element, ...]
    frame: str
    sentence: str  # its ID, or ""
    document: str  # its document's ID, or ""
    line: int


class Frames:
    """The frames of a FrameNet copy, each read when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        """`folder` is the one that holds `frame/`; it need not be there."""
        self._folder = folder / "frame"
        self._known: dict[str, dict[str, bool]] = {}

    def is_core(self, frame: str, element: str) -> bool | None:
        """Whether an element is core in its frame; None when that is not known."""
        if frame not in self._known:
            path = self._folder / f"{frame}.xml"
            # The name comes out of a file: it may not lead anywhere else.
            try:
                is_there = Path(frame).name == frame and path.is_file()
                self._known[frame] = _read_frame(path) if is_there else {}
            except OSError:  # a name that no file can have
                self._known[frame] = {}
        return self._known[frame].get(element)


def read_annotations(stream: TextStream, *, frames: Frames, skip: Skip) -> Iterator[FrameAnnotation]:
    """The frames of a file's sentences that have words for a target and for an element.

    What is broken goes to `skip`, as `file:line: reason`, and the rest still counts; XML that is not well formed
    raises TextError.
    """
    reader = _AnnotationReader(shown(stream.path), frames, skip)
    for _ in _feed(stream, reader):
        yield from reader.done
        reader.done.clear()


Attributes = dict[str, str]


class _Reader:
    """What the parser tells of: elements by their path from the root, names without the namespace."""

    roots: tuple[str, ...]

    def __init__(self, path: str) -> None:
        self.path = path
        self.names: list[str] = []
        self.line = 0

    def start(self, name: str, attributes: Attributes) -> None:
        self.names.append(_local(name))
        if len(self.names) == 1 and self.names[0] not in self.roots:
            raise TextError(
                f"{self.path}:{self.line}: the root element is {self.names[0][:40]!r}; expected FrameNet's "
                f"{' or '.join(self.roots)}"
            )
        self.opened(self.names, attributes)

    def end(self, name: str) -> None:
        self.closed(self.names)
        self.names.pop()

    def opened(self, names: list[str], attributes: Attributes) -> None:
        """An element begins."""

    def closed(self, names: list[str]) -> None:
        """An element ends."""

    def text(self, characters: str) -> None:
        """Characters between elements."""


@dataclass
class _Label:
    attributes: Attributes
    line: int


@dataclass
class _Set:
    """An annotation set that is being read."""

    frame: str
    line: int
    layers: dict[str, list[_Label]] = field(default_factory=lambda: {"Target": [], "FE": []})


class _AnnotationReader(_Reader):
    roots = (FULL_TEXT, LEXICAL_UNIT)

    def __init__(self, path: str, frames: Frames, skip: Skip) -> None:
        super().__init__(path)
        self.done: list[FrameAnnotation] = []
        self._frames = frames
        self._skip = skip
        self._unit_frame = ""
        self._core: dict[str, bool] = {}  # of the lexical unit's frame
        self._sentence: Attributes = {}
        self._text: list[str] = []
        self._sets: list[_Set] = []
        self._layer: list[_Label] | None = None

    def opened(self, names: list[str], attributes: Attributes) -> None:
        match names[-1]:
            case "lexUnit":
                self._unit_frame = attributes.get("frame", "")
            case "FE" if names[1:] == ["header", "frame", "FE"]:
                self._core[attributes.get("name", "")] = attributes.get("type") in CORE
            case "sentence":
                self._sentence = attributes
                self._text, self._sets = [], []
            case "annotationSet":
                self._sets.append(_Set(attributes.get("frameName") or self._unit_frame, self.line))
            case "layer" if self._sets and attributes.get("rank", "1") == "1":
                self._layer = self._sets[-1].layers.get(attributes.get("name", ""))
            case "label" if self._layer is not None:
                self._layer.append(_Label(attributes, self.line))

    def closed(self, names: list[str]) -> None:
        match names[-1]:
            case "layer":
                self._layer = None
            case "sentence":
                text = "".join(self._text)
                for one in self._sets:
                    self._finish(one, text)
                self._sets = []

    def text(self, characters: str) -> None:
        if self.names[-1] == "text":
            self._text.append(characters)

    def _finish(self, one: _Set, text: str) -> None:
        targets = [span for _, span in self._spans(one.layers["Target"], text)]
        elements = [
            Element(label.attributes.get("name", ""), span, self._is_core(one.frame, label))
            for label, span in self._spans(one.layers["FE"], text)
        ]
        if targets and elements:
            self.done.append(
                FrameAnnotation(
                    text=text,
                    targets=tuple(targets),
                    elements=tuple(elements),
                    frame=one.frame,
                    sentence=self._sentence.get("ID", ""),
                    document=self._sentence.get("docID", ""),
                    line=one.line,
                )
            )

    def _is_core(self, frame: str, label: _Label) -> bool | None:
        name = label.attributes.get("name", "")
        if frame == self._unit_frame and name in self._core:
            return self._core[name]
        return self._frames.is_core(frame, name)

    def _spans(self, labels: list[_Label], text: str) -> Iterator[tuple[_Label, Span]]:
        """The labels that stand on characters of the sentence."""
        for label in labels:
            start, end = label.attributes.get("start"), label.attributes.get("end")
            if start is None and end is None and label.attributes.get("itype"):
                continue  # not expressed in the sentence
            where = f"{self.path}:{label.line}"
            if not label.attributes.get("name"):
                self._skip(f"{where}: a label without a name")
                continue
            first, last = _number(start), _number(end)
            if first is None or last is None or not first <= last < len(text):
                self._skip(
                    f"{where}: start {_quoted(start)}, end {_quoted(end)}; expected characters of the sentence, "
                    f"0 to {len(text) - 1}, both included"
                )
                continue
            yield label, (first, last + 1)


class _FrameReader(_Reader):
    roots = (FRAME,)

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.core: dict[str, bool] = {}

    def opened(self, names: list[str], attributes: Attributes) -> None:
        if names[1:] == ["FE"]:
            self.core[attributes.get("name", "")] = attributes.get("coreType") in CORE


def _read_frame(path: Path) -> dict[str, bool]:
    """Whether each element of a frame is core."""
    reader = _FrameReader(shown(path))
    with open_text(path) as stream:
        for _ in _feed(stream, reader):
            pass
    return reader.core


def _feed(stream: TextStream, reader: _Reader) -> Iterator[None]:
    """Show the file to the reader, a piece at each step."""
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.buffer_text = True

    def start(name: str, attributes: Attributes) -> None:
        reader.line = parser.CurrentLineNumber
        reader.start(name, attributes)

    def refuse(*_: object) -> None:
        raise TextError(
            f"{reader.path}:{parser.CurrentLineNumber}: a DOCTYPE, which FrameNet's files do not have and which is "
            "not read, for safety; take it out"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = refuse
    try:
        for chunk in stream.chunks():
            parser.Parse(chunk, False)
            yield
        parser.Parse("", True)
        yield
    except expat.ExpatError as error:
        raise TextError(
            f"{reader.path}:{error.lineno}: not well-formed XML ({expat.ErrorString(error.code)}, column "
            f"{error.offset + 1}); take the file from the FrameNet release again"
        ) from error


def _local(name: str) -> str:
    """The name inside FrameNet's namespace or without any; the whole name for another namespace."""
    return name.removeprefix(NAMESPACE + _SEPARATOR)


def _number(text: str | None) -> int | None:
    is_number = text is not None and text.isascii() and text.isdecimal() and len(text) < 10
    return int(text) if is_number and text is not None else None


def _quoted(text: str | None) -> str:
    return "missing" if text is None else repr(text[:20])
