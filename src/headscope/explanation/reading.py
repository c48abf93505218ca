"""The texts of an explanation, dealt into two halves: neurons are chosen on one and scored on the other."""

from collections.abc import Iterator
from dataclasses import dataclass

from headscope.explanation.sentences import token_sentences
from headscope.probes.halves import Turns
from headscope.run.reader import Reader
from headscope.text.encode import EncodedInput


@dataclass(frozen=True)
class Shown:
    """A text as the model is shown it, and what it is for."""

    encoded: EncodedInput
    sentences: tuple[list[int], list[int] | None]  # of the tokens of source and target
    half: int
    number: int
    """Its place among all texts."""

    def __len__(self) -> int:
        return len(self.encoded)


def dealt(reader: Reader) -> Iterator[Shown]:
    """The texts in reading order, each with its half."""
    for text, half, number in Turns(reader, kind="text"):
        sentences = token_sentences(text.pair, text.encoded, reader.encoder.layout)
        yield Shown(text.encoded, sentences, half, number)
