"""Arrows between words: what is read, and what is skipped by file and line."""

import json
from pathlib import Path

import pytest

import headscope as hs
from headscope.errors import TextError
from headscope.text.annotated.arrows import as_arrows

TEXT = "She didn't read it."


def written(folder: Path, *rows: object) -> Path:
    path = folder / "arrows.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def named(arrows: object) -> tuple[list[str], list[tuple[str, str]]]:
    """The words of a text, and those that its arrows join."""
    (text,) = as_arrows([{"text": TEXT, "arrows": arrows}])
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
        ([7, 0], "no word 7; the text has words 0 to 6"),
        ([-1, 0], "no word -1"),
        ([[0, 99], 1], "there are no characters [0, 99]; the text has 0 to 19"),
        ([[3, 4], 1], "[3, 4] are white space"),
        ([0], "[0] is no arrow"),
        ([0, "read"], '"read" is no word'),
        ([True, 1], "true is no word"),
        ([[0, 3], [1, 5]], "[1, 5] and [0, 3] overlap"),
        ([[4, 10], 1], "[4, 8] and [4, 10] overlap"),
    ],
)
def test_an_arrow_that_cannot_be_used_is_told_and_the_others_count(arrow: object, message: str) -> None:
    arrows = as_arrows([{"text": TEXT, "arrows": [[5, 4], arrow]}])
    (text,) = arrows
    assert len(text.arrows) == 1
    (place,) = arrows.skipped.places
    assert place.startswith("arrows[0]: arrow 1: ")
    assert message in place


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
    with pytest.raises(TextError, match=r"1 were skipped, .*arrows\.jsonl:1: not JSON"):
        list(hs.read_arrows(written(tmp_path, "nothing")))
    with pytest.raises(TextError, match="no arrows"):
        list(as_arrows([]))
