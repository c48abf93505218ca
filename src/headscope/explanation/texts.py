"""The texts of an explanation: dealt into two halves, and which sentence each token belongs to."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from headscope.probes.halves import Turns
from headscope.run.reader import Reader
from headscope.text.encode import EncodedInput, EncodedText, Shown
from headscope.text.items import TextPair
from headscope.text.sentences import split_sentences
from headscope.text.words import word_spans
from headscope.types import Layout


@dataclass(frozen=True)
class DealtText(Shown):
    """A text as the model is shown it, and what it is for."""

    sentences: tuple[list[int], list[int] | None]  # of the tokens of source and target
    half: int
    number: int
    """Its place among all texts."""


def dealt(reader: Reader) -> Iterator[DealtText]:
    """The texts in reading order: neurons are chosen on one half and scored on the other."""
    for text, half, number in Turns(reader, kind="text"):
        sentences = token_sentences(text.pair, text.encoded, reader.encoder.layout)
        yield DealtText(text.encoded, sentences, half, number)


def token_sentences(
    pair: TextPair, encoded: EncodedInput, layout: Layout
) -> tuple[list[int], list[int] | None]:
    """The sentence of every token of the source, and of the target; -1 for special tokens.

    Sentences are those the reader of running text would make; a new text begins a new sentence.
    """
    first, second = pair.first, pair.second
    if layout == "source-target":
        assert encoded.target is not None
        written = first if second is None else second
        return _numbers(encoded.source, first, _starts(first)), _numbers(
            encoded.target, written, _starts(written)
        )
    if second is None:
        return _numbers(encoded.source, first, _starts(first)), None
    starts = _starts(first)
    if layout == "joined":
        later = [len(first) + 1 + start for start in _starts(second)]
        return _numbers(encoded.source, f"{first} {second}", starts + later), None
    return _of_pair(encoded.source, first, second), None


def _of_pair(encoded: EncodedText, first: str, second: str) -> list[int]:
    """The words of the second text are numbered on from those of the first that were not cut off."""
    words = [
        [
            word if segment == number else -1
            for word, segment in zip(encoded.word, encoded.segment, strict=True)
        ]
        for number in (0, 1)
    ]
    base = min((word for word in words[1] if word >= 0), default=0)
    spans, starts = (word_spans(first), word_spans(second)), (_starts(first), _starts(second))
    numbers = []
    for of_first, of_second in zip(*words, strict=True):
        if of_first >= 0:
            numbers.append(bisect_right(starts[0], spans[0][of_first][0]) - 1)
        elif of_second >= 0:
            numbers.append(len(starts[0]) + bisect_right(starts[1], spans[1][of_second - base][0]) - 1)
        else:
            numbers.append(-1)
    return numbers


def _numbers(encoded: EncodedText, text: str, starts: list[int]) -> list[int]:
    spans = word_spans(text)
    return [-1 if word < 0 else bisect_right(starts, spans[word][0]) - 1 for word in encoded.word]


def _starts(text: str) -> list[int]:
    """Where its sentences begin, in characters."""
    starts: list[int] = []
    place = 0
    for sentence in split_sentences(text):
        start = text.find(sentence, place)
        starts.append(place if start < 0 else start)
        place = starts[-1] + len(sentence)
    return [0, *starts[1:]]
