import gzip
from pathlib import Path

import numpy as np
import pytest

from headscope.errors import TextError
from headscope_papers.vectors import WordVectors, read_vectors, spellings

GLOVE = "the 1 2 3\ncat 0.5 -1e-1 7\nThe 9 9 9\n"


class Everything:
    """Wants every word."""

    def __contains__(self, word: object) -> bool:
        return True


def read(path: Path, text: str | bytes, *words: str) -> WordVectors:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_vectors(path, wanted=spellings(words) if words else Everything())


def found(vectors: WordVectors) -> dict[str, list[float]]:
    return {word: vectors.values[number].tolist() for word, number in vectors.numbers.items()}


@pytest.mark.parametrize("heading", ["", "3 3\n", "3 3 \n"])
@pytest.mark.parametrize("packed", [False, True])
def test_glove_and_word2vec_plain_and_packed(tmp_path: Path, heading: str, packed: bool) -> None:
    text = (heading + GLOVE).encode()
    vectors = read(tmp_path / "v.txt", gzip.compress(text) if packed else text)
    assert vectors.values.shape == (3, 3)
    assert vectors.name == "v.txt"
    assert vectors.skipped.note() is None
    assert vectors.values.dtype == np.float32
    assert found(vectors) == {
        "the": [1, 2, 3],
        "cat": [0.5, pytest.approx(-0.1), 7],
        "The": [9, 9, 9],
    }


def test_only_wanted_words_are_kept(tmp_path: Path) -> None:
    assert found(read(tmp_path / "v.txt", GLOVE, "the")) == {"the": [1, 2, 3]}


def test_exact_form_first_then_lower_case(tmp_path: Path) -> None:
    vectors = read(tmp_path / "v.txt", GLOVE, "The", "THE", "Cat", "dog")
    assert vectors.find("The") is not None
    assert vectors.find("The").tolist() == [9, 9, 9]
    assert vectors.find("THE").tolist() == [1, 2, 3]
    assert vectors.find("Cat").tolist()[0] == 0.5
    assert vectors.find("dog") is None


def test_line_ends_and_trailing_spaces(tmp_path: Path) -> None:
    assert found(read(tmp_path / "v.txt", "the 1 2 \r\ncat 3 4 \r\n\r\n")) == {"the": [1, 2], "cat": [3, 4]}


def test_words_with_spaces_and_odd_characters(tmp_path: Path) -> None:
    vectors = read(tmp_path / "v.txt", "the 1 2\n. . . 3 4\nat name@domain.com 5 6\n\u00a0 7 8\n\x85 9 1\n")
    assert list(vectors.numbers) == ["the", ". . .", "at name@domain.com", "\u00a0", "\x85"]
    assert vectors.values[:, 0].tolist() == [1, 3, 5, 7, 9]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("cat 1 2", "2 numbers where 3 are expected"),
        ("cat 1", "1 number where 3 are expected"),
        ("cat", "0 numbers where 3 are expected"),
        ("cat 1 2 3 4", "4 numbers where 3 are expected"),
        ("cat 1 x 3", "the vector of 'cat' has something in it that is no number"),
        ("cat 1 nan 3", "the vector of 'cat' has something in it that is no number"),
        ("cat 1 1e99 3", "the vector of 'cat' has something in it that is no number"),
        ("the 4 5 6", "a second vector for 'the'; the first one counts"),
    ],
)
def test_broken_lines_are_named_and_the_others_count(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "v.txt"
    vectors = read(path, f"the 1 2 3\n{line}\ndog 7 8 9\n")
    assert {"the", "dog"} <= set(vectors.numbers)
    assert found(vectors)["the"] == [1, 2, 3]
    assert vectors.skipped.count == 1
    assert vectors.skipped.places == [f"{path}:2: {reason}"]


def test_other_words_are_counted_but_not_parsed(tmp_path: Path) -> None:
    vectors = read(tmp_path / "v.txt", "the 1 2 3\ncat 1 x 3\n", "the")
    assert vectors.skipped.count == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("the cat sat\n", r"v\.txt:1: 'the cat sat' is no word vector; expected a word and its numbers"),
        ("\nthe\n", r"v\.txt:2: 'the' is no word vector"),
        ("the 1 2 inf\n", r"v\.txt:1: 'the 1 2 inf' is no word vector"),
        ("2 5\nthe 1 2 3\ncat 4 5 6\n", r"none of its vector lines can be used, 2 were skipped, .*v\.txt:2: 3 numbers"),
        ("2 5\n", "has a heading and no vector"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_use(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        read(tmp_path / "v.txt", text)


def test_a_file_of_other_words(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="has vectors of 3 words, and none of a word of these texts"):
        read(tmp_path / "v.txt", GLOVE, "chat")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="no such file"):
        read_vectors(tmp_path / "none.txt", wanted={"the"})


def test_a_heading_of_many_digits(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(f"{'9' * 5000} {'9' * 5000}\ncat 1 2 3\n", encoding="utf-8")
    with pytest.raises(TextError, match="is no word vector"):
        read_vectors(path, wanted={"cat"})
