"""Coreference in CoNLL-U: the brackets of `Entity=` in MISC, as CorefUD and GUM write them.

The CorefUD format (ufal.mff.cuni.cz/corefud) writes `(e1-person-1-` where a mention of e1 opens, `e1)` where it
closes and `(e1-person-1-)` for one word, with nothing between those of one word. `# global.Entity` names the fields
that the dashes part; the one called eid or GRP is the entity. `e1[1/2]` is the first of two parts of a discontinuous
mention, whose parts are joined.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from headscope.errors import TextError
from headscope.text.annotated.coreference_document import CoreferenceSentence, Draft
from headscope.text.annotated.treebank import parse
from headscope.text.files import TextStream, shown
from headscope.text.formats.conllu import Block, Row, read_blocks
from headscope.text.formats.coreference_brackets import WHOLE, Brackets

ENTITY = "Entity="

_CHUNK = re.compile(r"\([^()]+\)?|[^()]+\)")
_PART = re.compile(r"(?P<entity>.*)\[(?P<number>[0-9]{1,4})/(?P<total>[0-9]{1,4})\]")
_FIELDS = re.compile(r"#\s*global\.Entity\s*=(.*)")
_DOCUMENT = re.compile(r"#\s*newdoc(?:\s+id\s*=(.*))?")
_IDENTITY_FIELDS = ("eid", "GRP")

Tell = Callable[[str], None]


class _Marks:
    """The `Entity=` brackets of a file."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self.brackets = Brackets(tell)
        self._place = 0  # of the entity among the fields of a bracket

    def begin_document(self) -> None:
        """What is open belongs to the document that ended."""
        self.brackets = Brackets(self.tell)

    def name_fields(self, names: Sequence[str]) -> None:
        """The fields of brackets from here on."""
        self._place = next((names.index(name) for name in _IDENTITY_FIELDS if name in names), 0)

    def read(self, value: str, start: int, end: int, where: str) -> None:
        """The brackets on one row, which holds the words from `start` to before `end`."""
        if rest := _CHUNK.sub("", value):
            self.tell(
                f"{where}: {rest[:20]!r} in {ENTITY} is no bracket; expected (e1-... to open and e1) to close"
            )
        for chunk in _CHUNK.findall(value):
            entity, part = self._entity(chunk.strip("()"))
            if chunk.startswith("("):
                self.brackets.open(entity, start, where, part=part)
            if chunk.endswith(")"):
                self.brackets.close(entity, end, where, part=part)

    def _entity(self, text: str) -> tuple[str, tuple[int, int]]:
        """The entity of a bracket, and which part of a mention it marks."""
        fields = text.split("-")
        # A closing bracket may name the entity alone, also where it is not the first field.
        name = fields[self._place] if self._place < len(fields) else fields[-1]
        if (found := _PART.fullmatch(name)) is None:
            return name, WHOLE
        return found["entity"], (int(found["number"]), int(found["total"]))


def read_entity_documents(stream: TextStream, tell: Tell) -> Iterator[Draft]:
    """The documents of a CoNLL-U file; one begins at `# newdoc`. `tell` gets what is left out."""
    draft = Draft("")
    marks = _Marks(tell)
    path = shown(stream.path)
    for block in read_blocks(stream, skip=lambda error: tell(str(error))):
        if block.starts_document:
            if draft.sentences:
                yield draft
            draft = Draft(_document_name(block))
            marks.begin_document()
        for comment in block.comments:
            if found := _FIELDS.match(comment):
                marks.name_fields(found[1].strip().split("-"))
        if not block.rows:
            continue
        try:
            sentence = _sentence(block, path)
        except TextError as error:
            tell(str(error))
            continue
        _mark(block, path, marks)
        draft.add(sentence, marks.brackets.end_sentence())
    if draft.sentences:
        yield draft


def _document_name(block: Block) -> str:
    found = next(filter(None, map(_DOCUMENT.match, block.comments)), None)
    return (found[1] or "").strip() if found else ""


def _sentence(block: Block, path: str) -> CoreferenceSentence:
    parsed = parse(block, document=0, path=path)
    return CoreferenceSentence(
        content=parsed.content,
        forms=parsed.forms,
        upos=parsed.upos,
        xpos=parsed.xpos,
        features=parsed.features,
        heads=parsed.heads,
        name=parsed.name,
        path=path,
        lines=parsed.lines,
    )


def _mark(block: Block, path: str, marks: _Marks) -> None:
    """Read the brackets of a sentence; those on an empty node stand between the words around it."""
    first_row = block.line_number + len(block.comments)
    words = 0  # so many stand before the row
    for place, row in enumerate(block.rows):
        where = f"{path}:{first_row + place}"
        is_word = not row.is_empty and row.first == row.last
        value = _value(row)
        if value and row.last != row.first:
            marks.tell(f"{where}: {ENTITY} on a multiword token; put it on the words below")
        elif value:
            marks.read(value, words, words + is_word, where)
        words += is_word


def _value(row: Row) -> str:
    found = (part.removeprefix(ENTITY) for part in row.columns[9].split("|") if part.startswith(ENTITY))
    return next(found, "")
