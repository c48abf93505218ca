"""Treebanks: sentences whose words have a part of speech, a syntactic head and a relation to it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headscope.errors import TextError
from headscope.text.annotated.files import AnnotatedFiles
from headscope.text.files import given_files, shown
from headscope.text.formats.conllu import Block, Row, read_blocks
from headscope.text.words import WordText

RESERVED = "all"
"""What tables call all relations together; no relation may have that name."""

ROOT = -1
"""The syntactic head of a sentence's root."""

UNKNOWN = "_"
"""A tag or feature that a file does not give."""


def base_relation(relation: str) -> str:
    """A relation without its subtype: nmod of nmod:poss."""
    return relation.partition(":")[0]


def features_of(column: str) -> dict[str, str]:
    """What a FEATS column says, by name: Number=Plur|Person=3."""
    return dict(part.partition("=")[::2] for part in column.split("|") if part != UNKNOWN)


@dataclass(frozen=True)
class TaggedSentence:
    """A sentence with what a file says of its words, one entry a word."""

    content: WordText
    forms: tuple[str, ...]
    upos: tuple[str, ...]  # UNKNOWN where the file has none, as in the next two
    xpos: tuple[str, ...]
    features: tuple[str, ...]  # as in the FEATS column: Number=Plur|Person=3
    heads: tuple[int, ...] | None
    """Index of each word's syntactic head in the sentence, ROOT for none; None without a tree."""
    name: str  # its sent_id, or ""
    path: str
    lines: tuple[int, ...]  # where each word stands

    def __len__(self) -> int:
        return len(self.forms)

    def where(self, word: int | None = None) -> str:
        """`file:line` of the sentence or of one of its words, to begin a message with."""
        return f"{self.path}:{self.lines[word or 0]}"


@dataclass(frozen=True)
class ParsedSentence(TaggedSentence):
    """A sentence with its tree."""

    heads: tuple[int, ...]
    relations: tuple[str, ...]
    document: int  # numbered from 0 through all files
    line: int  # where the sentence begins

    def where(self, word: int | None = None) -> str:
        """`file:line` of the sentence or of one of its words, to begin a message with."""
        return f"{self.path}:{self.line if word is None else self.lines[word]}"

    def is_punctuation(self, word: int) -> bool:
        """Whether a word is punctuation, by its part of speech or its relation."""
        return self.upos[word] == "PUNCT" or base_relation(self.relations[word]) == "punct"


class Treebank(AnnotatedFiles):
    """Parsed sentences that can be iterated over, lazily and as often as wanted; made by `read_treebank`.

    A sentence that cannot be used is skipped and told in `skipped`, and the others still count.
    """

    kind = "sentences"

    def __iter__(self) -> Iterator[ParsedSentence]:
        """The sentences from the beginning; raises TextError when none of them can be used."""
        any_sentence = False
        document = -1
        for stream in self._streams():
            starts = True  # a file begins a document
            for block in read_blocks(stream, skip=self.skipped.add):
                starts = starts or block.starts_document
                if not block.rows:
                    continue
                document += starts
                starts = False
                try:
                    sentence = parse(block, document=document, path=shown(stream.path))
                except TextError as error:
                    self.skipped.add(str(error))
                    continue
                any_sentence = True
                yield sentence
        if not any_sentence:
            raise self._nothing()

    def _nothing(self) -> TextError:
        return self.skipped.nothing_left(self.name, why="holds no sentence; give a CoNLL-U file with trees")


def read_treebank(*paths: str | Path) -> Treebank:
    """A treebank from CoNLL-U files, in the given order; missing files raise TextError right away."""
    return Treebank(given_files("read_treebank", "dev.conllu", paths))


def parse(block: Block, *, document: int, path: str) -> ParsedSentence:
    """A block as a sentence; raises TextError, with file and line, for one that is no tree."""
    rows = [row for row in block.rows if row.is_word]
    for number, row in enumerate(rows, start=1):
        if row.first != number:
            raise TextError(
                f"{path}:{row.line}: word {row.first} where word {number} was expected; number words from 1"
            )
    if not rows:
        raise TextError(f"{path}:{block.line_number}: a sentence without words")
    heads = tuple(_head(row, len(rows), f"{path}:{row.line}") for row in rows)
    if (word := lost_word(heads)) is not None:
        raise TextError(f"{path}:{rows[word].line}: its heads go round in a circle and never reach a root")
    return ParsedSentence(
        content=_content(block.rows, rows),
        forms=tuple(row.form for row in rows),
        upos=_column(rows, 3),
        xpos=_column(rows, 4),
        features=_column(rows, 5),
        heads=heads,
        relations=_column(rows, 7),
        name=block.name,
        document=document,
        path=path,
        line=block.line_number,
        lines=tuple(row.line for row in rows),
    )


def _column(rows: Sequence[Row], number: int) -> tuple[str, ...]:
    return tuple(row.columns[number] for row in rows)


def _head(row: Row, words: int, where: str) -> int:
    head, relation, enhanced = row.columns[6], row.columns[7], row.columns[8]
    if head == "_" or relation in ("_", ""):
        also = ", only enhanced ones in DEPS" if enhanced != "_" else ""
        raise TextError(f"{where}: no HEAD and DEPREL{also}; basic trees are needed")
    if not re.fullmatch("[0-9]{1,9}", head) or int(head) > words:
        raise TextError(
            f"{where}: HEAD is {head[:20]!r}; expected 0 for the root or a word from 1 to {words}"
        )
    if relation == RESERVED or not relation.isprintable():
        raise TextError(f"{where}: DEPREL is {relation[:20]!r}, which is no name for a relation here")
    return int(head) - 1


def lost_word(heads: Sequence[int]) -> int | None:
    """The first word from which following the heads leads to no root; None for a tree."""
    above = list(heads)
    for _ in range(len(heads).bit_length()):  # each round doubles how far up one has looked
        above = [ROOT if word == ROOT else above[word] for word in above]
    return next((word for word, top in enumerate(above) if top != ROOT), None)


def _content(rows: Sequence[Row], words: Sequence[Row]) -> WordText:
    """The words as the text has them.

    Where the words of a multiword token spell it (do + n't) they stand together, as in the text; where they do
    not (French du = de + le) the model is shown the words.
    """
    space_after = [row.space_after for row in words]
    for row in rows:
        if row.is_empty or row.is_word:
            continue
        inside = range(row.first - 1, min(row.last, len(words)))
        spelled = "".join(words[word].form for word in inside) == row.form
        for word in inside[:-1]:
            space_after[word] = not spelled
        if inside:
            space_after[inside[-1]] = row.space_after
    return WordText.of([row.form for row in words], space_after=space_after)
