"""What a coreference file says: documents of sentences, and the mentions of entities in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from headscope.text.annotated.coreference_words import (
    MentionClass,
    head_by_tags,
    head_by_tree,
    head_by_words,
    names_in,
    tagged_class,
    untagged_class,
)
from headscope.text.formats.coreference_brackets import MentionSpan
from headscope.text.words import WordText

UNKNOWN = "_"
"""A tag or feature that the file does not give."""


@dataclass(frozen=True)
class CoreferenceSentence:
    """A sentence of a document, one entry a word."""

    content: WordText
    forms: tuple[str, ...]
    upos: tuple[str, ...]  # UNKNOWN where the file has none, as in the next two
    xpos: tuple[str, ...]
    features: tuple[str, ...]
    heads: tuple[int, ...] | None  # index of the syntactic head, -1 for the root; None without a tree
    name: str  # its sent_id, or ""
    path: str
    lines: tuple[int, ...]  # where each word stands

    def __len__(self) -> int:
        return len(self.forms)

    def where(self, word: int = 0) -> str:
        """`file:line` of a word, to begin a message with."""
        return f"{self.path}:{self.lines[word]}"


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
    sentences: tuple[CoreferenceSentence, ...]
    mentions: tuple[Mention, ...]  # in the order of the text, of two that begin together the longer first


@dataclass
class Draft:
    """A document as it is read: sentences and marked spans, before heads and classes are known."""

    name: str
    sentences: list[CoreferenceSentence] = field(default_factory=list)
    spans: list[tuple[int, MentionSpan]] = field(default_factory=list)
    """The number of the sentence, and what is marked in it."""

    def add(self, sentence: CoreferenceSentence, spans: Sequence[MentionSpan]) -> None:
        """Append a sentence with its mentions."""
        self.spans += [(len(self.sentences), span) for span in spans]
        self.sentences.append(sentence)

    def document(self, number: int) -> CoreferenceDocument:
        """The whole document, every mention with its head word and class."""
        mentions = sorted(self._mentions(), key=lambda one: (one.sentence, one.words[0], -one.words[-1]))
        return CoreferenceDocument(number, self.name, tuple(self.sentences), tuple(mentions))

    def _mentions(self) -> Iterator[Mention]:
        names = names_in([sentence.forms for sentence in self.sentences])
        for number, span in self.spans:
            sentence = self.sentences[number]
            head = head_word(sentence, span.words)
            upos, xpos = sentence.upos[head], sentence.xpos[head]
            if (upos, xpos) == (UNKNOWN, UNKNOWN):
                kind = untagged_class(sentence.forms, head, names)
            else:
                kind = tagged_class(upos, xpos)
            yield Mention(span.entity, number, span.words, head, kind)


def head_word(sentence: CoreferenceSentence, words: Sequence[int]) -> int:
    """The head word of a mention: from the tree, else from part-of-speech tags, else from the words alone."""
    if sentence.heads is not None:
        return head_by_tree(sentence.heads, words)
    tags = [sentence.xpos[word] for word in words]
    forms = [sentence.forms[word] for word in words]
    place = head_by_words(forms) if UNKNOWN in tags else head_by_tags(tags)
    return words[place]
