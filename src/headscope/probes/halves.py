"""Choosing on one half and scoring on the other: texts dealt out by their documents."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Generic, Protocol, TypeVar

SELECT, SCORE = HALVES = (0, 1)
LOOK_AHEAD = 10_000
"""How many texts are read in search of a second document."""


class InDocument(Protocol):
    """A text that knows the number of its document."""

    @property
    def document(self) -> int:
        """The number of its document."""


Text = TypeVar("Text", bound=InDocument)


class Turns(Generic[Text]):
    """Texts dealt out by turns: every other document (or every tenth) to be scored, or every other text of one."""

    def __init__(self, texts: Iterable[Text], *, kind: str, every: int = 2) -> None:
        """`kind` is what a text is: sentence, window. One in `every` is scored, the first one among them."""
        self.texts = texts
        self.kind = kind
        self.every = every
        self.unit = "document"
        """What is dealt out: document or `kind`; known once the first text was asked for."""

    def __iter__(self) -> Iterator[tuple[Text, int, int]]:
        """Every text with its half and its place among all."""
        stream = iter(self.texts)
        ahead: list[Text] = []
        for text in islice(stream, LOOK_AHEAD):
            ahead.append(text)
            if text.document != ahead[0].document:
                break
        self.unit = "document" if ahead and ahead[-1].document != ahead[0].document else self.kind
        turn, document = -1, None
        for number, text in enumerate(chain(ahead, stream)):
            # Not by the document's number: one whose texts were all skipped would lose its turn.
            turn += self.unit == self.kind or text.document != document
            document = text.document
            yield text, SCORE if turn % self.every == 0 else SELECT, number

    def of(self, half: int) -> Iterator[Text]:
        """The texts of one half."""
        return (text for text, own, _ in self if own == half)
