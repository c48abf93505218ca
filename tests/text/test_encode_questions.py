from typing import Any

import pytest
from tests.helpers.encoding import Questions, Window
from tests.helpers.tiny import byte_tokenizer, sentencepiece_tokenizer, wordpiece_tokenizer

from headscope.errors import OptionError

PLAIN = "The red cat sat on the mat, and a dog saw it in the blue house of the cat."
UNICODE = "Caf\u0065\u0301 \U0001f469\u200d\U0001f467 na\u00efve \u0661\u0662 the\u00a0cat\u2003sat \x07 on \u00dcmat."
TOKENIZERS = {
    "wordpiece": wordpiece_tokenizer,
    "double-sep": lambda: wordpiece_tokenizer(double_sep=True),
    "byte": byte_tokenizer,
    "sentencepiece": lambda: sentencepiece_tokenizer(eos=True),
}
every_tokenizer = pytest.mark.parametrize("tokenizer", TOKENIZERS)


def encoder(tokenizer: str = "wordpiece", **options: Any) -> Questions:
    return Questions(TOKENIZERS[tokenizer](), **options)


@every_tokenizer
@pytest.mark.parametrize("passage", [PLAIN, UNICODE])
def test_tokens_stand_where_they_say(tokenizer: str, passage: str) -> None:
    """Together the tokens cover every visible character of the passage, and none of the question."""
    (window,) = encoder(tokenizer, max_length=500).windows("who?", passage)
    covered = set()
    for segment, (start, end) in zip(window.tokens.segment, window.characters, strict=True):
        if segment != 1:
            assert (start, end) == (0, 0)
        elif end > start:
            assert not passage[start].isspace()
            assert not passage[end - 1].isspace()
            covered.update(range(start, end))
    visible = {i for i, c in enumerate(passage) if c.isalnum() and ord(c) < 128}
    assert visible <= covered
    start = passage.index("cat")
    tokens = window.tokens_of((start, start + 3))
    assert tokens is not None
    first, last = tokens
    assert passage[window.characters[first][0] : window.characters[last][1]] == "cat"


def of_passage(window: Window) -> list[tuple[int, tuple[int, int]]]:
    """Each of the passage's tokens, and the characters it stands for."""
    tokens = zip(window.tokens.ids, window.characters, window.tokens.segment, strict=True)
    return [(token, characters) for token, characters, segment in tokens if segment == 1]


@every_tokenizer
@pytest.mark.parametrize("stride", [1, 5, 1000])
def test_windows_slide_over_the_whole_passage(tokenizer: str, stride: int) -> None:
    passage = PLAIN + " " + PLAIN
    (whole,) = encoder(tokenizer, max_length=500).windows("who?", passage)
    windows = encoder(tokenizer, max_length=26, stride=stride).windows("who?", passage)
    expected = of_passage(whole)
    room = 26 - (len(whole) - len(expected))  # what the question and the special tokens leave
    step = min(stride, room)
    assert len(windows) > 1
    for number, window in enumerate(windows):
        assert len(window) <= 26
        assert not window.tokens.is_cut
        assert of_passage(window) == expected[number * step : number * step + room]
    assert (len(windows) - 1) * step + len(of_passage(windows[-1])) == len(expected)


def test_without_a_stride_the_passage_is_cut() -> None:
    first = encoder(max_length=16, stride=5).windows("who?", PLAIN)[0]
    for passage in (PLAIN, PLAIN * 200):
        (window,) = encoder(max_length=16, stride=None).windows("who?", passage)
        assert window.tokens.ids == first.tokens.ids
        assert window.tokens.is_cut
    (window,) = encoder(max_length=64, stride=None).windows("who?", PLAIN)
    assert not window.tokens.is_cut


def test_long_questions_are_cut() -> None:
    (window,) = encoder(max_question=3).windows("the cat sat on the mat", "it was red")
    assert window.tokens.segment.count(0) == 3
    # A question leaves at least half of the room to the passage.
    windows = encoder(max_length=13).windows("the cat sat on the mat and it was red", "it was red")
    assert [window.tokens.segment.count(0) for window in windows] == [5]


def test_words_classes_and_segments() -> None:
    (window,) = encoder().windows("cats, who?", "The cat.")
    tokens = window.tokens
    assert " ".join(tokens.text) == "[CLS] cat ##s , w ##h ##o ? [SEP] the cat . [SEP]"
    assert tokens.segment == [-1, 0, 0, 0, 0, 0, 0, 0, -1, 1, 1, 1, -1]
    assert tokens.word == [-1, 0, 0, 1, 2, 2, 2, 3, -1, 4, 5, 6, -1]
    assert tokens.word_type == [-1, 0, 0, -1, 1, 1, 1, -1, -1, 2, 3, -1, -1]
    other = "other"
    assert tokens.token_class == [
        "cls",
        other,
        other,
        "comma",
        *[other] * 4,
        "sep",
        other,
        other,
        "period",
        "sep",
    ]


def test_an_answer_is_found_only_where_it_is_whole() -> None:
    windows = encoder(max_length=13, stride=2).windows("who?", PLAIN)
    start = PLAIN.index("the mat")
    end = start + len("the mat")
    whole = []
    for window in windows:
        tokens = window.tokens_of((start, end))
        present = [span for span in window.characters if span[1] > span[0]]
        whole.append(present[0][0] <= start and present[-1][1] >= end)
        assert (tokens is not None) == whole[-1]
        if tokens is not None:
            assert PLAIN[window.characters[tokens[0]][0] : window.characters[tokens[1]][1]] == "the mat"
    assert any(whole)
    assert not all(whole)


@pytest.mark.parametrize("options", [{"max_length": 4}, {"stride": 0}, {"stride": -1}, {"max_question": 0}])
def test_options_that_cannot_work(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        encoder(**options)
