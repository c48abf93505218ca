"""What is known about each token, for every layout."""

import pytest
from tests.helpers.tiny import byte_tokenizer, sentencepiece_tokenizer, wordpiece_tokenizer

from headscope.errors import OptionError
from headscope.text.encode import EncodedText, TextEncoder
from headscope.text.items import TextPair
from headscope.text.words import WordText
from headscope.types import ROLES, Layout

PAIR = TextPair("The cats sat, ok.", "The cat saw it.")


def tokens(tokenizer: object, text: EncodedText) -> list[str]:
    return tokenizer.convert_ids_to_tokens(text.ids)  # type: ignore[attr-defined]


def roles(text: EncodedText) -> list[str]:
    return [ROLES[role] for role in text.role]


def test_pair_of_an_encoder() -> None:
    tokenizer = wordpiece_tokenizer()
    text = TextEncoder(tokenizer, "pair", 32).encode(PAIR).source
    assert tokens(tokenizer, text) == (
        [
            "[CLS]",
            "the",
            "cat",
            "##s",
            "sat",
            ",",
            "o",
            "##k",
            ".",
            "[SEP]",
            "the",
            "cat",
            "saw",
            "it",
            ".",
            "[SEP]",
        ]
    )
    assert roles(text) == (
        ["cls", *["other"] * 4, "comma", "other", "other", "period", "sep", *["other"] * 4, "period", "sep"]
    )
    assert text.segment == [-1, *[0] * 8, -1, *[1] * 5, -1]
    assert text.word == [-1, 0, 1, 1, 2, 3, 4, 4, 5, -1, 6, 7, 8, 9, 10, -1]
    the, cats, sat, ok, cat, saw, it = range(7)
    assert text.word_type == [-1, the, cats, cats, sat, -1, ok, ok, -1, -1, the, cat, saw, it, -1, -1]
    assert not text.cut


def test_roberta_style_pairs_have_two_separators_in_the_middle() -> None:
    tokenizer = wordpiece_tokenizer(cls="<s>", sep="</s>", double_sep=True)
    text = TextEncoder(tokenizer, "pair", 32).encode(TextPair("a cat", "a dog")).source
    assert roles(text) == ["cls", "other", "other", "sep", "sep", "other", "other", "sep"]
    assert text.segment == [-1, 0, 0, -1, -1, 1, 1, -1]


def test_joined_text_of_a_decoder_without_special_tokens() -> None:
    tokenizer = byte_tokenizer()
    text = TextEncoder(tokenizer, "joined", 32).encode(TextPair("a, b.", "a")).source
    assert tokens(tokenizer, text) == ["a", ",", "Ġ", "b", ".", "Ġ", "a"]
    assert roles(text) == ["cls", "comma", "other", "other", "period", "other", "other"]
    assert text.segment == [0, 0, 0, 0, 0, 1, 1]
    assert text.word == [0, 1, -1, 2, 3, -1, 4]
    assert text.word_type == [0, -1, -1, 1, -1, -1, 0]


def test_llama_style_tokenizers_that_know_no_words_still_give_words() -> None:
    tokenizer = sentencepiece_tokenizer(bos=True)
    text = TextEncoder(tokenizer, "joined", 32).encode(TextPair("the cat sat.")).source
    assert tokens(tokenizer, text) == ["<s>", "▁the", "▁cat", "▁sat", "."]
    assert text.word == [-1, 0, 1, 2, 3]
    assert roles(text) == ["cls", "other", "other", "other", "period"]


def test_source_and_target_of_an_encoder_decoder() -> None:
    tokenizer = sentencepiece_tokenizer(eos=True)
    encoded = TextEncoder(tokenizer, "source-target", 32, decoder_start=0).encode(
        TextPair("the cat.", "a dog")
    )
    assert tokens(tokenizer, encoded.source) == ["▁the", "▁cat", ".", "</s>"]
    assert roles(encoded.source) == ["cls", "other", "period", "sep"]
    assert encoded.target is not None
    assert tokens(tokenizer, encoded.target) == ["<pad>", "▁a", "▁dog"]
    assert roles(encoded.target) == ["cls", "other", "other"]
    assert encoded.target.word == [-1, 0, 1]


def test_longest_text_is_cut_first() -> None:
    tokenizer = wordpiece_tokenizer()
    text = TextEncoder(tokenizer, "pair", 9).encode(TextPair("the cat sat on the mat", "a dog")).source
    assert tokens(tokenizer, text) == ["[CLS]", "the", "cat", "sat", "on", "[SEP]", "a", "dog", "[SEP]"]
    assert text.cut


def test_an_endless_pair_is_encoded_like_its_beginning() -> None:
    """Shortening before the tokenizer cuts must change nothing (and keep a 10 MB line from taking forever)."""
    encoder = TextEncoder(wordpiece_tokenizer(), "pair", 16)
    for first, second in (("the cat ", "a dog "), ("cats", "it "), ("it ", "mats")):
        long = encoder.encode(TextPair(first * 3000, second * 3000)).source
        short = encoder.encode(TextPair(first * 40, second * 40)).source
        assert (long.ids, long.role, long.segment, long.cut) == (short.ids, short.role, short.segment, True)


def test_no_room_for_words_is_an_error() -> None:
    with pytest.raises(OptionError, match="give at least 4"):
        TextEncoder(wordpiece_tokenizer(), "pair", 3)


def test_punctuation_of_other_scripts() -> None:
    text = TextEncoder(byte_tokenizer(), "joined", 32).encode(TextPair("。،")).source
    assert set(roles(text)[3:]) == {
        "comma"
    }  # three bytes of 。 (the first token is the first token), two of ،
    assert roles(text)[1] == "period"


# Texts whose words are given


def test_given_words_need_not_be_the_words_we_would_find() -> None:
    tokenizer = wordpiece_tokenizer()
    content = WordText.of(["It", "do", "n't", "New York", "-.-"], space_after=[True, False, True, True, True])
    encoded = TextEncoder(tokenizer, "pair", 64).encode_words(content)
    pieces = " ".join(tokens(tokenizer, encoded.source))
    assert pieces == "[CLS] it d ##o ##n ' t n ##e ##w y ##o ##r ##k - . - [SEP]"
    assert encoded.source.word == [-1, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, -1]
    assert encoded.source.word_type == [-1, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, -1, -1, -1, -1]
    assert encoded.source.segment == [-1, *[0] * 16, -1]
    assert encoded.target is None
    assert not encoded.cut


def test_given_words_of_a_decoder() -> None:
    tokenizer = byte_tokenizer()
    encoded = TextEncoder(tokenizer, "joined", 64).encode_words(WordText.of(["ab", "c", "", "d"]))
    assert tokens(tokenizer, encoded.source) == ["a", "b", "Ġ", "c", "Ġ", "Ġ", "d"]
    assert encoded.source.word == [0, 0, -1, 1, -1, -1, 3]
    assert encoded.source.segment == [0] * 7


def test_an_encoder_decoder_reads_and_writes_the_given_words() -> None:
    tokenizer = sentencepiece_tokenizer(eos=True)
    encoder = TextEncoder(tokenizer, "source-target", 64, decoder_start=0)
    encoded = encoder.encode_words(WordText.of(["the", "cats", "."], space_after=[True, False, True]))
    assert encoded.target is not None
    assert tokens(tokenizer, encoded.source) == ["▁the", "▁cat", "s", ".", "</s>"]
    assert tokens(tokenizer, encoded.target) == ["<pad>", "▁the", "▁cat", "s", "."]
    assert encoded.source.word == [0, 1, 1, 2, -1]
    assert encoded.target.word == [-1, 0, 1, 1, 2]


def test_a_piece_over_two_words_is_of_the_first() -> None:
    tokenizer = wordpiece_tokenizer()
    content = WordText.of(["ca", "t", "it"], space_after=[False, True, True])
    encoded = TextEncoder(tokenizer, "pair", 64).encode_words(content).source
    assert tokens(tokenizer, encoded) == ["[CLS]", "cat", "it", "[SEP]"]
    assert encoded.word == [-1, 0, 2, -1]


def words_kept(encoder: TextEncoder, words: list[str]) -> tuple[list[int], bool]:
    encoded = encoder.encode_words(WordText.of(words))
    return encoded.source.word, encoded.cut


def test_a_long_text_is_cut_after_a_whole_word() -> None:
    encoder = TextEncoder(wordpiece_tokenizer(), "pair", 6)  # room for four pieces
    assert words_kept(encoder, ["the", "cats", "sat"]) == ([-1, 0, 1, 1, 2, -1], False)
    assert words_kept(encoder, ["the", "cats", "sat", "on"]) == ([-1, 0, 1, 1, 2, -1], True)
    assert words_kept(encoder, ["the", "cats", "mats", "on"]) == ([-1, 0, 1, 1, -1], True)
    assert words_kept(encoder, ["the", "cats", "xyz", "on"]) == ([-1, 0, 1, 1, -1], True)
    assert words_kept(encoder, ["the", "x" * 50, "on"]) == ([-1, 0, -1], True)
    assert words_kept(encoder, ["the", "", "", "x" * 50]) == ([-1, 0, -1], True)
    assert words_kept(encoder, ["x" * 50, "on"]) == ([-1, -1], True)


def test_a_cut_text_is_the_text_of_its_first_words() -> None:
    encoder = TextEncoder(byte_tokenizer(), "joined", 10)
    for words in (
        ["abc", "def", "gh", "i"],
        ["abc", "def", "ghi", "j"],
        ["abcdefghi", "j"],
        ["abcdefghij", "k"],
    ):
        long = encoder.encode_words(WordText.of([*words, "more"] * 3)).source
        kept = max(long.word) + 1
        short = encoder.encode_words(WordText.of(words[:kept])).source
        assert (long.ids, long.word, long.cut) == (short.ids, short.word, True)
        assert len(" ".join(words[: kept + 1])) > 10  # one word more would not fit


def test_an_endless_text_is_cut_like_a_long_one() -> None:
    encoder = TextEncoder(wordpiece_tokenizer(), "pair", 16)
    long = encoder.encode_words(WordText.of(["the", "cats"] * 3000)).source
    assert long == encoder.encode_words(WordText.of(["the", "cats"] * 30)).source
    assert long.cut
    assert long.word == [-1, 0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, -1]


def test_a_text_of_nothing_is_one_token_that_is_no_word() -> None:
    """A model must be given something, and byte-level tokenizers give nothing for nothing."""
    encoder = TextEncoder(byte_tokenizer(), "joined", 10)
    for content in (WordText.of([]), WordText.of([""])):
        encoded = encoder.encode_words(content)
        assert (len(encoded), encoded.source.word, encoded.cut) == (1, [-1], False)
    encoded = encoder.encode_words(WordText.of(["x" * 11]))
    assert (len(encoded), encoded.source.word, encoded.cut) == (1, [-1], True)


@pytest.mark.parametrize("layout", ["pair", "joined", "source-target"])
def test_many_inputs_are_encoded_as_each_alone_is_by_one_call(layout: Layout) -> None:
    class Counting:
        """A tokenizer that counts how often it is asked."""

        def __init__(self) -> None:
            self.inner, self.calls = wordpiece_tokenizer(), 0

        def __call__(self, *texts: object, **options: object) -> object:
            self.calls += 1
            return self.inner(*texts, **options)

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    long = "the cats sat on the mats and saw a dog. " * 12
    pairs = [PAIR, TextPair("a cat"), TextPair(long, "it"), TextPair("a", long), TextPair("it", "")]
    tokenizer = Counting()
    encoder = TextEncoder(tokenizer, layout, 24, decoder_start=1)
    single = [encoder.encode(pair) for pair in pairs]
    tokenizer.calls = 0
    assert encoder.encode_all(pairs) == single
    shortened = sum(len(text) > 8 * 24 for pair in pairs for text in (pair.first, pair.second or ""))
    assert tokenizer.calls - shortened <= (2 if layout == "source-target" else 1)
