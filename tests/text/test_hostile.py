"""Text files that mean harm: read in linear time and bounded memory, or refused with a clear error."""

import time
from pathlib import Path

import pytest

import headscope as hs
from headscope.errors import TextError

LONG = 100_000


def conllu(tmp_path: Path, *misc: str) -> Path:
    """A sentence whose words have these last columns."""
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
    documents = list(hs.read_coreference(path))
    assert time.process_time() - start < 2
    assert [mention.entity for mention in documents[0].mentions][-1:] == ["e1"]


@pytest.mark.parametrize("order", [1, -1], ids=["oldest closes first", "latest closes first"])
def test_many_open_mentions(tmp_path: Path, order: int) -> None:
    names = [f"e{number}" for number in range(20_000)]
    opened = "".join(f"({name}" for name in names)
    closed = "".join(f"{name})" for name in names[::order])
    path = conllu(tmp_path, f"Entity={opened}", "_", f"Entity={closed}")
    start = time.process_time()
    corpus = hs.read_coreference(path)
    (document,) = corpus
    assert time.process_time() - start < 4
    assert len(document.mentions) == 20_000
    assert corpus.skipped.count == 0


def test_mentions_may_not_take_all_memory(tmp_path: Path) -> None:
    names = [f"e{number}" for number in range(1001)]
    opened, closed = "".join(f"({name}" for name in names), "".join(f"{name})" for name in names)
    corpus = hs.read_coreference(conllu(tmp_path, f"Entity={opened}", *["_"] * 998, f"Entity={closed}"))
    (document,) = corpus
    assert len(document.mentions) == 1000
    assert corpus.skipped.count == 1
    assert "a.conllu:1: " in corpus.skipped.places[0]
    assert "1,000,000 words" in corpus.skipped.places[0]


def test_columns_without_words(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("a" + "\t" * 14 + "\n", encoding="utf-8")
    with pytest.raises(TextError, match="no coreference format is recognised"):
        list(hs.read_coreference(path))
