"""Arrows between words: what is read, and what is skipped by file and line."""

import json
from pathlib import Path

import pytest

import headscope as hs
from headscope.errors import TextError
from headscope.text.annotated.arrows import Arrows, as_arrows

TEXT = "She didn't read it."


def written(folder: Path, *rows: object) -> Path:
    path = folder / "arrows.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def named(arrows: object) -> tuple[list[str], list[tuple[str, str]]]:
    """The words of a text, and those that its arrows join."""
    (text,) = Arrows(records=[{"text": TEXT, "arrows": arrows}])
    words = text.content.words
    return words, [(words[arrow.source], words[arrow.target]) for arrow in text.arrows]


def test_words_by_index() -> None:
    words, arrows = named([[5, 4], [0, 4]])
    assert words == ["She", "didn", "'", "t", "read", "it", "."]
    assert arrows == [("it", "read"), ("She", "read")]


def test_words_by_characters_are_words_of_their_own() -> None:
    words, arrows = named([[[4, 7], [7, 10]], [[16, 18], [11, 15]]])
    assert words == ["She", "did", "n't", "read", "it", "."]
    assert arrows == [("did", "n't"), ("it", "read")]
    words, arrows = named([[[11, 18], 0]])  # several words, and a mixture of both ways
    assert words == ["She", "didn", "'", "t", "read it", "."]
    assert arrows == [("read it", "She")]
    words, _ = named([[[5, 6], 0]])  # a part of a word leaves its other parts
    assert words == ["She", "d", "i", "dn", "'", "t", "read", "it", "."]


def test_an_arrow_counts_once_and_may_go_to_itself() -> None:
    assert named([[5, 4], [[16, 18], 4], [5, 5]])[1] == [("it", "read"), ("it", "it")]


@pytest.mark.parametrize(
    ("arrow", "message"),
    [
        ([7, 0], "there is no word 7; the text has words 0 to 6"),
        ([-1, 0], "there is no word -1"),
        ([[0, 99], 1], r"there are no characters \[0, 99\]; the text has 0 to 19"),
        ([[3, 4], 1], r"the characters \[3, 4\] are white space"),
        ([0], r"\[0\] is no arrow; expected \[from, to\]"),
        ([0, "read"], '"read" is no word; expected an index or'),
        ([True, 1], "true is no word"),
        ([[0, 3], [1, 5]], r"the words \[1, 5\] and \[0, 3\] overlap"),
        ([[4, 10], 1], r"the words \[4, 8\] and \[4, 10\] overlap"),
    ],
)
def test_an_arrow_that_cannot_be_used_is_told_and_the_others_count(arrow: object, message: str) -> None:
    arrows = Arrows(records=[{"text": TEXT, "arrows": [[5, 4], arrow]}])
    (text,) = arrows
    assert len(text.arrows) == 1
    with pytest.raises(TextError, match=message):
        raise TextError(arrows.skipped.note())
    assert "arrows[0]: arrow 1: " in arrows.skipped.places[0]


def test_a_line_that_cannot_be_used_is_told_and_the_others_count(tmp_path: Path) -> None:
    good = {"text": TEXT, "arrows": [[5, 4]]}
    path = written(
        tmp_path,
        good,
        "{",
        [1],
        {"text": TEXT},
        {"text": " ", "arrows": [[0, 1]]},
        {**good, "arrows": []},
        good,
    )
    arrows = hs.read_arrows(path)
    texts = list(arrows)
    assert [(text.document, text.where.rpartition(":")[2]) for text in texts] == [(0, "1"), (1, "7")]
    assert arrows.skipped.count == 5
    places = " ".join(arrows.skipped.places)
    for told in (":2: not JSON", ":3: an array", ":4: no arrows", ":5: text is empty", ":6: arrows is []"):
        assert told in places
    assert len(list(arrows)) == 2  # as often as wanted
    assert arrows.skipped.count == 5


def test_a_file_without_arrows_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="none of its annotations can be used, 1 were skipped, the first is"):
        list(as_arrows(written(tmp_path, "nothing")))
    with pytest.raises(TextError, match="holds no arrows"):
        list(as_arrows([]))
