"""Words of a text, pieces to words by characters, and texts given as words: every word stands where its span says."""

import random

import numpy as np

from headscope.text.words import WordText, pieces_to_words, word_spans


def test_words_are_joined_by_spaces() -> None:
    content = WordText.of(["The", "cat", "sat"])
    assert content.text == "The cat sat"
    assert content.spans == ((0, 3), (4, 7), (8, 11))
    assert content.words == ["The", "cat", "sat"]
    assert len(content) == 3


def test_no_space_where_the_file_says_so() -> None:
    content = WordText.of(["do", "n't", "go", "."], space_after=[False, True, False, True])
    assert content.text == "don't go."
    assert content.words == ["do", "n't", "go", "."]


def test_no_words() -> None:
    content = WordText.of([])
    assert (content.text, content.spans, content.words, len(content)) == ("", (), [], 0)


def test_unprintable_characters_become_spaces_and_move_nothing() -> None:
    content = WordText.of(["a\x07b", "\x00", "\ud800", "c"])
    assert content.text == "a b     c"
    assert content.words == ["a b", " ", " ", "c"]


def test_empty_words_have_empty_spans() -> None:
    content = WordText.of(["", "a", ""], space_after=[False, False, True])
    assert content.text == "a"
    assert content.spans == ((0, 0), (0, 1), (1, 1))
    assert content.words == ["", "a", ""]


def test_words_with_spaces_and_other_scripts() -> None:
    words = ["New York", "👩‍👧", "שלום", "né"]
    assert WordText.of(words).words == words


def test_joined_texts_have_a_space_between_them() -> None:
    first = WordText.of(["It", "rains", "."], space_after=[True, False, False])
    joined = WordText.joined([first, WordText.of([]), WordText.of(["So", "what"])])
    assert joined.text == "It rains.  So what"
    assert joined.words == ["It", "rains", ".", "So", "what"]
    assert WordText.joined([]) == WordText.of([])


def test_the_first_words_of_a_text() -> None:
    content = WordText.of(["I", "do", "n't", "go"], space_after=[True, False, True, True])
    assert content.up_to(3) == WordText.of(["I", "do", "n't"], space_after=[True, False, True])
    assert content.up_to(4) == content
    assert content.up_to(9) == content
    assert content.up_to(0) == WordText.of([])


def test_any_words_come_back() -> None:
    rng = np.random.default_rng(0)
    letters = "abc .é字\u200b'"
    for _ in range(200):
        words = ["".join(rng.choice(list(letters), rng.integers(0, 5))) for _ in range(rng.integers(0, 8))]
        spaces = [bool(space) for space in rng.integers(0, 2, len(words))]
        content = WordText.of(words, space_after=spaces)
        slow = "".join(word + " " * space for word, space in zip(words, spaces, strict=True))
        assert content.text == (slow[:-1] if words and spaces[-1] else slow)
        assert content.words == words
        count = int(rng.integers(0, 8))
        assert content.up_to(count).words == words[:count]
        joined = WordText.joined([content, content.up_to(count), content])
        assert joined.words == [*words, *words[:count], *words]


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


def test_joiners_hold_a_word_together() -> None:
    assert words("می\u200cخواهم co\u00adop") == ["می\u200cخواهم", "co\u00adop"]


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
