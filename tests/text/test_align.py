"""Pieces to words by characters."""

import random

from headscope.text.words import pieces_to_words, word_spans


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


def test_words_are_runs_of_letters_and_single_marks() -> None:
    assert words('Don\'t panic: "42_a", ok...') == [
        "Don",
        "'",
        "t",
        "panic",
        ":",
        '"',
        "42_a",
        '"',
        ",",
        "ok",
        ".",
        ".",
        ".",
    ]


def test_combining_marks_stay_with_their_letter() -> None:
    assert words("cafe\u0301 हिन्दी") == ["cafe\u0301", "हिन्दी"]


def test_other_scripts_and_emoji() -> None:
    assert words("שלום, עולם 🙂🙂") == ["שלום", ",", "עולם", "🙂", "🙂"]


def test_ascii_shortcut_follows_the_same_rule() -> None:
    rng = random.Random(0)
    for _ in range(200):
        text = "".join(chr(rng.randrange(128)) for _ in range(60))
        slow = word_spans(text + "é")  # one letter outside ASCII takes the long way
        assert [span for span in slow if span[1] < len(text)] == [
            span for span in word_spans(text) if span[1] < len(text)
        ]


def test_pieces_go_to_the_word_of_their_first_visible_character() -> None:
    text = "The running dog"
    pieces = [(0, 3), (3, 7), (7, 11), (11, 12), (11, 15), (15, 15)]  # "The" " run" "ning" " " " dog" ""
    assert pieces_to_words(text, word_spans(text), pieces) == [0, 1, 1, -1, 2, -1]
