"""Sentences into segments."""

from dataclasses import replace
from typing import Any

import pytest
from tests.helpers.tiny import byte_tokenizer, wordpiece_tokenizer

from headscope.text.encode import TextEncoder
from headscope.text.items import Sentence, TextPair
from headscope.text.segments import TOGETHER, fitting_parts, segments, tokenized

ENCODER = TextEncoder(wordpiece_tokenizer(), "pair", 13)  # room for ten tokens of text


def pack(*sentences: Sentence | TextPair) -> list[TextPair]:
    return list(segments(sentences, ENCODER))


def test_consecutive_sentences_fill_a_segment_split_near_its_middle() -> None:
    four = [
        Sentence("the cat sat.", 0),
        Sentence("it saw.", 0),
        Sentence("a dog.", 0),
        Sentence("the mat was red.", 0),
    ]
    assert pack(*four) == [TextPair("the cat sat.", "it saw. a dog."), TextPair("the mat was red.")]


def test_documents_are_not_mixed_and_the_last_one_counts() -> None:
    found = pack(Sentence("a cat.", 0), Sentence("a dog.", 1), Sentence("the mat.", 1))
    assert found == [TextPair("a cat."), TextPair("a dog.", "the mat.")]


def test_given_pairs_are_left_as_they_are_and_end_what_was_packed() -> None:
    given = TextPair("the cat sat on the mat and saw the red dog", "a")
    assert pack(Sentence("a cat.", 0), given, Sentence("a dog.", 0)) == [
        TextPair("a cat."),
        given,
        TextPair("a dog."),
    ]


def test_a_sentence_too_long_is_cut_at_words() -> None:
    long = "the cat sat on the mats and saw the red dog in a blue house"
    parts = list(fitting_parts(long, ENCODER))
    assert [text for text, _ in parts] == ["the cat sat on the mats and saw the", "red dog in a blue house"]
    assert [size for _, size in parts] == [10, 6]
    cut_inside_mats = TextEncoder(wordpiece_tokenizer(), "pair", 9)
    assert next(fitting_parts(long, cut_inside_mats)) == ("the cat sat on the", 5)


def test_one_endless_word_is_cut_anywhere_and_nothing_is_lost() -> None:
    encoder = TextEncoder(byte_tokenizer(), "joined", 7)
    parts = [text for text, _ in fitting_parts("x" * 30, encoder)]
    assert "".join(parts) == "x" * 30
    assert max(map(len, parts)) == 7


def test_every_segment_fits() -> None:
    sentences = [
        Sentence("the cats sat on the mats and saw a dog " * 3, 0),
        Sentence("ok.", 0),
        Sentence("", 0),
    ]
    for pair in pack(*sentences):
        assert not ENCODER.encode(pair).cut


def test_sentences_without_tokens_make_no_segment() -> None:
    assert pack(Sentence("", 0), Sentence(" ", 0)) == []


@pytest.mark.parametrize("count", [0, 1, TOGETHER - 1, TOGETHER, TOGETHER + 1, 3 * TOGETHER])
def test_sentences_asked_for_together_are_packed_the_same(count: int) -> None:
    items: list[Sentence | TextPair] = [
        TextPair("a cat", "a dog")
        if number % 7 == 3
        else Sentence("the cats sat. " * (number % 5), number // 9)
        for number in range(count)
    ]
    ahead = list(tokenized(items, ENCODER))
    assert ahead == items
    assert all(item.tokens is not None for item in ahead if isinstance(item, Sentence))
    assert list(segments(ahead, ENCODER)) == pack(*items)


@pytest.mark.parametrize("layout", ["pair", "joined", "source-target"])
@pytest.mark.parametrize("tokenizer", [wordpiece_tokenizer, byte_tokenizer])
def test_what_is_known_of_sentences_changes_nothing(tokenizer: Any, layout: Any) -> None:
    encoder = TextEncoder(tokenizer(), layout, 40, decoder_start=0, start=True)
    texts = ["the cats sat.", "", "a dog " * 30, "it saw.", "the mat was red."]
    items = [Sentence(text, number // 2) for number, text in enumerate(texts)]
    known = list(segments(tokenized(items, encoder), encoder))
    assert [pair.tokens is None for pair in known] != [True] * len(known)
    assert known == list(segments(items, encoder))
    assert encoder.encode_all(known) == [encoder.encode(replace(pair, tokens=None)) for pair in known]


def test_no_sentence_goes_through_the_tokenizer_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | tuple[str, str]] = []
    original = TextEncoder._tokenized

    def noting(self: TextEncoder, texts: Any, **options: Any) -> Any:
        asked.extend(texts)
        return original(self, texts, **options)

    encoder = TextEncoder(wordpiece_tokenizer(), "pair", 13)
    monkeypatch.setattr(TextEncoder, "_tokenized", noting)
    texts = ["the cat sat.", "a dog saw it."]
    found = segments(
        tokenized([Sentence(text, number) for number, text in enumerate(texts)], encoder), encoder
    )
    encoder.encode_all(list(found))
    assert asked == texts


def test_an_error_among_sentences_read_together_comes_after_those_before_it() -> None:
    def broken():
        yield Sentence("a cat.", 0)
        yield Sentence("a dog.", 0)
        raise OSError("gone")

    stream = tokenized(broken(), ENCODER)
    assert [next(stream).text, next(stream).text] == ["a cat.", "a dog."]  # type: ignore[union-attr]
    with pytest.raises(OSError, match="gone"):
        next(stream)
