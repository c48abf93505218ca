"""Coreference marked by brackets: in the columns of CoNLL-2012 and LitBank, and in CoNLL-U's `Entity=`.

**Columns.** `#begin document (name); part 000` and `#end document` stand around a document, a blank line ends a
sentence. Columns are parted by white space (or by tabs, as in LitBank, where unknown values are `_` and a word without
coreference ends in an empty column): document, part, number of the word, word, part of speech, parse bit, lemma,
frameset, sense, speaker, named entity, the arguments of each predicate, coreference. `(7` opens a mention of entity 7,
`7)` closes it, `(7)` is one word, `|` stands between several.

**CoNLL-U.** The CorefUD format (ufal.mff.cuni.cz/corefud), which GUM has too, writes `(e1-person-1-` in MISC where a
mention of e1 opens, `e1)` where it closes and `(e1-person-1-)` for one word, with nothing between those of one word.
`# global.Entity` names the fields that the dashes part; the one called eid or GRP is the entity. `e1[1/2]` is the
first of two parts of a discontinuous mention, whose parts are joined.
"""

import re
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from headscope.data import english
from headscope.errors import TextError
from headscope.text.annotated.treebank import UNKNOWN, TaggedSentence, parse
from headscope.text.files import TextStream, shown
from headscope.text.formats.conllu import Block, line_blocks, read_blocks
from headscope.text.words import WordText

FEWEST = 12
"""Columns of a sentence without predicates."""

BEGIN = re.compile(r"#\s*begin\s+document\b\s*(?:\((?P<name>.*?)\))?")
_END = re.compile(r"#\s*end\s+document\b")
_BRACKET = re.compile(r"(?P<open>\(?)(?P<entity>[^()|]+)(?P<close>\)?)")
_NOTHING = ("", "-", "_")

_WRITTEN = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
    "``": '"', "''": '"', "/.": ".", "/?": "?", "/-": "-",
}  # fmt: skip
"""How the treebanks behind the format write signs, and how texts do."""

_SPACES = english("spaces")

_ENTITY = "Entity="
_TOKEN = re.compile(r"[()]|[^()]+")
_PART = re.compile(r"(?P<entity>.*)\[(?P<number>[0-9]{1,4})/(?P<total>[0-9]{1,4})\]")
_FIELDS = re.compile(r"#\s*global\.Entity\s*=(.*)")
_DOCUMENT = re.compile(r"#\s*newdoc(?:\s+id\s*=(.*))?")
_IDENTITY_FIELDS = ("eid", "GRP")

MAX_MENTIONED = 1_000_000
"""Words that the mentions of one sentence may have together: a book's worth, each counted in every mention."""

WHOLE = (1, 1)
"""The part of a mention that is in one piece: the first of one."""


@dataclass(frozen=True)
class MentionSpan:
    """The words of a sentence that stand for an entity."""

    entity: str
    words: tuple[int, ...]


@dataclass
class MarkedDocument:
    """A document of a file: its sentences, and what is marked in them."""

    name: str
    sentences: list[TaggedSentence] = field(default_factory=list)
    spans: list[tuple[int, MentionSpan]] = field(default_factory=list)
    """The number of the sentence, and a mention in it."""

    def add(self, sentence: TaggedSentence, spans: Sequence[MentionSpan]) -> None:
        """Append a sentence with its mentions."""
        self.spans += [(len(self.sentences), span) for span in spans]
        self.sentences.append(sentence)


Tell = Callable[[str], None]
"""Is called with `file:line: reason` for whatever is left out."""


@dataclass(frozen=True)
class _Piece:
    entity: str
    part: tuple[int, int]  # number from 1, and how many there are
    start: int
    end: int
    where: str
    number: int  # in the order in which they were opened


class Brackets:
    """The brackets of one document, sentence by sentence.

    A closing bracket belongs to the latest open one of its entity. A mention must open and close in one sentence;
    one that does not is told and dropped, and the others stay.
    """

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        # By entity and part, the latest last.
        self._open: dict[tuple[str, tuple[int, int]], list[_Piece]] = {}
        self._opened = 0
        self._pieces: list[_Piece] = []
        # Told when their sentence ended: a later closing bracket of theirs is not told a second time.
        self._never_closed: Counter[str] = Counter()

    def open(self, entity: str, start: int, where: str, *, part: tuple[int, int] = WHOLE) -> None:
        """A mention begins at word `start`."""
        self._opened += 1
        piece = _Piece(entity, part, start, start, where, self._opened)
        self._open.setdefault((entity, part), []).append(piece)

    def close(self, entity: str, end: int, where: str, *, part: tuple[int, int] = WHOLE) -> None:
        """A mention ends before word `end`."""
        if waiting := self._open.get((entity, part)):
            self._pieces.append(replace(waiting.pop(), end=end))
        elif self._never_closed[entity]:
            self._never_closed[entity] -= 1
        else:
            self.tell(
                f"{where}: closes a mention of entity {entity[:20]!r} that was not opened in this sentence; "
                "add its opening bracket"
            )

    def end_sentence(self) -> list[MentionSpan]:
        """The mentions of the sentence that ends here."""
        left = [piece for pieces in self._open.values() for piece in pieces]
        for piece in sorted(left, key=lambda piece: piece.number):
            self.tell(
                f"{piece.where}: opens a mention of entity {piece.entity[:20]!r} that is not closed in this "
                "sentence; add its closing bracket"
            )
            self._never_closed[piece.entity] += 1
        pieces = sorted(self._pieces, key=lambda piece: (piece.start, -piece.end))
        self._open, self._pieces = {}, []
        self._room = MAX_MENTIONED
        return [span for parts in self._joined(pieces) if (span := self._span(parts)) is not None]

    def _joined(self, pieces: list[_Piece]) -> list[list[_Piece]]:
        """Pieces by mention: a further part belongs to the latest mention that waits for it."""
        mentions: list[list[_Piece]] = []
        waiting: dict[tuple[str, int, int], list[int]] = {}  # places of mentions by the part they wait for
        for piece in pieces:
            number, total = piece.part
            if places := waiting.get((piece.entity, number, total)):
                place = places.pop()
                mentions[place].append(piece)
            else:
                place = len(mentions)
                mentions.append([piece])
            if number < total:
                insort(waiting.setdefault((piece.entity, number + 1, total), []), place)
        return mentions

    def _span(self, parts: list[_Piece]) -> MentionSpan | None:
        first, last = parts[0], parts[-1]
        if first.part[0] != 1 or last.part[0] != last.part[1]:
            self.tell(
                f"{first.where}: part {first.part[0]} of {first.part[1]} of a mention of entity "
                f"{first.entity[:20]!r} without the other parts in this sentence; add them"
            )
            return None
        self._room -= sum(part.end - part.start for part in parts)
        if self._room < 0:
            self.tell(
                f"{first.where}: mentions of more than {MAX_MENTIONED:,} words in one sentence; split it"
            )
            return None
        words = sorted({word for part in parts for word in range(part.start, part.end)})
        if not words:
            self.tell(f"{first.where}: a mention of entity {first.entity[:20]!r} that holds no word")
            return None
        return MentionSpan(first.entity, tuple(words))


def read_column_documents(stream: TextStream, tell: Tell) -> Iterator[MarkedDocument]:
    """The documents of a file of columns; each part of a CoNLL-2012 document is one."""
    path = shown(stream.path)
    document, brackets = MarkedDocument(""), Brackets(tell)
    for lines in line_blocks(stream):
        rows: list[tuple[int, list[str]]] = []
        for number, line in lines:
            begins = BEGIN.match(line)
            if begins or _END.match(line):
                _add_columns(document, rows, path, brackets)
                if document.sentences:
                    yield document
                document = MarkedDocument((begins["name"] or "") if begins else "")
                rows, brackets = [], Brackets(tell)
            # A document's name may begin with #.
            elif not line.startswith("#") or len(_columns(line)) >= FEWEST:
                rows.append((number, _columns(line)))
        _add_columns(document, rows, path, brackets)
    if document.sentences:
        yield document


def _add_columns(
    document: MarkedDocument, rows: Sequence[tuple[int, list[str]]], path: str, brackets: Brackets
) -> None:
    """Add the sentence that these rows are, unless they do not fit together."""
    if not rows:
        return
    try:
        sentence = _sentence(rows, path)
    except TextError as error:
        brackets.tell(str(error))
        return
    for word, (_, columns) in enumerate(rows):
        _read_column(columns[-1], word, sentence.where(word), brackets)
    document.add(sentence, brackets.end_sentence())


def _columns(line: str) -> list[str]:
    # Only tabs can part an empty last column from the one before.
    return [column.strip() for column in line.split("\t")] if "\t" in line else line.split()


def _sentence(rows: Sequence[tuple[int, list[str]]], path: str) -> TaggedSentence:
    """A sentence from its rows; raises TextError, with file and line, where they do not fit together."""
    expected = len(rows[0][1])
    for line, columns in rows:
        if len(columns) < FEWEST or len(columns) != expected:
            raise TextError(
                f"{path}:{line}: expected {max(FEWEST, expected)} columns, found {len(columns)}; every line of a "
                f"sentence has the same number of them, {FEWEST} or more"
            )
        if not columns[3]:
            raise TextError(f"{path}:{line}: column 4, the word, is empty")
    forms = tuple(_WRITTEN.get(columns[3], columns[3]) for _, columns in rows)
    unknown = (UNKNOWN,) * len(rows)
    return TaggedSentence(
        content=WordText.of(forms, space_after=space_after(forms)),
        forms=forms,
        upos=unknown,
        xpos=tuple(UNKNOWN if columns[4] in _NOTHING else columns[4] for _, columns in rows),
        features=unknown,
        heads=None,
        name="",
        path=path,
        lines=tuple(line for line, _ in rows),
    )


def space_after(words: Sequence[str]) -> list[bool]:
    """Where a text of these words has spaces, which the format does not tell: the habits of English."""
    spaces = []
    quoted = False
    for number, word in enumerate(words):
        following = words[number + 1] if number + 1 < len(words) else ""
        opens = word == '"' and not quoted
        if word == '"':
            quoted = not quoted
        closes_next = following == '"' and quoted
        glued = (
            opens
            or closes_next
            or word in _SPACES["none_after"]
            or following.lower() in _SPACES["none_before"]
        )
        spaces.append(not glued)
    return spaces


def _read_column(value: str, word: int, where: str, brackets: Brackets) -> None:
    """The brackets of one word."""
    if value in _NOTHING:
        return
    for chunk in value.split("|"):
        bracket = _BRACKET.fullmatch(chunk)
        if bracket is None or not (bracket["open"] or bracket["close"]):
            brackets.tell(
                f"{where}: {chunk[:20]!r} in the last column is no bracket; expected (7 to open, 7) to close or -"
            )
            continue
        if bracket["open"]:
            brackets.open(bracket["entity"], word, where)
        if bracket["close"]:
            brackets.close(bracket["entity"], word + 1, where)


def read_entity_documents(stream: TextStream, tell: Tell) -> Iterator[MarkedDocument]:
    """The documents of a CoNLL-U file; one begins at `# newdoc`."""
    path = shown(stream.path)
    document, brackets = MarkedDocument(""), Brackets(tell)
    place = 0  # of the entity among the fields of a bracket
    for block in read_blocks(stream, skip=tell):
        if block.starts_document:
            if document.sentences:
                yield document
            # What is open belongs to the document that ended.
            document, brackets = MarkedDocument(block.comment(_DOCUMENT)), Brackets(tell)
        if declared := block.comment(_FIELDS):
            names = declared.split("-")
            place = next((names.index(name) for name in _IDENTITY_FIELDS if name in names), 0)
        if not block.rows:
            continue
        try:
            sentence = parse(block, document=0, path=path)
        except TextError as error:
            tell(str(error))
            continue
        _read_entities(block, path, brackets, place)
        document.add(sentence, brackets.end_sentence())
    if document.sentences:
        yield document


def _read_entities(block: Block, path: str, brackets: Brackets, place: int) -> None:
    """The brackets of a sentence; those on an empty node stand between the words around it."""
    words = 0  # so many stand before the row
    for row in block.rows:
        where = f"{path}:{row.line}"
        misc = row.columns[9].split("|")
        value = next((part.removeprefix(_ENTITY) for part in misc if part.startswith(_ENTITY)), "")
        if value and row.last != row.first:
            brackets.tell(f"{where}: {_ENTITY} on a multiword token; put it on the words below")
            continue
        chunks, rest = _chunks(value)
        if rest:
            brackets.tell(
                f"{where}: {rest[:20]!r} in {_ENTITY} is no bracket; expected (e1-... to open and e1) to close"
            )
        for chunk in chunks:
            entity, part = _entity(chunk.strip("()"), place)
            if chunk.startswith("("):
                brackets.open(entity, words, where, part=part)
            if chunk.endswith(")"):
                brackets.close(entity, words + row.is_word, where, part=part)
        words += row.is_word


def _chunks(value: str) -> tuple[list[str], str]:
    """The brackets of a value, `(e1-person`, `e1)` or `(e1-person)`, and what is none; in one pass, however long."""
    tokens = [*_TOKEN.findall(value), "", ""]
    chunks, rest, place = [], [], 0
    while place < len(tokens) - 2:
        first, second, third = tokens[place : place + 3]
        if first == "(" and second not in ("(", ")", ""):
            taken = 3 if third == ")" else 2
        else:
            taken = 2 if first not in ("(", ")") and second == ")" else 0
        if taken:
            chunks.append("".join(tokens[place : place + taken]))
        else:
            rest.append(first)
        place += taken or 1
    return chunks, "".join(rest)


def _entity(bracket: str, place: int) -> tuple[str, tuple[int, int]]:
    """The entity of a bracket, and which part of a mention it marks."""
    fields = bracket.split("-")
    # A closing bracket may name the entity alone, also where it is not the first field.
    name = fields[place] if place < len(fields) else fields[-1]
    if (part := _PART.fullmatch(name)) is None:
        return name, WHOLE
    return part["entity"], (int(part["number"]), int(part["total"]))
