"""The tokens of a text as people read them: pieces, and the words they belong to."""

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from headscope.facts.sentences import is_special
from headscope.pages.shapes.views import Tokens
from headscope.text.encode import EncodedText, TextEncoder, special_ids
from headscope.text.words import Span, word_spans
from headscope.types import Array

_SPACES = {"\n": "↵", "\r": "↵", "\t": "⇥"}


def tokens_of(
    encoder: TextEncoder, encoded: EncodedText, texts: Sequence[str], *, spans: Sequence[Span] | None = None
) -> Tokens:
    """`encoded` with its pieces and words; `texts` are what it was made of, by segment, or joined to one text.

    `spans` are the characters of each token, for a text that a tokenizer might cut otherwise: one that a model wrote.
    """
    places: list[list[int]] = [[] for _ in texts]
    for place, segment in enumerate(encoded.segment):
        if segment >= 0:
            places[min(segment, len(texts) - 1)].append(place)
    special = special_ids(encoder.tokenizer)
    pieces: list[str] = list(encoder.tokenizer.convert_ids_to_tokens(encoded.ids))
    word, words, earlier = [-1] * len(encoded), list[str](), 0
    for text, own in zip(texts, places, strict=True):
        cut = encoder.pieces(text, marked=False)[: len(own)] if spans is None else [spans[at] for at in own]
        for place, shown in zip(own, _shown(encoder.tokenizer, text, cut), strict=False):
            if shown is not None and encoded.ids[place] not in special:
                pieces[place] = shown
        read = max((end for _, end in cut), default=0)
        known = word_spans(text[:read])
        numbers = [encoded.word[place] - earlier for place in own]
        for place, number in zip(own, _number(text, known, cut, numbers, words), strict=False):
            word[place] = number
        earlier += len(known)
    return Tokens(
        pieces=[printable(piece) for piece in pieces],
        words=[printable(text) for text in words],
        word=word,
        segment=list(encoded.segment),
        special=[segment < 0 for segment in encoded.segment],
    )


def plain_tokens(pieces: Sequence[str], segments: Sequence[int] | None = None) -> Tokens:
    """Tokens that come without a tokenizer: each its own word.

    Special are those of segment -1; without segments those in brackets, as [CLS] and <s>.
    """
    special = (
        [is_special(piece) for piece in pieces] if segments is None else [segment < 0 for segment in segments]
    )
    word, words = [], list[str]()
    for piece, is_mark in zip(pieces, special, strict=True):
        if is_mark:
            word.append(-1)
            continue
        if piece.startswith("##") and len(piece) > 2 and words and word[-1] >= 0:
            words[-1] += piece[2:]
        else:
            words.append(piece.lstrip("Ġ▁") or piece)
        word.append(len(words) - 1)
    return Tokens(
        pieces=[printable(piece) for piece in pieces],
        words=[printable(text) for text in words],
        word=word,
        segment=list(segments) if segments is not None else [-1 if is_mark else 0 for is_mark in special],
        special=special,
    )


def word_starts(tokens: Tokens) -> Array:
    """(word,) the place of each word's first piece; special tokens are words of their own."""
    word = np.array(tokens.word)
    goes_on = (word[1:] >= 0) & (word[1:] == word[:-1])
    return np.flatnonzero(np.concatenate([[True], ~goes_on])[: len(word)])


def _shown(tokenizer: Any, text: str, spans: Sequence[Span]) -> list[str | None]:
    """What each piece stands for in the text; None where the vocabulary's own name says it better."""
    if _is_word_piece(tokenizer):  # known by their ## marks
        return [None] * len(spans)
    shown: list[str | None] = []
    for number, (start, end) in enumerate(spans):
        shared = (start, end) in (*spans[max(0, number - 1) : number], *spans[number + 1 : number + 2])
        surface = text[start:end]
        # Several pieces of one character (bytes of an emoji) have nothing of the text to themselves.
        shown.append(None if shared or not surface else surface.strip() or surface)
    return shown


def _is_word_piece(tokenizer: Any) -> bool:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return type(getattr(backend, "model", None)).__name__ == "WordPiece"


def _number(
    text: str, known: Sequence[Span], spans: Sequence[Span], numbers: Sequence[int], words: list[str]
) -> list[int]:
    """Where in `words` the word of each piece is; new words are added, as wide as their pieces are together.

    So that a piece that stands for several words of the text ("...", "[MASK]") is shown as what it is.
    """
    places: list[int] = []
    extent: Span = (0, 0)
    previous = -1
    for number, span in zip(numbers, spans, strict=False):
        is_word = 0 <= number < len(known)
        if is_word and number == previous:
            extent = (extent[0], max(extent[1], span[1]))
        else:
            words.append("")
            start, end = known[number] if is_word else span  # no word: spaces, mostly
            extent = (start, max(end, span[1]))
        words[-1] = text[extent[0] : extent[1]].rstrip() or text[extent[0] : extent[1]] or "␣"
        places.append(len(words) - 1)
        previous = number if is_word else -1
    return places


def printable(text: str) -> str:
    """Spaces and what has no shape made visible; all else as it is."""
    if not text:
        return "␣"
    if text.isspace():
        return "".join(_SPACES.get(character, "␣") for character in text)
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character in _SPACES:
        return _SPACES[character]
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(character) in ("Cc", "Cs") else character
