"""What the model is scored on: a relation in a sentence, and for minimal pairs the sentence with one word changed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from headscope.text.annotated.minimal_pairs import MinimalPair
from headscope.text.annotated.treebank import ParsedSentence, base_relation
from headscope.text.words import WordText

Score = Literal["word", "pairs"]
"""What is scored: a word of the treebank, or pairs of a file."""


@dataclass(frozen=True)
class Case:
    """A relation in a sentence, and for a pair the same sentence with one word changed."""

    content: WordText
    dependent: int | None
    governor: int | None
    """None for both where only the head can tell where the edge is."""
    same: frozenset[tuple[int, int]]
    """All (dependent, governor) of the relation in the sentence, which no control may be."""
    sentence: int
    where: str
    other: WordText | None = None
    changed: int | None = None

    @property
    def document(self) -> int:
        """Its sentence: cases of one are one unit."""
        return self.sentence

    @property
    def signature(self) -> str:
        """All of it that matters, in writing."""
        other = "" if self.other is None else self.other.text
        return f"{self.content.text}\0{self.dependent}\0{self.governor}\0{other}\n"


def relation_cases(sentences: Iterable[ParsedSentence], relation: str) -> Iterator[Case]:
    """A case for every word of a relation; `relation` may be a base relation, which has its subtypes."""
    for number, sentence in enumerate(sentences):
        edges = _edges(sentence, relation)
        for dependent, governor in edges:
            where = sentence.where(dependent)
            yield Case(sentence.content, dependent, governor, frozenset(edges), number, where)


def pair_cases(pairs: Iterable[MinimalPair]) -> Iterator[Case]:
    """A case for every minimal pair of a file."""
    for number, pair in enumerate(pairs):
        dependent, governor = pair.edge or (None, None)
        same = frozenset() if pair.edge is None else frozenset([pair.edge])
        yield Case(pair.good, dependent, governor, same, number, pair.where, pair.bad, pair.changed)


def _edges(sentence: ParsedSentence, relation: str) -> list[tuple[int, int]]:
    return [
        (word, head)
        for word, (head, name) in enumerate(zip(sentence.heads, sentence.relations, strict=True))
        if head >= 0 and relation in (name, base_relation(name))
    ]
