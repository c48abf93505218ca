"""Choosing on one half and scoring on the other: a treebank split by documents."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from headscope.text.treebank import ParsedSentence
from headscope.text.words import WordText

SELECT, SCORE = 0, 1
LOOK_AHEAD = 10_000
"""How many sentences are read in search of a second document."""


@dataclass(frozen=True)
class Placed:
    """A sentence, what it is for, and its place among all that were read."""

    sentence: ParsedSentence
    half: int  # SELECT or SCORE
    number: int

    @property
    def content(self) -> WordText:
        """The words the model is shown."""
        return self.sentence.content


class Halves:
    """Sentences dealt out by turns: every other document, or every other sentence where there is one document."""

    def __init__(self, sentences: Iterable[ParsedSentence]) -> None:
        self.sentences = sentences
        self.unit = "document"
        """What is dealt out: document or sentence; known once the first sentence was asked for."""

    def __iter__(self) -> Iterator[Placed]:
        stream = iter(self.sentences)
        ahead: list[ParsedSentence] = []
        for sentence in islice(stream, LOOK_AHEAD):
            ahead.append(sentence)
            if sentence.document != ahead[0].document:
                break
        self.unit = "document" if ahead and ahead[-1].document != ahead[0].document else "sentence"
        half = SELECT
        document: int | None = None
        for number, sentence in enumerate(chain(ahead, stream)):
            # Not by the document's number: one whose sentences were all skipped would lose its turn.
            if self.unit == "sentence" or sentence.document != document:
                half = SCORE if half == SELECT else SELECT  # the first one is scored
            document = sentence.document
            yield Placed(sentence, half, number)


def all_for(sentences: Iterable[ParsedSentence], half: int) -> Iterator[Placed]:
    """Every sentence for one purpose."""
    return (Placed(sentence, half, number) for number, sentence in enumerate(sentences))
