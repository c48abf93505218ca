"""Running text of CoNLL-U files: sentences, documents, and the lines that are refused."""

import gzip
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope.errors import TextError


def row(number: str, form: str, misc: str = "_") -> str:
    return f"{number}\t{form}\t_\tX\t_\t_\t0\troot\t_\t{misc}\n"


def read(path: Path, text: str | bytes) -> list[tuple[str, int]]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    sentences: list[Any] = list(hs.read_text(path))
    return [(sentence.text, sentence.document) for sentence in sentences]


TWO_DOCUMENTS = (
    "# newdoc id = a\n# sent_id = 1\n# text = It rains.\n" + row("1", "It") + row("2", "rained") + "\n"
    "# text = Yes.\n" + row("1", "Yes.") + "\n# newdoc\n# text = No.\n" + row("1", "No.") + "\n"
)


def test_documents_and_the_text_comment(tmp_path: Path) -> None:
    expected = [("It rains.", 0), ("Yes.", 0), ("No.", 1)]
    assert read(tmp_path / "a.conllu", TWO_DOCUMENTS) == expected
    assert read(tmp_path / "a.conllu", TWO_DOCUMENTS.rstrip("\n")) == expected
    assert read(tmp_path / "a.conllu.gz", gzip.compress(TWO_DOCUMENTS.encode())) == expected


def test_documents_are_numbered_through_all_files(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(TWO_DOCUMENTS)
    assert [sentence.document for sentence in hs.read_text(path, path)] == [0, 0, 1, 2, 2, 3]


def test_without_newdoc_the_file_is_one_document(tmp_path: Path) -> None:
    text = TWO_DOCUMENTS.replace("# newdoc", "# newdocument")
    assert [number for _, number in read(tmp_path / "a.conllu", text)] == [0, 0, 0]


def test_text_is_rebuilt_from_the_forms(tmp_path: Path) -> None:
    text = (
        row("1", "“", "SpaceAfter=No") + row("2", "We")
        + row("3-4", "don't") + row("3", "do", "SpaceAfter=No") + row("4", "n't")
        + row("5", "go", "Gloss=x|SpaceAfter=No|Y=z") + row("5.1", "HIDDEN") + row("9.1", "HIDDEN")
        + row("6", ", New York", "SpaceAfter=Nope") + row("7", "_", "SpaceAfter=No") + row("8", "#")
    )  # fmt: skip
    assert read(tmp_path / "a.conllu", text) == [("“We don't go, New York _#", 0)]
    assert read(tmp_path / "a.conllu", "# text = \n" + text) == [("“We don't go, New York _#", 0)]


def test_comments_without_words_are_no_sentence_but_may_begin_a_document(tmp_path: Path) -> None:
    text = "# global.columns = ID FORM\n\n" + row("1", "One") + "\n# newdoc\n\n\n" + row("1", "Two")
    assert read(tmp_path / "a.conllu", text) == [("One", 0), ("Two", 1)]


def test_odd_characters(tmp_path: Path) -> None:
    text = "# text = a\x07b 👩‍👧 שלום\n" + row("1", "a") + "\n" + row("1", "c\x07d\u2028e")
    assert read(tmp_path / "a.conllu", text) == [("a b 👩‍👧 שלום", 0), ("c d\u2028e", 0)]


MOST = 10_000
"""How many lines a sentence may have."""


def test_a_sentence_as_long_as_may_be(tmp_path: Path) -> None:
    assert len(read(tmp_path / "a.conllu", "# a\n" + row("1", "a") * (MOST - 1))) == 1


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("# text = a\n" + row("1", "a") + "2\tword", 3, "expected 10 tab-separated columns, found 2"),
        (row("1", "a") + "2 word _ X _ _ 0 root _ _", 2, "expected 10 tab-separated columns, found 1"),
        (row("1", "word").rstrip() + "\t_", 1, "expected 10 tab-separated columns, found 11"),
        (row("two", "word"), 1, "ID is 'two'"),
        (row("2-", "word"), 1, "ID is '2-'"),
        (row("-" * 100, "word"), 1, f"ID is '{'-' * 20}'"),
        ("# text = It rains.\n\n" + row("1", "a"), 2, "no word lines"),
        ("# a\n" + row("1", "a") * MOST, MOST + 1, f"more than {MOST} lines"),
    ],
    ids=["2 columns", "spaces", "11 columns", "two", "2-", "---", "no words", "no end"],
)
def test_errors_name_file_line_and_problem(tmp_path: Path, text: str, line: int, problem: str) -> None:
    with pytest.raises(TextError) as caught:
        read(tmp_path / "a.conllu", text)
    assert f"a.conllu:{line}: " in str(caught.value)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
