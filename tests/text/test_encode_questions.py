from typing import Any

import pytest
from tests.helpers.tiny import byte_tokenizer, sentencepiece_tokenizer, wordpiece_tokenizer

from headscope.errors import OptionError
from headscope.text.encode_questions import QuestionEncoder, Window

PLAIN = "The red cat sat on the mat, and a dog saw it in the blue house of the cat."
UNICODE = "Caf\u0065\u0301 \U0001f469\u200d\U0001f467 na\u00efve \u0661\u0662 the\u00a0cat\u2003sat \x07 on \u00dcmat."
TOKENIZERS = {
    "wordpiece": wordpiece_tokenizer,
    "double-sep": lambda: wordpiece_tokenizer(double_sep=True),
    "byte": byte_tokenizer,
    "sentencepiece": lambda: sentencepiece_tokenizer(eos=True),
}


def encoder(kind: str, **options: Any) -> QuestionEncoder:
    return QuestionEncoder(TOKENIZERS[kind](), "pair", **{"max_length": 40, **options})


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("context", [PLAIN, UNICODE])
def test_tokens_stand_where_they_say(kind: str, context: str) -> None:
    """Together the tokens cover every visible character of the passage, and none of the question."""
    (window,) = encoder(kind, max_length=500).windows("who?", context)
    covered = set()
    for owner, (start, end) in zip(window.encoded.segment, window.characters, strict=True):
        if owner != 1:
            assert (start, end) == (0, 0)
        elif end > start:
            assert not context[start].isspace()
            assert not context[end - 1].isspace()
            covered.update(range(start, end))
    visible = {i for i, c in enumerate(context) if c.isalnum() and ord(c) < 128}
    assert visible <= covered
    start = context.index("cat")
    tokens = window.tokens((start, start + 3))
    assert tokens is not None
    first, last = tokens
    assert context[window.characters[first][0] : window.characters[last][1]] == "cat"


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("stride", [1, 5, 1000])
def test_windows_slide_over_the_whole_passage(kind: str, stride: int) -> None:
    one = encoder(kind, max_length=26, stride=stride)
    (whole,) = encoder(kind, max_length=500).windows("who?", PLAIN + " " + PLAIN)
    windows = one.windows("who?", PLAIN + " " + PLAIN)

    def passage(window: Window) -> list[tuple[int, tuple[int, int]]]:
        tokens = zip(window.encoded.ids, window.characters, strict=True)
        return [token for token, owner in zip(tokens, window.encoded.segment, strict=True) if owner == 1]

    expected = passage(whole)
    room = one.room - len(one.pieces("who?"))
    step = min(stride, room)
    assert len(windows) > 1
    for number, window in enumerate(windows):
        assert len(window) <= 26
        assert not window.encoded.cut
        assert passage(window) == expected[number * step : number * step + room]
    assert (len(windows) - 1) * step + len(passage(windows[-1])) == len(expected)


def test_without_a_stride_the_passage_is_cut() -> None:
    first = encoder("wordpiece", max_length=16, stride=5).windows("who?", PLAIN)[0]
    (window,) = encoder("wordpiece", max_length=16, stride=None).windows("who?", PLAIN)
    assert window.encoded.ids == first.encoded.ids
    assert window.encoded.cut
    (window,) = encoder("wordpiece", max_length=64, stride=None).windows("who?", PLAIN)
    assert not window.encoded.cut
    (window,) = encoder("wordpiece", max_length=16, stride=None).windows("who?", PLAIN * 200)
    assert window.encoded.ids == first.encoded.ids


def test_long_questions_are_cut() -> None:
    one = encoder("wordpiece", max_question=3)
    (window,) = one.windows("the cat sat on the mat", "it was red")
    assert window.encoded.segment.count(0) == 3
    # A question leaves at least half of the room to the passage.
    windows = encoder("wordpiece", max_length=13).windows(
        "the cat sat on the mat and it was red", "it was red"
    )
    assert [window.encoded.segment.count(0) for window in windows] == [5]


def test_words_roles_and_segments() -> None:
    (window,) = encoder("wordpiece").windows("cats, who?", "The cat.")
    tokens = ["[CLS]", "cat", "##s", ",", "w", "##h", "##o", "?", "[SEP]", "the", "cat", ".", "[SEP]"]
    assert encoder("wordpiece").tokenizer.convert_ids_to_tokens(window.encoded.ids) == tokens
    assert window.encoded.segment == [-1, 0, 0, 0, 0, 0, 0, 0, -1, 1, 1, 1, -1]
    assert window.encoded.word == [-1, 0, 0, 1, 2, 2, 2, 3, -1, 4, 5, 6, -1]
    assert window.encoded.word_type == [-1, 0, 0, -1, 1, 1, 1, -1, -1, 2, 3, -1, -1]
    assert window.encoded.role == [0, 4, 4, 3, 4, 4, 4, 4, 1, 4, 4, 2, 1]


def test_an_answer_is_found_only_where_it_is_whole() -> None:
    windows = encoder("wordpiece", max_length=13, stride=2).windows("who?", PLAIN)
    start = PLAIN.index("the mat")
    whole = []
    for window in windows:
        tokens = window.tokens((start, start + len("the mat")))
        present = [span for span in window.characters if span[1] > span[0]]
        whole.append(present[0][0] <= start and present[-1][1] >= start + len("the mat"))
        assert (tokens is not None) == whole[-1]
        if tokens is not None:
            assert PLAIN[window.characters[tokens[0]][0] : window.characters[tokens[1]][1]] == "the mat"
    assert any(whole)
    assert not all(whole)


@pytest.mark.parametrize("options", [{"max_length": 4}, {"stride": 0}, {"stride": -1}, {"max_question": 0}])
def test_options_that_cannot_work(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        encoder("wordpiece", **options)
