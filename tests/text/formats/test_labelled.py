import gzip
from pathlib import Path

import pytest

from headscope.errors import TextError
from headscope.text.formats.labelled import read_labelled

MRPC = (
    '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tA "cat .\tThe cat .\n0\t9\t10\tNo .\tYes .\n'
)


def read(path: Path, text: str) -> list[tuple[str, str | None, str]]:
    path.write_text(text)
    return [(one.first, one.second, one.label) for one in read_labelled(path).texts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MRPC, [('A "cat .', "The cat .", "1"), ("No .", "Yes .", "0")]),
        ("sentence\tlabel\ngood \t1\n\nbad\t0\n", [("good", None, "1"), ("bad", None, "0")]),
        ("good\t1\nbad\t0\n", [("good", None, "1"), ("bad", None, "0")]),
        ("one\ttwo\tyes\n", [("one", "two", "yes")]),
        ("gj04\t1\t\tA cat.\ngj04\t0\t*\tCat a.\n", [("A cat.", None, "1"), ("Cat a.", None, "0")]),
        (
            "index\tgenre\tsentence1\tsentence2\tlabel1\tgold_label\n0\tx\ta\tb\tneutral\tentailment\n",
            [("a", "b", "entailment")],
        ),
        (
            "index\tquestion\tsentence\tlabel\n0\twho?\ta cat\tnot_entailment\n",
            [("who?", "a cat", "not_entailment")],
        ),
        ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\ta?\tb?\t1\n", [("a?", "b?", "1")]),
        ("index\tsentence1\tsentence2\tscore\n0\ta\tb\t3.2\n", [("a", "b", "3.2")]),
    ],
)
def test_columns(tmp_path: Path, text: str, expected: list[tuple[str, str | None, str]]) -> None:
    assert read(tmp_path / "a.tsv", text) == expected


def test_json_lines(tmp_path: Path) -> None:
    text = (
        '{"text": "one", "label": "yes"}\n'
        '{"text_a": "one", "text_b": "two", "label": 1}\n'
        '{"text": "one", "text_b": null, "label": 0}\n'
        '{"sentence1": "one", "sentence2": "two", "score": 2.5}\n'
        '{"premise": "one", "hypothesis": "two", "label": 2}\n'
    )
    assert read(tmp_path / "a.jsonl", text) == [
        ("one", None, "yes"),
        ("one", "two", "1"),
        ("one", None, "0"),
        ("one", "two", "2.5"),
        ("one", "two", "2"),
    ]


def test_several_files_and_gzip(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("good\t1\n")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"text": "bad", "label": 0}\n'))
    found = read_labelled(tmp_path / "a.tsv", tmp_path / "b.jsonl.gz")
    assert [one.first for one in found.texts] == ["good", "bad"]
    assert found.name == "a.tsv, b.jsonl.gz"


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("a.tsv", "one", "1 columns where 2"),
        ("a.tsv", " \t1", "an empty text"),
        ("a.tsv", "one\t ", "no label"),
        ("a.jsonl", "{", "not JSON"),
        ("a.jsonl", "[1]", "an array, not an object"),
        ("a.jsonl", '{"label": 1}', "no text"),
        ("a.jsonl", '{"text": "one"}', "no label"),
        ("a.jsonl", '{"text": "one", "label": null}', "no label"),
        ("a.jsonl", '{"text": 7, "label": 1}', "no string"),
        ("a.jsonl", '{"text": "one", "label": [1]}', "neither a name nor a number"),
    ],
)
def test_broken_lines_are_skipped_and_told(tmp_path: Path, name: str, line: str, reason: str) -> None:
    good = "good\t1" if name == "a.tsv" else '{"text": "good", "label": 1}'
    (tmp_path / name).write_text(f"{good}\n{line}\n{good}\n")
    found = read_labelled(tmp_path / name)
    assert len(found) == 2
    assert found.skipped.count == 1
    assert f"{name}:2: " in found.skipped.places[0]
    assert reason in found.skipped.places[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no labelled text"),
        ("sentence\tlabel\n", "no labelled text"),
        ("a\tb\tc\td\te\n", "5 columns and no header"),
        ("just text\n", "1 columns and no header"),
    ],
)
def test_files_without_a_labelled_text(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "a.tsv").write_text(text)
    with pytest.raises(TextError, match=reason):
        read_labelled(tmp_path / "a.tsv")


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="no such file"):
        read_labelled(tmp_path / "a.tsv")
    with pytest.raises(TextError, match="given no file"):
        read_labelled()
