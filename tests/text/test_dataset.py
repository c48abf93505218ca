"""Texts from folders, Parquet files and data sets: the same texts as from a plain file."""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope.errors import OptionError, TextError

DOCUMENTS = ["The cat sat. It was red.", "A dog saw it.", "The house of a dog was blue."]


def items(corpus: Iterable[object]) -> list[object]:
    return list(corpus)


@pytest.fixture
def plain(tmp_path: Path) -> list[object]:
    path = tmp_path / "plain.txt"
    path.write_text("\n\n".join(DOCUMENTS))
    return items(hs.read_text(path))


def parquet(path: Path, **table: Sequence[object]) -> Path:
    arrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(arrow.table(table), path)
    return path


def test_a_folder_stands_for_its_files_by_name(tmp_path: Path, plain: list[object]) -> None:
    folder = tmp_path / "texts"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "last.jsonl").write_text(json.dumps({"text": DOCUMENTS[2]}))
    (folder / "a.txt").write_text("\n\n".join(DOCUMENTS[:2]))
    (folder / ".hidden.txt").write_text("never read.")
    corpus = hs.read_text(folder)
    assert items(corpus) == plain
    assert [path.name for path in corpus.paths] == ["a.txt", "last.jsonl"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(TextError, match="is a folder without files"):
        hs.read_text(tmp_path / "empty")


def test_parquet_files(tmp_path: Path, plain: list[object]) -> None:
    file = parquet(tmp_path / "t.parquet", text=[*DOCUMENTS[:2], None, DOCUMENTS[2]], label=[1, 2, 3, 4])
    corpus = hs.read_text(file)
    assert items(corpus) == plain
    assert items(corpus) == plain  # and once more
    named = parquet(tmp_path / "n.parquet", body=DOCUMENTS)
    assert items(hs.read_text(named, column="body")) == plain


def test_parquet_files_of_more_rows_than_are_read_together(tmp_path: Path) -> None:
    texts: list[object] = [f"Text {number}." for number in range(2500)]
    file = parquet(tmp_path / "t.parquet", text=[*texts[:1024], None, *texts[1024:]])
    sentences: list[Any] = list(hs.read_text(file))
    assert [sentence.text for sentence in sentences] == texts


def test_what_is_wrong_with_a_table_is_told(tmp_path: Path) -> None:
    file = parquet(tmp_path / "t.parquet", texts=DOCUMENTS, label=[1, 2, 3])
    with pytest.raises(TextError, match=r"has no column 'text' \(--column\); did you mean texts"):
        items(hs.read_text(file))
    with pytest.raises(TextError, match="column 'label' holds int, text is expected"):
        items(hs.read_text(file, column="label"))
    (tmp_path / "no.parquet").write_bytes(b"PAR1 is not enough")
    with pytest.raises(TextError, match=r"no\.parquet cannot be read as Parquet"):
        items(hs.read_text(tmp_path / "no.parquet"))
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(TextError, match="cannot be read together"):
        hs.read_text(file, tmp_path / "a.txt")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pyarrow", "pyarrow.parquet", "datasets"):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "t.parquet").write_bytes(b"")
    with pytest.raises(OptionError, match=r"pyarrow: pip install 'headscope\[datasets\]'"):
        items(hs.read_text(tmp_path / "t.parquet"))
    with pytest.raises(OptionError, match=r"datasets: pip install 'headscope\[datasets\]'"):
        hs.read_dataset("x")


def test_a_data_set_is_streamed(tmp_path: Path, plain: list[object]) -> None:
    pytest.importorskip("datasets")
    folder = tmp_path / "set"
    folder.mkdir()
    lines = [json.dumps({"body": text, "label": 1}) for text in DOCUMENTS]
    (folder / "train.jsonl").write_text("\n".join(lines))
    corpus = hs.read_dataset(str(folder), column="body")
    assert items(corpus) == plain
    assert corpus.name == f"{folder}, train"
    with pytest.raises(TextError, match=r"has no column 'text' .*choose from body, label"):
        items(hs.read_dataset(str(folder)))
    with pytest.raises(TextError, match="split dev, cannot be read"):
        items(hs.read_dataset(str(folder), split="dev", column="body"))
    with pytest.raises(TextError, match="the data set nobody/nothing, split train, cannot be read"):
        items(hs.read_dataset("nobody/nothing"))
