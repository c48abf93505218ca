"""Words as they are shown: special tokens in their place, pieces put together."""

import pytest
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.capture import survey
from headscope.models import Model
from headscope.run.typical import ShownWords, source_words, target_words
from headscope.run.watch import Watch
from headscope.text.items import TextPair


def source(model: Model, *texts: str, max_length: int = 48) -> ShownWords:
    encoder = Watch(survey(model)).encoder(max_length)
    pair = TextPair(texts[0], texts[1] if len(texts) > 1 else None)
    return source_words(encoder, encoder.encode(pair).source, pair)


def test_pieces_make_words_and_special_tokens_stand_alone() -> None:
    found = source(hs.load("demo"), "Fertilisation isn't easy: 1,000 eggs…", "Naïve <b>?")
    assert found.words == (
        "[CLS]", "Fertilisation", "isn", "'", "t", "easy", ":", "1", ",", "000", "eggs", "…", "[SEP]",
        "Naïve", "<", "b", ">", "?", "[SEP]",
    )  # fmt: skip
    assert found.word[:3] == (0, 1, 1)
    assert list(found.word) == sorted(found.word)
    assert set(found.word) == set(range(len(found.words)))


def test_a_text_that_is_cut_ends_where_the_model_stops_reading() -> None:
    found = source(tiny("bert"), "the cat sat on the mat and saw the dog", "it was red", max_length=12)
    assert found.words[0] == "[CLS]"
    assert found.words.count("[SEP]") == 2
    assert found.words[-4:] == ("it", "was", "red", "[SEP]")
    assert len(found.word) == 12


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_decoders_read_both_texts_as_one(architecture: str) -> None:
    words = [
        word
        for word in source(tiny(architecture), "The cat sat.", "A dog!").words
        if word.strip() and not word.startswith("<")  # a tiny vocabulary has spaces of their own
    ]
    assert words == ["The", "cat", "sat", ".", "A", "dog", "!"]


def test_what_is_written_begins_with_its_start() -> None:
    model = tiny("t5")
    encoder = Watch(survey(model)).encoder(48)
    pair = TextPair("the cat sat", "a dog saw it")
    encoded = encoder.encode(pair)
    assert source_words(encoder, encoded.source, pair).words[:3] == ("the", "cat", "sat")
    assert encoded.target is not None
    written = target_words(encoder, encoded.target, pair)
    assert written.words[1:] == ("a", "dog", "saw", "it")
    assert len(written.word) == len(encoded.target)
    alone = TextPair("the cat sat")
    again = encoder.encode(alone).target
    assert again is not None
    assert target_words(encoder, again, alone).words[1:] == ("the", "cat", "sat")


@pytest.mark.parametrize(
    "text", ["שלום עולם", "猫は座った。", "👩‍👧 🇫🇷", "a\u0301b \u200b", "\t\n x", "w" * 3000]
)
@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5"])
def test_any_text_has_a_word_for_every_token(architecture: str, text: str) -> None:
    model = tiny(architecture)
    encoder = Watch(survey(model)).encoder(48)
    pair = TextPair(text)
    encoded = encoder.encode(pair).source
    found = source_words(encoder, encoded, pair)
    assert len(found.word) == len(encoded)
    assert set(found.word) == set(range(len(found.words)))
    assert all(found.words)
