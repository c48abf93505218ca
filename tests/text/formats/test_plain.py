"""Running text of plain files: lines, documents, and the published form, which drops a document that has no end."""

import gzip
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope.errors import TextError

TWO = "One. Two.\nThree.\n\nFour.\n"
EXPECTED = [("One.", 0), ("Two.", 0), ("Three.", 0), ("Four.", 1)]


def read(path: Path, text: str | bytes, *, published: bool = False) -> list[tuple[str, int]]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    sentences: list[Any] = list(hs.read_text(path).items(faithful=published))
    return [(sentence.text, sentence.document) for sentence in sentences]


def test_a_line_is_a_paragraph_and_a_blank_line_ends_a_document(tmp_path: Path) -> None:
    assert read(tmp_path / "a.txt", TWO) == EXPECTED
    assert read(tmp_path / "a.txt", "\n\n" + TWO.replace("\n\n", "\n \n\n") + "\n\n") == EXPECTED
    assert read(tmp_path / "a.txt.gz", gzip.compress(TWO.encode())) == EXPECTED


@pytest.mark.parametrize("published", [False, True])
def test_documents_are_numbered_through_all_files(tmp_path: Path, published: bool) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TWO + "\n")
    numbers = [item.document for item in hs.read_text(path, path).items(faithful=published)]
    assert numbers == [0, 0, 0, 1, 2, 2, 2, 3]


@pytest.mark.parametrize(("ending", "kept"), [("", False), ("\n", True), (" ", True), ("\n\n\n", True)])
def test_the_published_form_drops_a_last_document_without_a_blank_line(
    tmp_path: Path, ending: str, kept: bool
) -> None:
    assert read(tmp_path / "a.txt", TWO + ending, published=True) == (EXPECTED if kept else EXPECTED[:3])
    assert read(tmp_path / "a.txt", TWO + ending) == EXPECTED


def test_the_published_form_says_when_it_would_drop_everything(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"a\.txt: .*faithful"):
        read(tmp_path / "a.txt", "One.\nTwo.", published=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_the_published_form_refuses_what_cannot_be_read_twice(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=[TWO])  # opening waits for a reader
    writer.start()
    with pytest.raises(TextError, match="pipe is not a regular file"):
        list(hs.read_text(path).items(faithful=True))
    writer.join()


def test_a_long_line_is_read_piece_by_piece(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("word " * 100_000)
    corpus = hs.read_text(path)
    sentences: Iterator[Any] = iter(corpus)
    assert len(next(sentences).text) == 4999
    assert corpus.progress is not None
    assert corpus.progress < 0.2
    assert sum(sentence.text.count("word") for sentence in sentences) == 99_000


def test_control_characters_emoji_and_right_to_left_text(tmp_path: Path) -> None:
    text = "x" * 65_536 + "\n\x07bell \x1b[0m 👩‍👧 שלום."
    assert read(tmp_path / "a.txt", text)[-1][0] == "bell  [0m 👩‍👧 שלום."


def test_a_binary_file(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"a\.txt: binary file"):
        read(tmp_path / "a.txt", b"\x7fELF\0" + os.urandom(100))
