"""Sentences into segments."""

from typing import Any

import pytest
from tests.helpers.encoding import Encoder
from tests.helpers.tiny import byte_tokenizer, wordpiece_tokenizer

ENCODER = Encoder(wordpiece_tokenizer(), "pair", 13)  # room for ten tokens of text
TOGETHER = 64
"""How many sentences the tokenizer is given at once."""


def test_consecutive_sentences_fill_a_segment_split_near_its_middle() -> None:
    four = [("the cat sat.", 0), ("it saw.", 0), ("a dog.", 0), ("the mat was red.", 0)]
    assert ENCODER.segments(four) == [("the cat sat.", "it saw. a dog."), ("the mat was red.", None)]


def test_of_two_boundaries_as_near_to_the_middle_the_first_is_taken() -> None:
    three = [("a cat.", 0), ("it saw.", 0), ("a dog.", 0)]
    assert ENCODER.segments(three) == [("a cat.", "it saw. a dog.")]


def test_documents_are_not_mixed_and_the_last_one_counts() -> None:
    found = ENCODER.segments([("a cat.", 0), ("a dog.", 1), ("the mat.", 1)])
    assert found == [("a cat.", None), ("a dog.", "the mat.")]


def test_given_pairs_are_left_as_they_are_and_end_what_was_packed() -> None:
    given = ("the cat sat on the mat and saw the red dog", "a")
    found = ENCODER.segments([("a cat.", 0), given, ("a dog.", 0)])
    assert found == [("a cat.", None), given, ("a dog.", None)]


LONG = "the cat sat on the mats and saw the red dog in a blue house"


def test_a_sentence_too_long_is_cut_at_words() -> None:
    assert ENCODER.segments([(LONG, 0)]) == [
        ("the cat sat on the mats and saw the", None),  # ten tokens
        ("red dog in a blue house", None),
    ]
    cut_inside_mats = Encoder(wordpiece_tokenizer(), "pair", 9)
    assert cut_inside_mats.segments([(LONG, 0)])[0] == ("the cat sat on the", None)


def test_one_endless_word_is_cut_anywhere_and_nothing_is_lost() -> None:
    parts = [text for text, _ in Encoder(byte_tokenizer(), "joined", 7).segments([("x" * 30, 0)])]
    assert "".join(parts) == "x" * 30
    assert max(map(len, parts)) == 7


def test_every_segment_fits() -> None:
    sentences = [("the cats sat on the mats and saw a dog " * 3, 0), ("ok.", 0), ("", 0)]
    assert not any(each.is_cut for each in ENCODER.encode_segments(sentences))


def test_sentences_without_tokens_make_no_segment() -> None:
    assert ENCODER.segments([("", 0), (" ", 0)]) == []


@pytest.mark.parametrize("count", [0, 1, TOGETHER - 1, TOGETHER, TOGETHER + 1, 3 * TOGETHER])
def test_sentences_read_together_are_packed_the_same(count: int) -> None:
    items: list[Any] = [
        ("a cat", "a dog") if number % 7 == 3 else ("the cats sat. " * (number % 5), number // 9)
        for number in range(count)
    ]
    documents: list[list[Any]] = [[]]  # what cannot share a segment, each alone
    for before, item in zip([None, *items], items, strict=False):
        if before is None or before[1] != item[1] or isinstance(item[1], str):
            documents.append([])
        documents[-1].append(item)
    assert ENCODER.segments(items) == [
        segment for document in documents for segment in ENCODER.segments(document)
    ]


@pytest.mark.parametrize("layout", ["pair", "joined", "source-target"])
@pytest.mark.parametrize("tokenizer", [wordpiece_tokenizer, byte_tokenizer])
def test_segments_are_encoded_like_texts_that_were_given_so(tokenizer: Any, layout: Any) -> None:
    encoder = Encoder(tokenizer(), layout, 40, decoder_start=0, start=True)
    texts = ["the cats sat.", "", "a dog " * 30, "it saw.", "the mat was red."]
    items = [(text, number // 2) for number, text in enumerate(texts)]
    packed = encoder.segments(items)
    assert len(packed) > 3
    assert encoder.encode_segments(items) == [encoder.encode(*pair) for pair in packed]


class Noting:
    """A tokenizer that notes what it is given."""

    def __init__(self) -> None:
        self.inner, self.given = wordpiece_tokenizer(), list[object]()

    def __call__(self, *texts: Any, **options: Any) -> object:
        self.given += [*texts[0]] if isinstance(texts[0], list) else texts
        return self.inner(*texts, **options)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


def test_no_sentence_goes_through_the_tokenizer_twice() -> None:
    tokenizer = Noting()
    encoder = Encoder(tokenizer, "pair", 13)
    texts = ["the cat sat.", "a dog saw it."]
    encoder.encode_segments([(text, number) for number, text in enumerate(texts)])
    assert [text for text in tokenizer.given if text in texts] == texts


def test_an_error_among_sentences_read_together_comes_after_those_before_it() -> None:
    def broken() -> Any:
        yield ("a cat.", 0)
        yield ("a dog.", 1)
        raise OSError("gone")

    stream = ENCODER.stream_segments(broken())
    assert next(stream) == ("a cat.", None)
    with pytest.raises(OSError, match="gone"):
        next(stream)
