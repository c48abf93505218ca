"""The words of an encoded text as people read them, special tokens among them, and where each token belongs."""

from collections.abc import Sequence
from dataclasses import dataclass

from headscope.text.encode import EncodedText, TextEncoder
from headscope.text.items import TextPair


@dataclass(frozen=True)
class ShownWords:
    """The words of a text, special tokens as words of their own."""

    words: tuple[str, ...]
    word: tuple[int, ...]
    """Which of them each token is a piece of."""


def source_words(encoder: TextEncoder, encoded: EncodedText, text: TextPair) -> ShownWords:
    """What a model is given to read, in words."""
    if text.second is None or encoder.layout == "source-target":
        return _shown(encoder, encoded, [text.first])
    texts = [f"{text.first} {text.second}"] if encoder.layout == "joined" else [text.first, text.second]
    return _shown(encoder, encoded, texts)


def target_words(encoder: TextEncoder, encoded: EncodedText, text: TextPair) -> ShownWords:
    """What a model that reads one text and writes another is given as what it writes, in words."""
    return _shown(encoder, encoded, [text.first if text.second is None else text.second])


def _shown(encoder: TextEncoder, encoded: EncodedText, texts: Sequence[str]) -> ShownWords:
    """`texts` are what was encoded: the first and the second, or both joined to one."""
    names: list[str] = list(encoder.tokenizer.convert_ids_to_tokens(encoded.ids))
    spans = [iter(encoder.pieces(text)) for text in texts]
    words: list[str] = []
    word: list[int] = []
    start, number, owner = 0, -1, -1  # of the word that is being put together
    for place, (name, segment) in enumerate(zip(names, encoded.segment, strict=True)):
        text = min(segment, len(texts) - 1)
        span = next(spans[text], None) if segment >= 0 else None
        goes_on = number >= 0 and (text, encoded.word[place]) == (owner, number)
        if not goes_on:
            words.append(name)
            number, owner = (encoded.word[place], text) if span is not None else (-1, -1)
            start = span[0] if span is not None else 0
        if span is not None:
            surface = texts[text][start : span[1]]
            words[-1] = surface.strip() or surface or name
        word.append(len(words) - 1)
    return ShownWords(tuple(words), tuple(word))
