import gzip
import os
from pathlib import Path

import pytest

from headscope.errors import TextError
from headscope.text.files import open_text
from headscope.text.formats.plain import read_sentences
from headscope.text.items import Sentence

TWO = "One. Two.\nThree.\n\nFour.\n"


def read(
    path: Path, text: str | bytes, *, first_document: int = 0, faithful: bool = False
) -> list[tuple[str, int]]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with open_text(path) as stream:
        items = list(read_sentences(stream, first_document=first_document, faithful=faithful))
    assert all(isinstance(item, Sentence) for item in items)
    return [(item.text, item.document) for item in items]


def test_a_line_is_a_paragraph_and_a_blank_line_ends_a_document(tmp_path: Path) -> None:
    expected = [("One.", 0), ("Two.", 0), ("Three.", 0), ("Four.", 1)]
    assert read(tmp_path / "a.txt", TWO) == expected
    assert read(tmp_path / "a.txt", "\n\n" + TWO.replace("\n\n", "\n \n\n") + "\n\n") == expected


def test_documents_are_numbered_from_the_first(tmp_path: Path) -> None:
    assert [number for _, number in read(tmp_path / "a.txt", TWO, first_document=7)] == [7, 7, 7, 8]
    faithful = read(tmp_path / "a.txt", TWO + "\n", first_document=7, faithful=True)
    assert [number for _, number in faithful] == [7, 7, 7, 8]


def test_gzip(tmp_path: Path) -> None:
    assert read(tmp_path / "a.txt.gz", gzip.compress(TWO.encode())) == read(tmp_path / "a.txt", TWO)


@pytest.mark.parametrize(("ending", "kept"), [("", False), ("\n", True), (" ", True), ("\n\n\n", True)])
def test_faithful_drops_a_last_document_without_a_blank_line(tmp_path: Path, ending: str, kept: bool) -> None:
    expected = [("One.", 0), ("Two.", 0), ("Three.", 0), ("Four.", 1)]
    assert read(tmp_path / "a.txt", TWO + ending, faithful=True) == (expected if kept else expected[:3])
    assert read(tmp_path / "a.txt", TWO + ending) == expected


def test_faithful_says_when_it_would_drop_everything(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"a\.txt: no blank line .* faithful"):
        read(tmp_path / "a.txt", "One.\nTwo.", faithful=True)
    assert read(tmp_path / "a.txt", " \n", faithful=True) == []


def test_faithful_refuses_what_cannot_be_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TWO)
    with open_text(path) as stream:
        monkeypatch.setattr(stream, "is_regular", False)
        with pytest.raises(TextError, match="not a regular file"):
            next(read_sentences(stream, faithful=True))


def test_a_long_line_is_read_piece_by_piece(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("word " * 100_000)
    with open_text(path) as stream:
        sentences = read_sentences(stream)
        assert len(next(sentences).text) == 4999
        assert stream.bytes_read < 20_000
        assert sum(sentence.text.count("word") for sentence in sentences) == 99_000


def test_control_characters_emoji_and_right_to_left_text(tmp_path: Path) -> None:
    text = "x" * 65_536 + "\n\x07bell \x1b[0m 👩‍👧 שלום."
    assert [sentence for sentence, _ in read(tmp_path / "a.txt", text)][-1] == "bell  [0m 👩‍👧 שלום."


def test_a_binary_file(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"a\.txt: binary file"):
        read(tmp_path / "a.txt", b"\x7fELF\0" + os.urandom(100))
