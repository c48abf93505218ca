"""Words as they are shown: special tokens in their place, pieces put together."""

from typing import Any

import pytest
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.atlas import Typical

OPTIONS: dict[str, Any] = {"measures": ["entropy"], "weigh": "looked"}


def quoted(model: hs.Model, *texts: str, max_length: int = 48, stack: str | None = None) -> Typical:
    """The text or pair as an atlas of it alone quotes it."""
    pair = (texts[0], texts[1] if len(texts) > 1 else None)
    atlas = hs.analyze(model, [pair], max_length=max_length, **OPTIONS)
    (found,) = atlas.typical("0.0", stack=stack)
    assert found.is_whole
    assert len(found.words) == len(found.weights) == len(found.looks_at)
    return found


def test_pieces_make_words_and_special_tokens_stand_alone() -> None:
    found = quoted(hs.load("demo"), "Fertilisation isn't easy: 1,000 eggs…", "Naïve <b>?")
    assert found.words == (
        "[CLS]", "Fertilisation", "isn", "'", "t", "easy", ":", "1", ",", "000", "eggs", "…", "[SEP]",
        "Naïve", "<", "b", ">", "?", "[SEP]",
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*their ends were cut")
def test_a_text_that_is_cut_ends_where_the_model_stops_reading() -> None:
    found = quoted(tiny("bert"), "the cat sat on the mat and saw the dog", "it was red", max_length=12)
    assert found.words[0] == "[CLS]"
    assert found.words.count("[SEP]") == 2
    assert found.words[-4:] == ("it", "was", "red", "[SEP]")
    assert len(found.words) == 12


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_decoders_read_both_texts_as_one(architecture: str) -> None:
    words = [
        word
        for word in quoted(tiny(architecture), "The cat sat.", "A dog!").words
        if word.strip() and not word.startswith("<")  # a tiny vocabulary has spaces of their own
    ]
    assert words == ["The", "cat", "sat", ".", "A", "dog", "!"]


def test_what_is_written_begins_with_its_start() -> None:
    """Of cross attention, the words that are written look at those that are read."""
    found = quoted(tiny("t5"), "the cat sat", "a dog saw it", stack="cross")
    assert found.keys is not None
    assert found.keys[:3] == ("the", "cat", "sat")
    assert found.words[1:] == ("a", "dog", "saw", "it")
    alone = quoted(tiny("t5"), "the cat sat", stack="cross")
    assert alone.words[1:] == ("the", "cat", "sat")


@pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")
@pytest.mark.parametrize(
    "text", ["שלום עולם", "猫は座った。", "👩‍👧 🇫🇷", "a\u0301b \u200b", "\t\n x", "w" * 3000]
)
@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5"])
def test_any_text_has_words(architecture: str, text: str) -> None:
    assert all(quoted(tiny(architecture), text).words)
