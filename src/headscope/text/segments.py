"""From sentences to segments: consecutive sentences of one document, split in two at a sentence boundary."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from headscope.text.encode import TextEncoder
from headscope.text.items import Item, Sentence, TextPair, Tokens
from headscope.text.words import Span

Sized = tuple[str, int]
"""A sentence, or a part of one too long for the model, and its number of tokens."""

TOGETHER = 64
"""How many sentences a tokenizer gets at once: enough that the call itself costs little."""


def tokenized(items: Iterable[Item], encoder: TextEncoder) -> Iterator[Item]:
    """The items, each sentence with its tokens; some are read ahead, and an error comes in its place."""
    stream = iter(items)
    failed: Exception | None = None
    while failed is None:
        some: list[Item] = []
        try:
            some.extend(islice(stream, TOGETHER))
        except Exception as error:
            failed = error
        tokens = encoder.tokens_of([item.text for item in some if isinstance(item, Sentence)])
        yield from (
            replace(item, tokens=next(tokens)) if isinstance(item, Sentence) else item for item in some
        )
        if not some:
            break
    if failed is not None:
        raise failed


class _Packed(NamedTuple):
    """A sentence, or a part of one, that is to be in the next segment."""

    text: str
    size: int
    """How many tokens it costs."""
    tokens: Tokens | None
    """What the tokenizer makes of it alone, where that is known."""


def segments(items: Iterable[Item], encoder: TextEncoder) -> Iterator[TextPair]:
    """Inputs for the model: given pairs as they are, sentences packed until the next does not fit."""
    packed: list[_Packed] = []
    document = None
    for item in items:
        if isinstance(item, TextPair):
            yield from _flush(packed, document)
            yield item
            continue
        if item.document != document:
            yield from _flush(packed, document)
            document = item.document
        for part, size in fitting_parts(item.text, encoder, item.tokens):
            cost = size + encoder.joint if packed else size
            if packed and sum(sentence.size for sentence in packed) + cost > encoder.room:
                yield from _flush(packed, document)
                cost = size
            packed.append(_Packed(part, cost, item.tokens if part == item.text else None))
    yield from _flush(packed, document)


def fitting_parts(sentence: str, encoder: TextEncoder, tokens: Tokens | None = None) -> Iterator[Sized]:
    """The sentence, cut at spaces into parts that fit if it is longer than the model takes; its tokens if known."""
    pieces = encoder.pieces(sentence) if tokens is None else _pieces(tokens)
    start = 0
    while len(pieces) - start > encoder.room:
        end = start + encoder.room
        # Back to a piece that begins a word, unless the whole part is one word.
        while end > start and not _begins_word(sentence, pieces[end][0]):
            end -= 1
        end = end if end > start else start + encoder.room
        yield sentence[pieces[start][0] : pieces[end][0]].strip(), end - start
        start = end
    if start < len(pieces):
        yield sentence[pieces[start][0] :].strip() if start else sentence, len(pieces) - start


def _pieces(tokens: Tokens) -> list[Span]:
    """The characters each token stands for, without what the tokenizer added."""
    _, spans, owners = tokens
    return [span for span, owner in zip(spans, owners, strict=True) if owner >= 0]


def _begins_word(sentence: str, place: int) -> bool:
    return place == 0 or sentence[place].isspace() or sentence[place - 1].isspace()


def _flush(packed: list[_Packed], document: int | None) -> Iterator[TextPair]:
    """The packed sentences as a pair, split at the boundary nearest to the middle; empties the list."""
    if not packed:
        return
    total = sum(sentence.size for sentence in packed)
    before = 0
    best, off_middle = 0, total + 1
    for count, sentence in enumerate(packed[:-1], start=1):
        before += sentence.size
        if abs(2 * before - total) < off_middle:
            best, off_middle = count, abs(2 * before - total)
    sentences = [sentence.text for sentence in packed]
    tokens = packed[0].tokens
    packed.clear()
    if best == 0:
        yield TextPair(sentences[0], None, document, tokens)
    else:
        yield TextPair(" ".join(sentences[:best]), " ".join(sentences[best:]), document)
