"""FrameNet 1.7, from the user's own copy: frame-evoking words and their frame elements, by character.

Two kinds of files hold annotated sentences: `fulltext/*.xml` (running text) and `lu/*.xml` (examples of one
lexical unit). Which elements are core a lexical unit's file says itself; for running text the `frame/` folder
beside `fulltext/` does. Elements that are not expressed in the sentence (null instantiations) have no words and
are left out, and so are elements of a second rank.

Files are read piece by piece by the standard library's expat parser. A document type is refused, so that no
entity can be declared: neither one that swells nor one that reads other files.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from xml.parsers import expat

from headscope.errors import TextError
from headscope.text.annotated.roles import NOT_NUMBERED, Argument, Predicate, RoleRow
from headscope.text.files import TextStream, open_text, shown
from headscope.text.sentences import clean
from headscope.text.skipped import Skipped
from headscope.text.words import Span, WordText, word_spans

NAMESPACE = "http://framenet.icsi.berkeley.edu"
FULL_TEXT, LEXICAL_UNIT, FRAME = "fullTextAnnotation", "lexUnit", "frame"
CORE = frozenset({"Core", "Core-Unexpressed"})
_SEPARATOR = " "  # cannot stand in a name
_IN_TEXT = re.compile("(.*/)?sentence|header/frame/FE")
_IN_FRAME = re.compile("FE")

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
    path = shown(stream.path)
    unit_frame = ""
    core: dict[str, bool] = {}  # of the lexical unit's frame

    def element(frame: str, label: _Node, span: Span) -> Element:
        name = label.attributes["name"]
        known = frame == unit_frame and name in core
        return Element(name, span, core[name] if known else frames.is_core(frame, name))

    for node in _Nodes(stream, (FULL_TEXT, LEXICAL_UNIT), _IN_TEXT):
        if node.name in (FULL_TEXT, LEXICAL_UNIT):
            unit_frame = node.attributes.get("frame", "")
        elif node.name == "FE":
            core[node.attributes.get("name", "")] = node.attributes.get("type") in CORE
        else:
            text = "".join(part.text for part in node.parts if part.name == "text")
            for annotated in (part for part in node.parts if part.name == "annotationSet"):
                frame = annotated.attributes.get("frameName") or unit_frame
                targets = [span for _, span in _spans(annotated, "Target", text, path, skip)]
                labels = list(_spans(annotated, "FE", text, path, skip))
                if targets and labels:
                    yield FrameAnnotation(
                        text=text,
                        targets=tuple(targets),
                        elements=tuple(element(frame, label, span) for label, span in labels),
                        frame=frame,
                        sentence=node.attributes.get("ID", ""),
                        document=node.attributes.get("docID", ""),
                        line=annotated.line,
                    )


class FrameNetReader:
    """FrameNet's files for `hs.read_roles`, which finds this class by the entry point `framenet`."""

    def __init__(self) -> None:
        self._frames: dict[Path, Frames] = {}  # by the folder of the release: each is read once

    def rows(self, stream: TextStream, skipped: Skipped) -> Iterator[RoleRow]:
        """The frames of a file as predicates with their arguments."""
        release = stream.path.parent.parent
        return _frame_rows(stream, self._frames.setdefault(release, Frames(release)), skipped)


def _frame_rows(stream: TextStream, frames: Frames, skipped: Skipped) -> Iterator[RoleRow]:
    """The frames by words; one of which no element is left beside the target is left out.

    A word belongs to all whose characters it shares. Elements that contain the target (the *seller* is the Seller)
    are no pair of words and are left out.
    """
    text: str | None = None
    content = WordText.of([])
    for frame in read_annotations(stream, frames=frames, skip=skipped.add):
        if frame.text != text:  # the frames of one sentence share its words
            text, content = frame.text, WordText(clean(frame.text), tuple(word_spans(clean(frame.text))))
        predicate = tuple(dict.fromkeys(word for span in frame.targets for word in _words_in(content, span)))
        arguments = []
        for element in frame.elements:
            words = _words_in(content, element.span)
            if words and predicate and not set(predicate) & set(words):
                arguments.append(Argument(clean(element.name), words[0], words[-1] + 1, element.is_core))
        if arguments:
            roles = (predicate, tuple(arguments), frame.frame, frame.sentence)
            place = (NOT_NUMBERED, shown(stream.path), frame.line)
            yield frame.document, Predicate(content, *roles, *place)


def _words_in(content: WordText, span: Span) -> list[int]:
    start, end = span
    return [word for word, (first, last) in enumerate(content.spans) if first < end and last > start]


def _spans(
    annotated: "_Node", layer: str, text: str, path: str, skip: Skip
) -> Iterator[tuple["_Node", Span]]:
    """The labels of an annotation set's layer of the first rank that stand on characters of the sentence."""
    labels = [
        label
        for part in annotated.parts
        if part.name == "layer" and part.attributes.get("name") == layer
        if part.attributes.get("rank", "1") == "1"
        for label in part.parts
    ]
    for label in labels:
        start, end = label.attributes.get("start"), label.attributes.get("end")
        if start is None and end is None and label.attributes.get("itype"):
            continue  # not expressed in the sentence
        where = f"{path}:{label.line}"
        if not label.attributes.get("name"):
            skip(f"{where}: a label without a name")
            continue
        first, last = _number(start), _number(end)
        if first is None or last is None or not first <= last < len(text):
            skip(
                f"{where}: start {_quoted(start)}, end {_quoted(end)}; expected characters of the sentence, "
                f"0 to {len(text) - 1}, both included"
            )
            continue
        yield label, (first, last + 1)


def _read_frame(path: Path) -> dict[str, bool]:
    """Whether each element of a frame is core."""
    with open_text(path) as stream:
        elements = [node.attributes for node in _Nodes(stream, (FRAME,), _IN_FRAME) if node.name == "FE"]
    return {attributes.get("name", ""): attributes.get("coreType") in CORE for attributes in elements}


@dataclass
class _Node:
    """An element of the file, its name without the namespace."""

    name: str
    attributes: dict[str, str]
    line: int
    parts: list["_Node"] = field(default_factory=list)
    text: str = ""


class _Nodes:
    """The root of a file as soon as it begins, then each `wanted` element with all in it as soon as it ends.

    `wanted` are those whose path below the root, as in header/frame/FE, matches as a whole.
    """

    def __init__(self, stream: TextStream, roots: tuple[str, ...], wanted: re.Pattern[str]) -> None:
        self.stream, self.roots, self.wanted = stream, roots, wanted
        self.path = shown(stream.path)
        self.names: list[str] = []  # from the root to where the parser is
        self.opened: list[_Node] = []  # a wanted element, and those inside of it down to where the parser is
        self.done: list[_Node] = []
        self.parser = parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = self._characters, self._refuse

    def __iter__(self) -> Iterator[_Node]:
        try:
            for chunk in chain(self.stream.chunks(), [None]):
                self.parser.Parse(chunk or "", chunk is None)
                yield from self.done
                self.done.clear()
        except expat.ExpatError as error:
            raise TextError(
                f"{self.path}:{error.lineno}: not well-formed XML ({expat.ErrorString(error.code)}, column "
                f"{error.offset + 1}); take the file from the FrameNet release again"
            ) from error

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        # The name inside FrameNet's namespace or without any; the whole name for another namespace.
        self.names.append(name.removeprefix(NAMESPACE + _SEPARATOR))
        node = _Node(self.names[-1], attributes, self.parser.CurrentLineNumber)
        if len(self.names) == 1:
            if node.name not in self.roots:
                raise TextError(
                    f"{self.path}:{node.line}: the root element is {node.name[:40]!r}; expected FrameNet's "
                    f"{' or '.join(self.roots)}"
                )
            self.done.append(node)
        elif self.opened:
            self.opened[-1].parts.append(node)
        if self.opened or self.wanted.fullmatch("/".join(self.names[1:])):
            self.opened.append(node)

    def _end(self, _: str) -> None:
        self.names.pop()
        if self.opened:
            node = self.opened.pop()
            if not self.opened:
                self.done.append(node)

    def _characters(self, text: str) -> None:
        if self.opened:
            self.opened[-1].text += text

    def _refuse(self, *_: object) -> None:
        raise TextError(
            f"{self.path}:{self.parser.CurrentLineNumber}: a DOCTYPE, which FrameNet's files do not have and which is "
            "not read, for safety; take it out"
        )


def _number(text: str | None) -> int | None:
    is_number = text is not None and text.isascii() and text.isdecimal() and len(text) < 10
    return int(text) if is_number and text is not None else None


def _quoted(text: str | None) -> str:
    return "missing" if text is None else repr(text[:20])
