"""A text given as words: what the model reads, and where each word stands in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from headscope.text.align import Span
from headscope.text.sentences import clean


@dataclass(frozen=True)
class WordText:
    """The words of a text and the text they make up."""

    text: str
    spans: tuple[Span, ...]
    """Where each word begins and ends in `text`; a word of unprintable characters is empty."""

    def __len__(self) -> int:
        return len(self.spans)

    @property
    def words(self) -> list[str]:
        """The words as they stand in the text."""
        return [self.text[start:end] for start, end in self.spans]

    @classmethod
    def of(cls, words: Sequence[str], *, space_after: Sequence[bool] | None = None) -> Self:
        """The words in a row, a space after each but where `space_after` says no."""
        parts: list[str] = []
        spans: list[Span] = []
        length = 0
        for number, word in enumerate(words):
            if number and (space_after is None or space_after[number - 1]):
                parts.append(" ")
                length += 1
            spans.append((length, length + len(word)))
            parts.append(word)
            length += len(word)
        return cls(clean("".join(parts)), tuple(spans))  # clean keeps every character's place

    @classmethod
    def joined(cls, texts: Sequence["WordText"]) -> Self:
        """Several texts as one, a space between them."""
        spans: list[Span] = []
        start = 0
        for part in texts:
            spans += [(start + a, start + b) for a, b in part.spans]
            start += len(part.text) + 1
        return cls(" ".join(part.text for part in texts), tuple(spans))

    def up_to(self, words: int) -> "WordText":
        """The first so many words."""
        spans = self.spans[:words]
        return WordText(self.text[: spans[-1][1]] if spans else "", spans)
