import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.tasks import asked, questions_file, squad, write_json

from headscope.errors import TextError
from headscope.text.formats.squad import read_questions


def test_questions_in_their_order(tmp_path: Path) -> None:
    found = read_questions(questions_file(tmp_path / "dev.json"))
    assert [(one.name, one.article) for one in found.questions] == [
        ("a", 0),
        ("b", 0),
        ("c", 1),
        ("d", 1),
        ("e", 2),
    ]
    assert found.name == "dev.json"
    assert len(found) == 5
    assert not found.has_impossible
    for one in found.questions:
        for answer in one.answers:
            assert answer.span is not None
            assert one.context[slice(*answer.span)] == answer.text


def test_several_files_and_gzip(tmp_path: Path) -> None:
    plain = questions_file(tmp_path / "a.json")
    packed = tmp_path / "b.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    found = read_questions(plain, packed)
    assert [one.article for one in found.questions] == [0, 0, 1, 1, 2, 3, 3, 4, 4, 5]


def test_an_answer_that_does_not_stand_where_the_file_says(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", squad(("The cat.", [asked("a", "who?", ("cat", 3), ("cat", 4))])))
    (one,) = read_questions(path).questions
    assert [answer.span for answer in one.answers] == [None, (4, 7)]


@pytest.mark.parametrize("version", ["v2.0", "2.0"])
def test_version_2(tmp_path: Path, version: str) -> None:
    content = squad(
        ("The cat.", [asked("a", "who?", ("cat", 4), impossible=False), asked("b", "why?", impossible=True)]),
        version=version,
    )
    found = read_questions(write_json(tmp_path / "a.json", content))
    assert found.has_impossible
    assert [len(one.answers) for one in found.questions] == [1, 0]


def test_is_impossible_alone_makes_it_version_2(tmp_path: Path) -> None:
    content = squad(("The cat.", [asked("b", "why?", ("cat", 4), impossible=True)]))
    found = read_questions(write_json(tmp_path / "a.json", content))
    assert found.has_impossible
    assert found.questions[0].answers == ()


BROKEN: list[tuple[Any, str]] = [
    ({"id": "x", "answers": []}, "question is no text"),
    ({"id": "x", "question": " ", "answers": []}, "question is no text"),
    ({"id": "x", "question": "who?", "answers": []}, "no answers"),
    ({"id": "x", "question": "who?", "answers": "cat"}, "answers is no list"),
    ({"id": "x", "question": "who?", "answers": [{"answer_start": 1}]}, "without text"),
    (7, "no object"),
]


@pytest.mark.parametrize(("entry", "reason"), BROKEN)
def test_broken_questions_are_skipped_and_told(tmp_path: Path, entry: Any, reason: str) -> None:
    content = squad(("The cat.", [asked("a", "who?", ("cat", 4)), entry]))
    found = read_questions(write_json(tmp_path / "a.json", content))
    assert [one.name for one in found.questions] == ["a"]
    assert found.skipped.count == 1
    assert "a.json: article 0, paragraph 0, question 1" in found.skipped.places[0]
    assert reason in found.skipped.places[0]


def test_broken_paragraphs_and_articles_are_skipped_and_told(tmp_path: Path) -> None:
    content = squad(("The cat.", [asked("a", "who?", ("cat", 4))]))
    content["data"] += [
        7,
        {"paragraphs": [{"context": "", "qas": [asked("b", "x"), asked("c", "y")]}, {"context": "cat"}]},
    ]
    found = read_questions(write_json(tmp_path / "a.json", content))
    assert len(found) == 1
    assert found.skipped.count == 1 + 2 + 1
    assert "article 1: no list of paragraphs" in found.skipped.places[0]
    assert "article 2, paragraph 0: context is no text" in found.skipped.places[1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a.json: not JSON"),
        ("{\n{", "a.json: not JSON .*line 2, column 1"),
        ("[]", "an array, not an object"),
        ("{}", "no list of articles"),
        (json.dumps({"data": []}), "holds no question"),
        (json.dumps(squad(("The cat.", [{"question": "who?"}]))), "question 0: no answers"),
    ],
)
def test_files_without_a_question(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(TextError, match=reason):
        read_questions(path)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="no such file"):
        read_questions(tmp_path / "a.json")
    with pytest.raises(TextError, match="given no file"):
        read_questions()


def test_the_version_may_come_last(tmp_path: Path) -> None:
    content = squad(
        ("The cat.", [asked("a", "who?", ("cat", 4)), {"id": "b", "question": "why?", "answers": []}])
    )
    content.pop("version", None)
    found = read_questions(write_json(tmp_path / "a.json", {**content, "version": "v2.0"}))
    assert [one.name for one in found.questions] == ["a", "b"]
    assert found.has_impossible


def test_articles_are_numbered_through_all_files(tmp_path: Path) -> None:
    article = squad(("The cat.", [asked("a", "who?", ("cat", 4))]))["data"][0]
    files = [write_json(tmp_path / name, {"data": [article] * 2}) for name in ("a.json", "b.json")]
    assert [one.article for one in read_questions(*files).questions] == [0, 1, 2, 3]


def test_a_file_beyond_the_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_json(tmp_path / "a.json", squad(("The cat. " * 1000, [asked("a", "who?", ("cat", 4))])))
    monkeypatch.setattr("headscope.text.formats.squad.SIZE_LIMIT", 5000)
    with pytest.raises(TextError, match=r"a\.json: more than 5,000 characters"):
        read_questions(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{\n "data": [],\n "x": 12 34}', "line 3, column 10"),
        ('{"data": []} more', "Extra data, line 1, column 14"),
        ("[" * 100_000, "cannot be read"),
        (f'{{"data": {"9" * 5000}}}', "cannot be read"),
    ],
)
def test_json_that_cannot_be_read(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(TextError, match=reason):
        read_questions(tmp_path / "a.json")
