"""Words of scripts whose letters are held together by marks and joiners that cannot be seen."""

import pytest

from headscope.text.words import word_spans


@pytest.mark.parametrize(
    "word",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, a zero-width non-joiner inside
        "\u0915\u094d\u200d\u0937\u093f",  # Devanagari, a virama, a zero-width joiner and a vowel sign
        "e\u0301te\u0301",  # French, accents that combine
        "co\u00adop",  # a soft hyphen
    ],
)
def test_joiners_and_marks_are_inside_of_words(word: str) -> None:
    assert word_spans(f"{word} {word}.") == [
        (0, len(word)),
        (len(word) + 1, 2 * len(word) + 1),
        (2 * len(word) + 1, 2 * len(word) + 2),
    ]
