"""CoNLL-U files (universaldependencies.org/format.html): their lines, and the text of their sentences."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headscope.errors import TextError
from headscope.text.files import TextStream
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
        found = next(filter(None, map(_NAME.match, self.comments)), None)
        return found[1].strip() if found else ""

    @property
    def text(self) -> str:
        """The sentence from its `# text =` comment, or put together from its forms."""
        for comment in self.comments:
            found = _TEXT.match(comment)
            if found and found[1].strip():
                return clean(found[1]).strip()
        return clean(join_forms(self.rows)).strip()


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


def read_sentences(stream: TextStream, *, first_document: int = 0) -> Iterator[Sentence]:
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


def read_blocks(stream: TextStream, *, skip: Callable[[TextError], None] | None = None) -> Iterator[Block]:
    """The sentences with all their lines; a block may have comments only (the head of a file).

    A sentence with a broken line, or without words, raises TextError; with `skip`, that is called once for the
    sentence, its rows are left out and its comments, which may begin a document, come as a block of their own.
    """
    comments: list[str] = []
    rows: list[Row] = []
    is_broken = False
    for line in stream.lines():
        if not line.strip():
            if comments or rows:
                yield _block(stream, stream.line_number - 1, comments, rows, is_broken=is_broken, skip=skip)
            comments, rows, is_broken = [], [], False
            continue
        if len(comments) + len(rows) >= MAX_LINES:
            raise TextError(
                f"{stream.where}: a sentence of more than {MAX_LINES} lines; "
                "put a blank line after each sentence"
            )
        if line.startswith("#"):
            comments.append(line)
        elif not is_broken:
            try:
                rows.append(_row(stream, line))
            except TextError as error:
                if skip is None:
                    raise
                skip(error)
                rows, is_broken = [], True
    if comments or rows:
        yield _block(stream, stream.line_number, comments, rows, is_broken=is_broken, skip=skip)


def _block(
    stream: TextStream,
    last_line: int,
    comments: list[str],
    rows: list[Row],
    *,
    is_broken: bool,
    skip: Callable[[TextError], None] | None,
) -> Block:
    if not rows and not is_broken and any(_TEXT.match(comment) for comment in comments):
        error = TextError(
            f"{stream.where}: a sentence with # text and no word lines; "
            "add its words, or read the text from a .txt file"
        )
        if skip is None:
            raise error
        skip(error)
    return Block(last_line - len(comments) - len(rows) + 1, tuple(comments), tuple(rows))


def _row(stream: TextStream, line: str) -> Row:
    columns = tuple(line.split("\t"))
    if len(columns) != len(COLUMNS):
        raise TextError(
            f"{stream.where}: expected {len(COLUMNS)} tab-separated columns, found {len(columns)}; "
            "this is no CoNLL-U line, rename the file if it is plain text (.txt) or pairs (.tsv)"
        )
    found = _ID.fullmatch(columns[0])
    if found is None:
        raise TextError(
            f"{stream.where}: ID is {columns[0][:20]!r}; "
            "expected a word (3), a range (3-4) or an empty node (8.1)"
        )
    first = int(found["first"])
    return Row(first, int(found["last"] or first), found["empty"] is not None, columns)
