import gzip
from pathlib import Path

import pytest

from headscope.errors import TextError
from headscope.text.files import open_text
from headscope.text.formats import conllu
from headscope.text.formats.conllu import Block, join_forms, read_blocks, read_sentences


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


def blocks(path: Path, text: str) -> tuple[list[Block], list[str]]:
    """What is left when broken sentences are skipped, and what was told about them."""
    path.write_text(text, encoding="utf-8")
    told: list[str] = []
    with open_text(path) as stream:
        return list(read_blocks(stream, skip=told.append)), told


def test_a_broken_sentence_is_skipped_and_told_once(tmp_path: Path) -> None:
    broken = "# sent_id = broken\n" + row("1", "a") + "2\tb\n" + "3\tc\n" + row("4", "d") + "\n"
    found, told = blocks(tmp_path / "a.conllu", row("1", "one") + "\n" + broken + row("1", "two") + "\n")
    assert [[line.form for line in block.rows] for block in found] == [["one"], [], ["two"]]
    assert [block.line_number for block in (found[0], found[2])] == [1, 9]
    assert len(told) == 1
    assert "a.conllu:5: expected 10 tab-separated columns, found 2" in told[0]


def test_a_broken_sentence_may_still_begin_a_document(tmp_path: Path) -> None:
    found, told = blocks(tmp_path / "a.conllu", "# newdoc\nbroken\n\n" + row("1", "two") + "\n")
    assert [(block.starts_document, len(block.rows)) for block in found] == [(True, 0), (False, 1)]
    assert len(told) == 1


def test_comments_after_a_broken_line_still_count(tmp_path: Path) -> None:
    found, _ = blocks(tmp_path / "a.conllu", "broken\n# newdoc\n\n" + row("1", "two"))
    assert [block.starts_document for block in found] == [True, False]


def test_a_broken_last_sentence_is_skipped(tmp_path: Path) -> None:
    found, told = blocks(tmp_path / "a.conllu", row("1", "one") + "\n# c\n" + row("1", "a") + "broken")
    assert [len(block.rows) for block in found] == [1, 0]
    assert "a.conllu:5" in told[0]


def test_a_text_without_words_is_skipped(tmp_path: Path) -> None:
    text = row("1", "one") + "\n# newdoc\n# text = It rains.\n\n" + row("1", "two") + "\n# text = End."
    found, told = blocks(tmp_path / "a.conllu", text)
    assert [len(block.rows) for block in found] == [1, 0, 1, 0]
    assert found[1].starts_document
    assert [place.split(": ")[0].rpartition(":")[2] for place in told] == ["5", "8"]


def test_a_broken_text_is_told_for_its_line_alone(tmp_path: Path) -> None:
    _, told = blocks(tmp_path / "a.conllu", "# text = It rains.\nbroken\n\n")
    assert len(told) == 1
    assert "tab-separated" in told[0]


def test_the_name_of_a_sentence(tmp_path: Path) -> None:
    text = "# sent_id =  weblog-1 \n" + row("1", "a") + "\n# sent_id_old = 3\n" + row("1", "b")
    found, _ = blocks(tmp_path / "a.conllu", text)
    assert [block.name for block in found] == ["weblog-1", ""]
