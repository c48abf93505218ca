"""A file of questions is read an article at a time, in bounded memory."""

import json
from pathlib import Path

import pytest
from tests.helpers.tasks import asked, squad, write_json

from headscope.errors import TextError
from headscope.text.formats.squad import read_questions


def test_articles_are_read_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.text.formats.json_parts.PART_LIMIT", 200_000)
    article = squad(("The cat. " * 6000, [asked("a", "who?", ("cat", 4))]))["data"][0]
    content = {"data": [article] * 20, "version": 1.1}  # 1 MB, in articles of 54 kB
    found = read_questions(write_json(tmp_path / "a.json", content))
    assert [one.article for one in found.questions] == list(range(20))
    article["paragraphs"] *= 20
    with pytest.raises(TextError, match=r"b\.json: an article of more than 200,000 characters; split it"):
        read_questions(write_json(tmp_path / "b.json", {"data": [article]}))


@pytest.mark.parametrize("indent", [None, 1])
def test_numbers_and_names_across_the_pieces_that_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None
) -> None:
    monkeypatch.setattr("headscope.text.formats.json_parts._LEAST", 1)
    monkeypatch.setattr("headscope.text.files.TextStream.chunks", lambda self: iter(self.path.read_text()))
    content = squad(("The cat.", [asked("a", "who?", ("cat", 4))]), version="v2.0") | {"n": 1234, "x": [1, 2]}
    (tmp_path / "a.json").write_text(json.dumps(content, indent=indent))
    assert read_questions(tmp_path / "a.json").questions[0].answers[0].span == (4, 7)
    (tmp_path / "b.json").write_text('{\n "data": [],\n "x": 12 34}')
    with pytest.raises(TextError, match="line 3, column 10"):
        read_questions(tmp_path / "b.json")
    (tmp_path / "c.json").write_text('{"data": []} more')
    with pytest.raises(TextError, match="Extra data, line 1, column 14"):
        read_questions(tmp_path / "c.json")
