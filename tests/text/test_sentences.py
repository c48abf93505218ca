import itertools
import random

import pytest

from headscope.errors import OptionError
from headscope.text.sentences import clean, split_sentences, stream_sentences


def pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@pytest.mark.parametrize(
    "expected",
    [
        ["The cat sat.", "It slept!", "Did it?", "Well…", "Yes."],
        ["He said “Go.”", "She went.", "(They left.)", '"Why?"', "[No.]", "‘Oh.’", "End"],
        ["«Non.»", "“Stop!” he said.", "“Stop!”", "He left."],
        ["Mr. Smith, Mrs. Smith and Dr. Jones met Prof. Lee.", "They spoke."],
        ["We like fruit, e.g. Apples, i.e. Food.", "Rome vs. Carthage.", "See St. Paul."],
        ["See No. 5 and Fig. 2, pp. 3 to 9.", "No.", "That is art.", "The end."],
        ["Apples, pears etc. are fruit, pears etc.", "They are sold."],
        ["The U.S. Senate met.", "He lives in the U.S.", "The town is small."],
        ["At 5 p.m. Monday.", "It was 5 a.m.", "He slept."],
        ["Apple Inc. Chairman Bob.", "He runs Apple Inc.", "The firm is big."],
        ["J. R. R. Tolkien and A. A. Milne wrote.", "So do I.", "Then he left."],
        ["It costs 3.14 or $2.50.", "See example.org for v1.2.3.", "In 1999.", "In 2000."],
        ["1. Introduction here.", "Chapter 1.", "Done."],
        ["Wait... what?", "Wait...", "What?", "So… he left."],
        ["Wait . . .", "Then he left . . . and came back ."],
        ["He left “and so did she. (she was tired.)", "We met Mr...", "He is no Dr!", "Smith left."],
        ["Really?!", "Yes!!!", "what?", "no."],
        ["一。", "「二！」", "三？", "四"],
        ["هل أنت هنا؟", "نعم."],
        ["We saw approx. five of them.", "Él vino.", "¿Y tú?"],
        ["The pie business does not fit .", "He said so ."],
    ],
    ids=lambda expected: expected[0],
)
def test_where_sentences_end(expected: list[str]) -> None:
    assert split_sentences(" ".join(expected)) == expected


def test_wide_marks_need_no_space_after_them() -> None:
    assert split_sentences("一。「二！」三？四") == ["一。", "「二！」", "三？", "四"]


def test_white_space_around_sentences_is_left_out_and_kept_inside() -> None:
    assert split_sentences(" \t One  two. \u00a0 Three\tfour.  \n ") == ["One  two.", "Three\tfour."]
    assert split_sentences("") == split_sentences(" \n\t\n") == []


def test_a_line_break_ends_a_sentence_and_a_blank_line_a_document() -> None:
    text = "\n\none\ntwo. Three\n\n \t\n\nfour\n"
    assert list(stream_sentences([text])) == ["one", "two.", "Three", None, "four"]


@pytest.mark.parametrize(
    ("text", "ended"), [("a", False), ("a\n", False), ("a\n\n", True), ("a\n ", True), ("a\n\n\n", True)]
)
def test_only_a_blank_line_ends_the_last_document(text: str, ended: bool) -> None:
    assert list(stream_sentences([text])) == (["a", None] if ended else ["a"])


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\u0085", "\u2028", "\u2029"])
def test_what_counts_as_a_line_break(line_break: str) -> None:
    text = f"one{line_break}two{line_break}{line_break}three"
    for size in (1, 2, 100):
        assert list(stream_sentences(pieces(text, size))) == ["one", "two", None, "three"]


def test_control_characters_become_spaces() -> None:
    text = "a\x00b\x07c\x0bd\x0ce\x1ff\x7fg\x80h\x9fi\ud800j\tk"
    assert split_sentences(text) == ["a b c d e f g h i j\tk"]
    assert clean("a\nb\x1bc\r") == "a\nb c "


@pytest.mark.parametrize(
    "text",
    [
        "👩‍👩‍👧‍👦 👍🏽 🇩🇪 ❤️",
        "e\u0301te\u0301 นี่",
        "\u200fשלום עולם\u200f",
        "مَرْحَبًا",
        "zero\u200bwidth",
        "\ufeffmark",
    ],
)
def test_emoji_marks_and_right_to_left_text_go_through_untouched(text: str) -> None:
    assert split_sentences(f"{text}\n{text}") == [text, text]


def test_a_line_of_invisible_characters_is_a_blank_line() -> None:
    assert list(stream_sentences(["a\n\u200b \u200f\ufeff\nb"])) == ["a", None, "b"]


def test_a_long_run_is_cut_at_the_last_white_space() -> None:
    assert list(stream_sentences(["aaa bbb ccc ddd"], max_characters=8)) == ["aaa bbb", "ccc ddd"]
    assert list(stream_sentences(["aaa bbbb ccc"], max_characters=8)) == ["aaa bbbb", "ccc"]
    assert list(stream_sentences(["aaa bbbb cccc"], max_characters=11)) == ["aaa bbbb", "cccc"]
    assert list(stream_sentences(["aaa bbbb"], max_characters=8)) == ["aaa bbbb"]


def test_a_long_run_without_white_space_is_cut_hard() -> None:
    assert list(stream_sentences(["x" * 25], max_characters=10)) == ["x" * 10, "x" * 10, "x" * 5]
    assert list(stream_sentences(["." * 25], max_characters=10)) == ["." * 10, "." * 10, "." * 5]
    lengths = [len(sentence or "") for sentence in stream_sentences(["x" * 12_000])]
    assert lengths == [5000, 5000, 2000]


def test_a_hard_cut_keeps_a_character_and_its_marks_together() -> None:
    assert list(stream_sentences(["abcde\u0301fg"], max_characters=5)) == ["abcd", "e\u0301fg"]
    assert list(stream_sentences(["abc👩‍👧de"], max_characters=5)) == ["abc", "👩‍👧de"]
    assert list(stream_sentences(["abcd👍🏽e"], max_characters=5)) == ["abcd", "👍🏽e"]
    marks = "a" + "\u0301" * 99
    assert "".join(s or "" for s in stream_sentences([marks], max_characters=40)) == marks


def test_split_sentences_cuts_nothing() -> None:
    assert split_sentences("word " * 3000 + "end. Next.") == ["word " * 3000 + "end.", "Next."]


def _made_up_text() -> str:
    """Short parts in random order, rich in what the rules look at, with runs that must be cut."""
    parts = [
        "Mr. ", "J. ", "U.S. ", "e.g. ", "No. ", "5 ", "word ", "The ", ". ", "! ", "?", "...", "…", "。",
        '"', "”", ")", " (", "\n", "\r\n", "\n\n", "\r", "\u2028", "  ", "\t", "\x00", "\u200b",
        "e\u0301", "👩‍👧", "x" * 30,
    ]  # fmt: skip
    return "".join(random.Random(0).choices(parts, k=4000))


@pytest.mark.parametrize("max_characters", [1, 20, 5000])
def test_chunks_make_no_difference(max_characters: int) -> None:
    text = _made_up_text() + "\nEnd." + " (" * 200 + "b"  # more brackets than the rules look ahead
    expected = list(stream_sentences([text], max_characters=max_characters))
    assert len(expected) > 1000
    for size in (1, 7, 65536):
        assert list(stream_sentences(pieces(text, size), max_characters=max_characters)) == expected


def test_nothing_visible_is_lost_and_no_sentence_is_too_long() -> None:
    text = _made_up_text()
    sentences = [s for s in stream_sentences([text], max_characters=20) if s is not None]
    assert max(map(len, sentences)) == 20
    invisible = str.maketrans("", "", " \n\r\t\u2028\x00\u200b")
    assert "".join(sentences).translate(invisible) == text.translate(invisible)


@pytest.mark.parametrize("chunk", ["x" * 1000, " x" * 500, "." * 1000, "Dr. " * 250])
def test_an_endless_line_needs_no_more_than_a_sentence_and_a_chunk(chunk: str) -> None:
    taken = itertools.count()
    sentences = stream_sentences(chunk for _ in taken)
    for _ in range(10):
        assert len(next(sentences) or "") in (4999, 5000)
    assert next(taken) <= 10 * 5 + 2


def test_a_longest_sentence_below_one_is_refused() -> None:
    with pytest.raises(OptionError, match="max_characters is 0"):
        next(stream_sentences(["a"], max_characters=0))
