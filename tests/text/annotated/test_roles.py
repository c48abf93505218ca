"""Predicates and arguments from JSON lines: what is read, and what is skipped by file and line."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope.errors import TextError
from headscope.registry import Registry

GOOD: dict[str, Any] = {
    "sent_id": "news-0001",
    "tokens": ["She", "gave", "him", "a", "book", "."],
    "predicate": 1,
    "roleset": "give.01",
    "arguments": [
        {"label": "ARG0", "start": 0, "end": 1},
        {"label": "ARG2", "start": 2, "end": 3},
        {"label": "ARG1", "start": 3, "end": 5},
    ],
}


def written(folder: Path, *rows: object) -> Path:
    path = folder / "roles.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_row(tmp_path: Path) -> None:
    path = written(tmp_path, "", GOOD)
    corpus = hs.read_roles(path)
    (one,) = corpus
    assert one.content.text == "She gave him a book ."
    assert one.content.words == GOOD["tokens"]
    assert one.predicate == (1,)
    assert one.arguments == (
        ("ARG0", 0, 1, True),
        ("ARG2", 2, 3, True),
        ("ARG1", 3, 5, True),
    )
    assert list(one.arguments[2].words) == [3, 4]
    assert (one.sense, one.name, one.document, one.line) == ("give.01", "news-0001", 0, 2)
    assert one.where() == one.where(3) == f"{path}:2"
    assert corpus.skipped.note() is None
    assert corpus.annotator is None
    assert repr(corpus) == "RoleCorpus('roles.jsonl')"


def test_the_sample_is_read_whole() -> None:
    path = hs.sample_path("roles")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    corpus = hs.read_roles(path)
    found = list(corpus)
    assert corpus.skipped.count == 0
    assert len(found) == len(rows)
    for one, row in zip(found, rows, strict=True):
        assert one.content.words == row["tokens"]
        assert one.predicate == (row["predicate"],)
        assert [argument[:3] for argument in one.arguments] == [
            (argument["label"], argument["start"], argument["end"]) for argument in row["arguments"]
        ]
    titles = [row["sent_id"].split("-")[0] for row in rows]
    changes = sum(a != b for a, b in pairwise(titles))
    assert found[-1].document == changes
    assert len({one.document for one in found}) == len(set(titles))


def test_again_and_again_with_progress(tmp_path: Path) -> None:
    path = written(tmp_path, *[GOOD] * 300, "oops")
    corpus = hs.read_roles(path, path)
    assert corpus.progress == 0
    shares = [corpus.progress or 0.0 for _ in corpus]
    assert shares == sorted(shares)
    assert shares[0] < 0.5 < shares[-1] <= 1
    assert corpus.progress == 1
    assert corpus.skipped.count == 2
    assert len(list(corpus)) == 600
    assert corpus.skipped.count == 2
    assert corpus.name == "roles.jsonl, roles.jsonl"


def test_documents(tmp_path: Path) -> None:
    names = ["a-b-1", "a-b-2", "a-c-1", 7, "nothing", None, "a-b-3"]
    path = written(tmp_path, *({**GOOD, "sent_id": name} for name in names))
    found = list(hs.read_roles(path, path))
    assert [one.document for one in found] == [0, 0, 1, 2, 2, 2, 0, 3, 3, 4, 5, 5, 5, 3]
    assert [one.name for one in found[:7]] == ["a-b-1", "a-b-2", "a-c-1", "7", "nothing", "", "a-b-3"]


@pytest.mark.parametrize(
    ("label", "is_core"),
    [
        *(("ARG0", True), ("ARG5", True), ("ARGA", True), ("R-ARG1", True), ("C-ARG1-DSP", True)),
        *(("Agent", True), ("AMOUNT", True), ("ARGM", False), ("ARGM-TMP", False), ("AM-LOC", False)),
        *(("R-ARGM-LOC", False), ("C-ARGM-MNR", False), ("R-AM-TMP", False)),
    ],
)
def test_modifiers_are_not_core(tmp_path: Path, label: str, is_core: bool) -> None:
    row = {**GOOD, "arguments": [{"label": label, "start": 0, "end": 1}]}
    (one,) = hs.read_roles(written(tmp_path, row))
    assert one.arguments == ((label, 0, 1, is_core),)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "cannot be read"),
        ("[]", "an array, not an object"),
        ("null", "null, not an object"),
        ('"' + "x" * 100 + '"', "a string, not an object"),
        ({}, "no tokens and no predicate"),
        ({key: GOOD[key] for key in GOOD if key != "predicate"}, "no predicate"),
        ({**GOOD, "tokens": []}, "tokens is []"),
        ({**GOOD, "tokens": "She gave"}, 'tokens is "She gave"'),
        ({**GOOD, "tokens": ["She", 7]}, 'tokens is ["She", 7]'),
        ({**GOOD, "predicate": 6}, "predicate is 6; expected a whole number from 0 to 5"),
        ({**GOOD, "predicate": -1}, "predicate is -1"),
        ({**GOOD, "predicate": True}, "predicate is true"),
        ({**GOOD, "predicate": 1.0}, "predicate is 1.0"),
        ({**GOOD, "predicate": "1"}, 'predicate is "1"'),
        ({**GOOD, "predicate": None}, "predicate is null"),
        ({**GOOD, "arguments": {}}, "arguments is {}"),
        ({**GOOD, "sent_id": ["x"]}, 'sent_id is ["x"]'),
        ({**GOOD, "roleset": False}, "roleset is false"),
    ],
)
def test_broken_rows(tmp_path: Path, row: object, reason: str) -> None:
    path = written(tmp_path, GOOD, row, GOOD)
    corpus = hs.read_roles(path)
    assert [one.line for one in corpus] == [1, 3]
    assert corpus.skipped.count == 1
    assert corpus.skipped.places[0].startswith(f"{path}:2: ")
    assert reason in corpus.skipped.places[0]
    assert "\n" not in corpus.skipped.places[0]


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ({"label": "X", "start": 4, "end": 7}, "end is 7; expected a whole number from 0 to 6"),
        ({"label": "X", "start": 6, "end": 7}, "start is 6"),
        ({"label": "X", "start": -1, "end": 1}, "start is -1"),
        ({"label": "X", "start": 4, "end": -1}, "end is -1"),
        ({"label": "X", "start": 3, "end": 3}, "start 3, end 3: no words"),
        ({"label": "X", "start": 4, "end": 3}, "start 4, end 3: no words"),
        ({"label": "X", "start": False, "end": 1}, "start is false"),
        ({"label": "X", "start": 2, "end": True}, "end is true"),
        ({"label": "X", "start": 2.0, "end": 3}, "start is 2.0"),
        ({"label": "X", "start": 0, "end": 2}, "contain the predicate 1"),
        ({"label": "X", "start": 1, "end": 2}, "contain the predicate 1"),
        ({"label": "X", "start": 2}, "end is null"),
        ({"start": 2, "end": 3}, "label is null"),
        ({"label": "", "start": 2, "end": 3}, 'label is ""'),
        ({"label": 3, "start": 2, "end": 3}, "label is 3"),
        ({"label": "all", "start": 2, "end": 3}, "other than 'all'"),
        ([2, 3], "[2, 3] is no object"),
    ],
)
def test_broken_arguments_do_not_take_the_others_along(tmp_path: Path, argument: object, reason: str) -> None:
    row = {**GOOD, "arguments": [GOOD["arguments"][0], argument, GOOD["arguments"][2]]}
    path = written(tmp_path, "", row)
    corpus = hs.read_roles(path)
    (one,) = corpus
    assert [found.label for found in one.arguments] == ["ARG0", "ARG1"]
    assert corpus.skipped.count == 1
    assert corpus.skipped.places[0].startswith(f"{path}:2: argument 1: ")
    assert reason in corpus.skipped.places[0]


def test_limits_that_just_fit(tmp_path: Path) -> None:
    row = {**GOOD, "predicate": 5, "arguments": [{"label": "X", "start": 0, "end": 5}]}
    last = {**GOOD, "predicate": 0, "arguments": [{"label": "X", "start": 1, "end": 6}]}
    corpus = hs.read_roles(written(tmp_path, row, last))
    assert [one.arguments[0][1:3] for one in corpus] == [(0, 5), (1, 6)]
    assert corpus.skipped.count == 0


def test_rows_without_arguments_are_no_error(tmp_path: Path) -> None:
    corpus = hs.read_roles(written(tmp_path, {**GOOD, "arguments": []}, GOOD))
    assert [one.line for one in corpus] == [2]
    assert corpus.skipped.count == 0


def test_control_characters(tmp_path: Path) -> None:
    row = {**GOOD, "tokens": ["She\x00", "gave", "\ud83d", "a", "book", "."], "sent_id": "x\x1b[2J-1"}
    (one,) = hs.read_roles(written(tmp_path, row))
    assert one.content.words == ["She ", "gave", " ", "a", "book", "."]
    assert one.name == "x [2J-1"


def test_nothing_to_use(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"roles\.jsonl holds no predicate with arguments"):
        list(hs.read_roles(written(tmp_path, {**GOOD, "arguments": []})))
    with pytest.raises(
        TextError,
        match=r"roles\.jsonl: .* 2 were skipped, .*roles\.jsonl:1: not JSON",
    ):
        list(hs.read_roles(written(tmp_path, "x", "y")))
    with pytest.raises(TextError, match="no such file"):
        hs.read_roles(tmp_path / "missing.jsonl")
    with pytest.raises(TextError, match="was given no file"):
        hs.read_roles()


def test_the_words_of_a_sentence_are_shared(tmp_path: Path) -> None:
    other = {**GOOD, "tokens": ["He", "left", "it"], "arguments": [{"label": "ARG0", "start": 0, "end": 1}]}
    found = list(hs.read_roles(written(tmp_path, GOOD, GOOD, other, GOOD)))
    assert found[0].content is found[1].content
    assert Counter(one.content.text for one in found) == {"She gave him a book .": 3, "He left it": 1}


def test_framenet_files_name_the_package_that_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.text.annotated.roles.READERS", Registry("reader"))
    monkeypatch.setattr("headscope.registry.entry_points", lambda group: [])
    (tmp_path / "a.xml").write_text("<fullTextAnnotation/>")
    for given in (tmp_path, tmp_path / "a.xml"):
        with pytest.raises(TextError, match=r"a\.xml .*pip install headscope-papers"):
            hs.read_roles(given)
