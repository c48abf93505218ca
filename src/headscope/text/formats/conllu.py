"""CoNLL-U files (universaldependencies.org/format.html): their lines, and the text of their sentences."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headscope.errors import TextError
from headscope.text.files import TextStream, shown
from headscope.text.items import Sentence
from headscope.text.sentences import clean

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
"""The ten columns of a line, in their order."""

MAX_LINES = 10_000
"""Most lines one sentence may have; more mean that the blank lines between sentences are missing."""

_ID = re.compile(r"(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9})|(?P<empty>\.[0-9]{1,9}))?")
_NEW_DOCUMENT = re.compile(r"#\s*newdoc(?:\s|$)")
_TEXT = re.compile(r"#\s*text\s*=(.*)")
_NAME = re.compile(r"#\s*sent_id\s*=(.*)")


@dataclass(frozen=True)
class Row:
    """One line of a sentence: a word (3), a multiword token (3-4) or an empty node (8.1)."""

    first: int
    last: int  # the same as first but for a multiword token
    is_empty: bool  # an empty node: no word of the text
    columns: tuple[str, ...]  # all ten, as they stand in the file
    line: int

    @property
    def is_word(self) -> bool:
        """Whether it is one word of the sentence."""
        return not self.is_empty and self.first == self.last

    @property
    def form(self) -> str:
        """The word as it stands in the text."""
        return self.columns[1]

    @property
    def space_after(self) -> bool:
        """Whether white space follows in the text."""
        return "SpaceAfter=No" not in self.columns[9].split("|")


@dataclass(frozen=True)
class Block:
    """One sentence as the file has it: its comment lines and its rows, and where it begins."""

    line_number: int
    comments: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def starts_document(self) -> bool:
        """Whether a `# newdoc` comment stands before the sentence."""
        return any(_NEW_DOCUMENT.match(comment) for comment in self.comments)

    @property
    def name(self) -> str:
        """The sentence's `# sent_id`, or an empty string."""
        return self.comment(_NAME)

    @property
    def text(self) -> str:
        """The sentence from its `# text =` comment, or put together from its forms."""
        return clean(self.comment(_TEXT) or join_forms(self.rows)).strip()

    def comment(self, form: re.Pattern[str]) -> str:
        """What stands in the group of a form in the first comment where that is not blank, or an empty string."""
        matches = filter(None, map(form.match, self.comments))
        return next(filter(None, ((match[1] or "").strip() for match in matches)), "")


def join_forms(rows: tuple[Row, ...]) -> str:
    """The text that the forms make up: a multiword token stands for its words, empty nodes for nothing."""
    parts: list[str] = []
    covered = 0  # words up to this one are part of a multiword token already written
    for row in rows:
        if row.is_empty or row.last <= covered:
            continue
        covered = row.last
        parts.append(row.form)
        if row.space_after:
            parts.append(" ")
    return "".join(parts)


def read_sentences(stream: TextStream, first_document: int = 0) -> Iterator[Sentence]:
    """The sentences of a treebank; a document begins at `# newdoc`, without any the file is one document."""
    document = first_document
    has_sentences = False  # a newdoc before the first sentence begins the first document
    for block in read_blocks(stream):
        if block.starts_document and has_sentences:
            document += 1
            has_sentences = False
        if text := block.text:
            has_sentences = True
            yield Sentence(text, document)


def line_blocks(stream: TextStream) -> Iterator[list[tuple[int, str]]]:
    """The numbered lines between blank lines: in this format, and in others of columns, a sentence each."""
    block: list[tuple[int, str]] = []
    for line in stream.lines():
        if line.strip():
            if len(block) >= MAX_LINES:
                raise TextError(
                    f"{stream.where}: a sentence of more than {MAX_LINES} lines; put a blank line after each sentence"
                )
            block.append((stream.line_number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def read_blocks(stream: TextStream, *, skip: Callable[[str], None] | None = None) -> Iterator[Block]:
    """The sentences with all their lines; a block may have comments only (the head of a file).

    A sentence with a broken line, or without words, raises TextError; with `skip`, that is called once for the
    sentence, its rows are left out and its comments, which may begin a document, come as a block of their own.
    """
    for lines in line_blocks(stream):
        comments = tuple(line for _, line in lines if line.startswith("#"))
        rows: tuple[Row, ...] = ()
        try:
            rows = tuple(
                _row(f"{shown(stream.path)}:{number}", number, line)
                for number, line in lines
                if not line.startswith("#")
            )
            if not rows and any(map(_TEXT.match, comments)):
                raise TextError(
                    f"{stream.where}: a sentence with # text and no word lines; "
                    "add its words, or read the text from a .txt file"
                )
        except TextError as error:
            if skip is None:
                raise
            skip(str(error))
        yield Block(lines[0][0], comments, rows)


def _row(where: str, number: int, line: str) -> Row:
    columns = tuple(line.split("\t"))
    if len(columns) != len(COLUMNS):
        raise TextError(
            f"{where}: expected {len(COLUMNS)} tab-separated columns, found {len(columns)}; "
            "this is no CoNLL-U line, rename the file if it is plain text (.txt) or pairs (.tsv)"
        )
    parts = _ID.fullmatch(columns[0])
    if parts is None:
        raise TextError(
            f"{where}: ID is {columns[0][:20]!r}; expected a word (3), a range (3-4) or an empty node (8.1)"
        )
    first = int(parts["first"])
    return Row(first, int(parts["last"] or first), parts["empty"] is not None, columns, number)
