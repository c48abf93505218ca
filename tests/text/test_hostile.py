"""Text files that mean harm: read in linear time and bounded memory, or refused in words."""

import time
from pathlib import Path

import pytest

from headscope.errors import TextError
from headscope.text.annotated.coreference import read_coreference
from headscope.text.formats import coreference
from headscope.text.formats.coreference import Brackets, _chunks

LONG = 100_000


def conllu(tmp_path: Path, *misc: str) -> Path:
    rows = [
        f"{number}\tword\tword\tNOUN\tNN\t_\t{number - 1}\tdep\t_\t{value}"
        for number, value in enumerate(misc, 1)
    ]
    path = tmp_path / "a.conllu"
    path.write_text("\n".join(rows) + "\n\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "value", ["x" * LONG, "(" * 20_000, "(" * 20_000 + ")" * 20_000, "x(" * 20_000, ")" * LONG]
)
def test_brackets_are_read_in_one_pass(tmp_path: Path, value: str) -> None:
    path = conllu(tmp_path, f"Entity={value}", "Entity=(e1)")
    start = time.process_time()
    documents = list(read_coreference(path))
    assert time.process_time() - start < 2
    assert [mention.entity for mention in documents[0].mentions][-1:] == ["e1"]


@pytest.mark.parametrize(
    ("value", "chunks", "rest"),
    [
        ("(e1-person-1-(e2)e1)", ["(e1-person-1-", "(e2)", "e1)"], ""),
        ("((a)b", ["(a)"], "(b"),
        ("()a", [], "()a"),
        ("a)b)", ["a)", "b)"], ""),
        ("", [], ""),
        (")(", [], ")("),
    ],
)
def test_what_is_a_bracket(value: str, chunks: list[str], rest: str) -> None:
    assert _chunks(value) == (chunks, rest)


@pytest.mark.parametrize("first_in", [True, False], ids=["oldest closes first", "latest closes first"])
def test_many_open_mentions(first_in: bool) -> None:
    notes: list[str] = []
    brackets, names = Brackets(notes.append), [f"e{number}" for number in range(20_000)]
    start = time.process_time()
    for name in names:
        brackets.open(name, 0, "a:1")
    for name in names if first_in else reversed(names):
        brackets.close(name, 3, "a:1")
    assert len(brackets.end_sentence()) == 20_000
    assert time.process_time() - start < 2
    assert notes == []


def test_mentions_may_not_take_all_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coreference, "MAX_MENTIONED", 1000)
    notes: list[str] = []
    brackets = Brackets(notes.append)
    for name in ("a", "b", "c"):
        brackets.open(name, 0, "a:1")
        brackets.close(name, 400, "a:1")
    assert len(brackets.end_sentence()) == 2
    assert notes == ["a:1: mentions of more than 1,000 words in one sentence; split it"]


def test_columns_without_words(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("a" + "\t" * 14 + "\n", encoding="utf-8")
    with pytest.raises(TextError, match="no coreference format is recognised"):
        list(read_coreference(path))
