"""The texts of an explanation: dealt into two halves, and which sentence each token belongs to."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from headscope.passes.reader import Reader
from headscope.probes.halves import Turns
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
        return _numbers(encoded.source, [first]), _numbers(encoded.target, [written])
    texts = [first] if second is None else [first, second]
    return _numbers(encoded.source, texts, may_lose_words=layout == "pair"), None


def _numbers(encoded: EncodedText, texts: list[str], *, may_lose_words: bool = False) -> list[int]:
    """The sentence of every token of one text, or of two, of which the words and sentences of the second go on.

    The first one `may_lose_words` at its end, where each text is cut by itself.
    """
    numbers, words, sentences = [-1] * len(encoded), 0, 0
    for segment, text in enumerate(texts):
        own = {
            place: word
            for place, (word, of) in enumerate(zip(encoded.word, encoded.segment, strict=True))
            if word >= 0 and of == segment
        }
        before = min(own.values(), default=0) if segment and may_lose_words else words
        spans, starts = word_spans(text), _starts(text)
        for place, word in own.items():
            numbers[place] = sentences + bisect_right(starts, spans[word - before][0]) - 1
        words, sentences = len(spans), len(starts)
    return numbers


def _starts(text: str) -> list[int]:
    """Where its sentences begin, in characters."""
    starts: list[int] = []
    place = 0
    for sentence in split_sentences(text):
        start = text.find(sentence, place)
        starts.append(place if start < 0 else start)
        place = starts[-1] + len(sentence)
    return [0, *starts[1:]]
