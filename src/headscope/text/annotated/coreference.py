"""Coreference corpora: documents in which it is marked what stands for the same thing."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from headscope.errors import TextError
from headscope.text.annotated.coreference_document import CoreferenceDocument, Draft
from headscope.text.annotated.files import AnnotatedFiles
from headscope.text.files import TextStream, check_file, open_text, shown
from headscope.text.formats.conllu import COLUMNS
from headscope.text.formats.coreference_columns import BEGIN, FEWEST, read_column_documents
from headscope.text.formats.coreference_entity import read_entity_documents

Read = Callable[[TextStream, Callable[[str], None]], Iterator[Draft]]

LOOK_AT = 1000
"""So many lines may stand before the first one that tells the format."""

_ID = re.compile(r"[0-9]+([-.][0-9]+)?")


class CoreferenceCorpus(AnnotatedFiles):
    """Documents with their mentions, read one at a time and as often as wanted; made by `read_coreference`.

    A sentence or a mention that cannot be used is skipped and told in `skipped`, and the others still count.
    """

    kind = "records"  # sentences and mentions

    def __iter__(self) -> Iterator[CoreferenceDocument]:
        """The documents from the beginning; raises TextError when not a single mention can be used."""
        number = -1
        sentences = mentions = 0
        for stream in self._streams():
            before: str | None = None
            for draft in _format(stream.path)(stream, self.skipped.add):
                # The parts of one document come one after the other, under one name.
                number += not draft.name or draft.name != before
                before = draft.name
                document = draft.document(number)
                sentences += len(document.sentences)
                mentions += len(document.mentions)
                yield document
        if not mentions:
            raise self._nothing(sentences)

    def _nothing(self, sentences: int) -> TextError:
        if self.skipped.count:
            return TextError(
                f"{self.name}: no mention can be used, {self.skipped.count} records were skipped, the first is "
                f"{self.skipped.places[0]}"
            )
        if sentences:
            return TextError(
                f"{self.name} marks no mention; give CoNLL-U with Entity= in MISC, or CoNLL-2012 columns with "
                "coreference in the last one"
            )
        return TextError(f"{self.name} holds no sentence; give a file with coreference")


def read_coreference(*paths: str | Path) -> CoreferenceCorpus:
    """A corpus from files in the given order: CorefUD or GUM CoNLL-U, CoNLL-2012 columns, LitBank.

    The format of each file is told by what is in it. Missing files raise TextError right away.
    """
    if not paths:
        raise TextError(
            'read_coreference was given no file; name one or more, as in read_coreference("dev.conllu")'
        )
    for path in paths:
        check_file(path)
    return CoreferenceCorpus([Path(path) for path in paths])


def _format(path: Path) -> Read:
    """How to read a file, by its first lines."""
    is_blank = True
    with open_text(path) as stream:
        for line in islice(stream.lines(), LOOK_AT):
            if BEGIN.match(line):
                return read_column_documents
            if line.startswith("#") or not line.strip():
                continue
            is_blank = False
            columns, words = line.split("\t"), line.split()
            if len(columns) == len(COLUMNS) and _ID.fullmatch(columns[0]):
                return read_entity_documents
            if max(len(columns), len(words)) >= FEWEST and _ID.fullmatch(words[2]):
                return read_column_documents
    if is_blank:
        return read_entity_documents  # which finds nothing, and that is told
    raise TextError(
        f"{shown(path)}: no coreference format is recognised; give CoNLL-U ({len(COLUMNS)} tab-separated columns, "
        f"Entity= in the last), CoNLL-2012 columns or LitBank's .conll"
    )
