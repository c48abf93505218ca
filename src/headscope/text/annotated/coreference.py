"""Coreference corpora: documents in which it is marked what stands for the same thing."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from headscope.errors import TextError
from headscope.text.annotated.coreference_words import (
    MentionClass,
    head_by_tags,
    head_by_tree,
    head_by_words,
    names_in,
    tagged_class,
    untagged_class,
)
from headscope.text.annotated.files import AnnotatedFiles
from headscope.text.annotated.treebank import UNKNOWN, TaggedSentence
from headscope.text.files import TextStream, given_files, open_text, shown
from headscope.text.formats.conllu import COLUMNS
from headscope.text.formats.coreference import (
    BEGIN,
    FEWEST,
    MarkedDocument,
    Tell,
    read_column_documents,
    read_entity_documents,
)

Read = Callable[[TextStream, Tell], Iterator[MarkedDocument]]

LOOK_AT = 1000
"""So many lines may stand before the first one that tells the format."""

_ID = re.compile(r"[0-9]+([-.][0-9]+)?")


@dataclass(frozen=True)
class Mention:
    """Words of one sentence that stand for an entity."""

    entity: str  # its name in the file, good within the document
    sentence: int  # number of the sentence in the document
    words: tuple[int, ...]  # indices in the sentence, in order; a discontinuous mention has gaps
    head: int  # index of its head word in the sentence
    kind: MentionClass


@dataclass(frozen=True)
class CoreferenceDocument:
    """A text whose mentions of the same entity are known."""

    number: int  # counted from 0 through all files; the parts of one CoNLL-2012 document share it
    name: str
    sentences: tuple[TaggedSentence, ...]
    mentions: tuple[Mention, ...]  # in the order of the text, of two that begin together the longer first


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
            for marked in _format(stream.path)(stream, self.skipped.add):
                # The parts of one document come one after the other, under one name.
                number += not marked.name or marked.name != before
                before = marked.name
                document = CoreferenceDocument(
                    number, marked.name, tuple(marked.sentences), tuple(_mentions(marked))
                )
                sentences += len(document.sentences)
                mentions += len(document.mentions)
                yield document
        if not mentions:
            raise self.skipped.nothing_left(
                self.name,
                why="marks no mention; give CoNLL-U with Entity= in MISC, or CoNLL-2012 columns with coreference in "
                "the last one"
                if sentences
                else "holds no sentence; give a file with coreference",
            )


def read_coreference(*paths: str | Path) -> CoreferenceCorpus:
    """A corpus from files in the given order: CorefUD or GUM CoNLL-U, CoNLL-2012 columns, LitBank.

    The format of each file is told by what is in it. Missing files raise TextError right away.
    """
    return CoreferenceCorpus(given_files("read_coreference", "dev.conllu", paths))


def _mentions(marked: MarkedDocument) -> list[Mention]:
    """The mentions of a document with their head words and classes, in the order of the text."""
    names = names_in([sentence.forms for sentence in marked.sentences])
    mentions = []
    for number, span in marked.spans:
        sentence = marked.sentences[number]
        head = head_word(sentence, span.words)
        upos, xpos = sentence.upos[head], sentence.xpos[head]
        if (upos, xpos) == (UNKNOWN, UNKNOWN):
            kind = untagged_class(sentence.forms, head, names)
        else:
            kind = tagged_class(upos, xpos)
        mentions.append(Mention(span.entity, number, span.words, head, kind))
    return sorted(mentions, key=lambda mention: (mention.sentence, mention.words[0], -mention.words[-1]))


def head_word(sentence: TaggedSentence, words: Sequence[int]) -> int:
    """The head word of a mention: from the tree, else from part-of-speech tags, else from the words alone."""
    if sentence.heads is not None:
        return head_by_tree(sentence.heads, words)
    tags = [sentence.xpos[word] for word in words]
    forms = [sentence.forms[word] for word in words]
    place = head_by_words(forms) if UNKNOWN in tags else head_by_tags(tags)
    return words[place]


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
            if max(len(columns), len(words)) >= FEWEST and _ID.fullmatch((*words, "", "")[2]):
                return read_column_documents
    if is_blank:
        return read_entity_documents  # which finds nothing, and that is told
    raise TextError(
        f"{shown(path)}: no coreference format is recognised; give CoNLL-U ({len(COLUMNS)} tab-separated columns, "
        f"Entity= in the last), CoNLL-2012 columns or LitBank's .conll"
    )
