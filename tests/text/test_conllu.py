import gzip
from pathlib import Path

import pytest

from headscope.errors import TextError
from headscope.text import conllu
from headscope.text.conllu import join_forms, read_blocks, read_sentences
from headscope.text.files import open_text


def row(number: str, form: str, misc: str = "_") -> str:
    return f"{number}\t{form}\t_\tX\t_\t_\t0\troot\t_\t{misc}\n"


def read(path: Path, text: str | bytes, *, first_document: int = 0) -> list[tuple[str, int]]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with open_text(path) as stream:
        return [(s.text, s.document) for s in read_sentences(stream, first_document=first_document)]


TWO_DOCUMENTS = (
    "# newdoc id = a\n# sent_id = 1\n# text = It rains.\n" + row("1", "It") + row("2", "rained") + "\n"
    "# text = Yes.\n" + row("1", "Yes.") + "\n# newdoc\n# text = No.\n" + row("1", "No.") + "\n"
)


def test_documents_and_the_text_comment(tmp_path: Path) -> None:
    expected = [("It rains.", 0), ("Yes.", 0), ("No.", 1)]
    assert read(tmp_path / "a.conllu", TWO_DOCUMENTS) == expected
    assert read(tmp_path / "a.conllu", TWO_DOCUMENTS.rstrip("\n")) == expected
    assert read(tmp_path / "a.conllu.gz", gzip.compress(TWO_DOCUMENTS.encode())) == expected


def test_documents_are_numbered_from_the_first(tmp_path: Path) -> None:
    found = read(tmp_path / "a.conllu", TWO_DOCUMENTS, first_document=5)
    assert [number for _, number in found] == [5, 5, 6]


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


def test_blocks_keep_everything_and_where_they_begin(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("\n" + TWO_DOCUMENTS.rstrip("\n"))
    with open_text(path) as stream:
        first, second, third = read_blocks(stream)
    assert [first.line_number, second.line_number, third.line_number] == [2, 8, 11]
    assert first.comments == ("# newdoc id = a", "# sent_id = 1", "# text = It rains.")
    assert first.rows[1].columns == ("2", "rained", "_", "X", "_", "_", "0", "root", "_", "_")
    assert join_forms(first.rows) == "It rained "
    assert [block.starts_document for block in (first, second, third)] == [True, False, True]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("2\tword", "expected 10 tab-separated columns, found 2"),
        ("2 word _ X _ _ 0 root _ _", "expected 10 tab-separated columns, found 1"),
        (row("2", "word").rstrip() + "\t_", "expected 10 tab-separated columns, found 11"),
        (row("two", "word"), "ID is 'two'"),
        (row("2-", "word"), "ID is '2-'"),
        (row("-" * 100, "word"), "ID is '-{20}'"),
    ],
)
def test_errors_name_file_line_and_problem(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(TextError, match=rf"a\.conllu:3: {problem}") as caught:
        read(tmp_path / "a.conllu", "# text = a\n" + row("1", "a") + line)
    assert "\n" not in str(caught.value)


def test_a_text_without_words_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="# text and no word lines"):
        read(tmp_path / "a.conllu", "# text = It rains.\n\n" + row("1", "a"))


def test_a_sentence_without_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conllu, "MAX_LINES", 5)
    assert read(tmp_path / "a.conllu", "# a\n" + row("1", "a") * 4) == [("a", 0)]
    with pytest.raises(TextError, match=r"a\.conllu:6: a sentence of more than 5 lines"):
        read(tmp_path / "a.conllu", "# a\n" + row("1", "a") * 5)


def test_odd_characters(tmp_path: Path) -> None:
    text = "# text = a\x07b 👩‍👧 שלום\n" + row("1", "a") + "\n" + row("1", "c\x07d\u2028e")
    assert read(tmp_path / "a.conllu", text) == [("a b 👩‍👧 שלום", 0), ("c d\u2028e", 0)]
