"""What is known about each token, for every layout."""

from typing import Any

import pytest
from tests.helpers.encoding import Encoder
from tests.helpers.tiny import byte_tokenizer, sentencepiece_tokenizer, wordpiece_tokenizer

from headscope.errors import OptionError


def test_pair_of_an_encoder() -> None:
    tokens = Encoder(wordpiece_tokenizer()).encode("The cats sat, ok.", "The cat saw it.").source
    assert " ".join(tokens.text) == "[CLS] the cat ##s sat , o ##k . [SEP] the cat saw it . [SEP]"
    assert tokens.token_class == (
        ["cls", *["other"] * 4, "comma", "other", "other", "period", "sep", *["other"] * 4, "period", "sep"]
    )
    assert tokens.segment == [-1, *[0] * 8, -1, *[1] * 5, -1]
    assert tokens.word == [-1, 0, 1, 1, 2, 3, 4, 4, 5, -1, 6, 7, 8, 9, 10, -1]
    the, cats, sat, ok, cat, saw, it = range(7)
    assert tokens.word_type == [-1, the, cats, cats, sat, -1, ok, ok, -1, -1, the, cat, saw, it, -1, -1]
    assert not tokens.is_cut


def test_roberta_style_pairs_have_two_separators_in_the_middle() -> None:
    tokenizer = wordpiece_tokenizer(cls="<s>", sep="</s>", double_sep=True)
    tokens = Encoder(tokenizer).encode("a cat", "a dog").source
    assert tokens.token_class == ["cls", "other", "other", "sep", "sep", "other", "other", "sep"]
    assert tokens.segment == [-1, 0, 0, -1, -1, 1, 1, -1]


def test_joined_text_of_a_decoder_without_special_tokens() -> None:
    tokens = Encoder(byte_tokenizer(), "joined").encode("a, b.", "a").source
    assert tokens.text == ["a", ",", "Ġ", "b", ".", "Ġ", "a"]
    assert tokens.token_class == ["cls", "comma", "other", "other", "period", "other", "other"]
    assert tokens.segment == [0, 0, 0, 0, 0, 1, 1]
    assert tokens.word == [0, 1, -1, 2, 3, -1, 4]
    assert tokens.word_type == [0, -1, -1, 1, -1, -1, 0]


def test_the_same_word_in_another_case_is_the_same_word() -> None:
    tokens = Encoder(byte_tokenizer(), "joined").encode("Cat dog cAT").source
    cat, dog = 0, 1
    assert [kind for kind in tokens.word_type if kind >= 0] == [cat] * 3 + [dog] * 3 + [cat] * 3


def test_llama_style_tokenizers_that_know_no_words_still_give_words() -> None:
    tokens = Encoder(sentencepiece_tokenizer(bos=True), "joined").encode("the cat sat.").source
    assert tokens.text == ["<s>", "▁the", "▁cat", "▁sat", "."]
    assert tokens.word == [-1, 0, 1, 2, 3]
    assert tokens.token_class == ["cls", "other", "other", "other", "period"]


def test_source_and_target_of_an_encoder_decoder() -> None:
    encoder = Encoder(sentencepiece_tokenizer(eos=True), "source-target", decoder_start=0)
    encoded = encoder.encode("the cat.", "a dog")
    assert encoded.source.text == ["▁the", "▁cat", ".", "</s>"]
    assert encoded.source.token_class == ["cls", "other", "period", "sep"]
    assert encoded.target is not None
    assert encoded.target.text == ["<pad>", "▁a", "▁dog"]
    assert encoded.target.token_class == ["cls", "other", "other"]
    assert encoded.target.word == [-1, 0, 1]


def test_longest_text_is_cut_first() -> None:
    tokens = Encoder(wordpiece_tokenizer(), "pair", 9).encode("the cat sat on the mat", "a dog").source
    assert tokens.text == ["[CLS]", "the", "cat", "sat", "on", "[SEP]", "a", "dog", "[SEP]"]
    assert tokens.is_cut


def test_an_endless_pair_is_encoded_like_its_beginning() -> None:
    """Shortening before the tokenizer cuts must change nothing (and keep a 10 MB line from taking forever)."""
    encoder = Encoder(wordpiece_tokenizer(), "pair", 16)
    for first, second in (("the cat ", "a dog "), ("cats", "it "), ("it ", "mats")):
        long = encoder.encode(first * 3000, second * 3000).source
        short = encoder.encode(first * 40, second * 40).source
        columns = (long.ids, long.token_class, long.segment, long.is_cut)
        assert columns == (short.ids, short.token_class, short.segment, True)


def test_no_room_for_words_is_an_error() -> None:
    with pytest.raises(OptionError, match=r"max_length 3 .* 4"):
        Encoder(wordpiece_tokenizer(), "pair", 3)


def test_punctuation_of_other_scripts() -> None:
    classes = Encoder(byte_tokenizer(), "joined").encode("。،").source.token_class
    assert classes == ["cls", "period", "period", "comma", "comma"]  # three bytes, and two


# Texts whose words are given


def test_given_words_need_not_be_the_words_we_would_find() -> None:
    encoded = Encoder(wordpiece_tokenizer(), "pair", 64).encode_words(
        ["It", "do", "n't", "New York", "-.-"], space_after=[True, False, True, True, True]
    )
    tokens = encoded.source
    assert " ".join(tokens.text) == "[CLS] it d ##o ##n ' t n ##e ##w y ##o ##r ##k - . - [SEP]"
    assert tokens.word == [-1, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, -1]
    assert tokens.word_type == [-1, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, -1, -1, -1, -1]
    assert tokens.segment == [-1, *[0] * 16, -1]
    assert encoded.target is None
    assert not encoded.is_cut


def test_given_words_of_a_decoder() -> None:
    tokens = Encoder(byte_tokenizer(), "joined").encode_words(["ab", "c", "", "d"]).source
    assert tokens.text == ["a", "b", "Ġ", "c", "Ġ", "Ġ", "d"]
    assert tokens.word == [0, 0, -1, 1, -1, -1, 3]
    assert tokens.segment == [0] * 7


def test_an_encoder_decoder_reads_and_writes_the_given_words() -> None:
    encoder = Encoder(sentencepiece_tokenizer(eos=True), "source-target", decoder_start=0)
    encoded = encoder.encode_words(["the", "cats", "."], space_after=[True, False, True])
    assert encoded.target is not None
    assert encoded.source.text == ["▁the", "▁cat", "s", ".", "</s>"]
    assert encoded.target.text == ["<pad>", "▁the", "▁cat", "s", "."]
    assert encoded.source.word == [0, 1, 1, 2, -1]
    assert encoded.target.word == [-1, 0, 1, 1, 2]


def test_a_piece_over_two_words_is_of_the_first() -> None:
    words = ["ca", "t", "it"]
    tokens = Encoder(wordpiece_tokenizer()).encode_words(words, space_after=[False, True, True]).source
    assert tokens.text == ["[CLS]", "cat", "it", "[SEP]"]
    assert tokens.word == [-1, 0, 2, -1]


@pytest.mark.parametrize(
    ("words", "kept", "is_cut"),
    [
        (["the", "cats", "sat"], [-1, 0, 1, 1, 2, -1], False),
        (["the", "cats", "sat", "on"], [-1, 0, 1, 1, 2, -1], True),
        (["the", "cats", "mats", "on"], [-1, 0, 1, 1, -1], True),
        (["the", "cats", "xyz", "on"], [-1, 0, 1, 1, -1], True),
        (["the", "x" * 50, "on"], [-1, 0, -1], True),
        (["the", "", "", "x" * 50], [-1, 0, -1], True),
        (["x" * 50, "on"], [-1, -1], True),
    ],
)
def test_a_long_text_is_cut_after_a_whole_word(words: list[str], kept: list[int], is_cut: bool) -> None:
    encoded = Encoder(wordpiece_tokenizer(), "pair", 6).encode_words(words)  # room for four pieces
    assert (encoded.source.word, encoded.is_cut) == (kept, is_cut)


@pytest.mark.parametrize(
    "words",
    [["abc", "def", "gh", "i"], ["abc", "def", "ghi", "j"], ["abcdefghi", "j"], ["abcdefghij", "k"]],
    ids=" ".join,
)
def test_a_cut_text_is_the_text_of_its_first_words(words: list[str]) -> None:
    encoder = Encoder(byte_tokenizer(), "joined", 10)
    long = encoder.encode_words([*words, "more"] * 3).source
    kept = max(long.word) + 1
    short = encoder.encode_words(words[:kept]).source
    assert (long.ids, long.word, long.is_cut) == (short.ids, short.word, True)
    assert len(" ".join(words[: kept + 1])) > 10  # one word more would not fit


def test_an_endless_text_is_cut_like_a_long_one() -> None:
    encoder = Encoder(wordpiece_tokenizer(), "pair", 16)
    long = encoder.encode_words(["the", "cats"] * 3000).source
    assert long == encoder.encode_words(["the", "cats"] * 30).source
    assert long.is_cut
    assert long.word == [-1, 0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, -1]


@pytest.mark.parametrize(("words", "is_cut"), [([], False), ([""], False), (["x" * 11], True)])
def test_a_text_of_nothing_is_one_token_that_is_no_word(words: list[str], is_cut: bool) -> None:
    """A model must be given something, and byte-level tokenizers give nothing for nothing."""
    tokens = Encoder(byte_tokenizer(), "joined", 10).encode_words(words).source
    assert (len(tokens), tokens.word, tokens.is_cut) == (1, [-1], is_cut)


class Counting:
    """A tokenizer that counts how often it is called."""

    def __init__(self) -> None:
        self.inner, self.calls = wordpiece_tokenizer(), 0

    def __call__(self, *texts: object, **options: object) -> object:
        self.calls += 1
        return self.inner(*texts, **options)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


@pytest.mark.parametrize("layout", ["pair", "joined", "source-target"])
def test_many_inputs_are_encoded_as_each_alone_is_by_one_call(layout: Any) -> None:
    long = "the cats sat on the mats and saw a dog. " * 12
    pairs = [("The cats sat, ok.", "It."), ("a cat", None), (long, "it"), ("a", long), ("it", "")]
    tokenizer = Counting()
    encoder = Encoder(tokenizer, layout, 24, decoder_start=1)
    single = [encoder.encode(*pair) for pair in pairs]
    tokenizer.calls = 0
    assert encoder.encode_all(pairs) == single
    shortened = sum(len(text) > 8 * 24 for pair in pairs for text in (pair[0], pair[1] or ""))
    assert tokenizer.calls - shortened <= (2 if layout == "source-target" else 1)
