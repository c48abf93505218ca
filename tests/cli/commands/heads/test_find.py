"""The find command."""

import json
from functools import partial
from pathlib import Path

import pytest
from tests.cli.conftest import Refused, Run

import headscope as hs

TEXT = "the cat sat on the red mat"


@pytest.fixture
def arrows(tmp_path: Path) -> Path:
    path = tmp_path / "arrows.jsonl"
    records = [{"text": f"{TEXT} {word}", "arrows": [[6, 4], [[4, 7], [8, 11]]]} for word in "abcdef"]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def test_the_answer_comes_first_and_is_short(run: Run, model: Path, arrows: Path, tmp_path: Path) -> None:
    output = tmp_path / "atlas.nc"
    result = run("find", model, "--arrows", arrows, "-o", output)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) <= 25
    assert f"written to {output}" in result.stdout
    assert hs.open(output)["find_p"].shape == (3, 4)


def test_json_has_every_head(run: Run, model: Path, arrows: Path) -> None:
    result = run("find", model, "--arrows", arrows, "--permutations", 100, "--json")
    told = json.loads(result.stdout)
    assert len(told["rows"]) == 12
    assert told["options"]["permutations"] == 100
    (answer,) = told["answers"]
    assert (answer["head"] is None) == (told["rows"][0]["p_value"] >= 0.05)
    assert answer["sentences"]


def test_good_lines_count_and_bad_ones_are_told(run: Run, model: Path, arrows: Path) -> None:
    arrows.write_text(
        arrows.read_text() + '\nnot json\n{"text": "a dog", "arrows": [[0, 9]]}', encoding="utf-8"
    )
    result = run("find", model, "--arrows", arrows, "--permutations", 100, "--full")
    assert result.exit_code == 0
    (note,) = result.stderr.strip().splitlines()
    assert note.startswith("note: 2 annotations skipped: ")
    assert "arrows.jsonl:7: not JSON" in note
    assert "arrows.jsonl:8: arrow 0: there is no word 9; the text has words 0 to 1" in note


def test_what_is_wrong_is_said_in_one_line(
    refused: Refused, model: Path, arrows: Path, tmp_path: Path
) -> None:
    said = partial(refused, "find")
    few = tmp_path / "few.jsonl"
    few.write_text("\n".join(arrows.read_text().splitlines()[:3]), encoding="utf-8")
    assert "few.jsonl has 3 texts with usable arrows, and at least 5 are needed" in said(
        model, "--arrows", few
    )
    few.write_text('{"text": "a dog"}', encoding="utf-8")
    assert "none of its annotations can be used" in said(model, "--arrows", few)
    assert "no such file" in said(model, "--arrows", tmp_path / "none.jsonl").lower()
    assert "--permutations" in said(model, "--arrows", arrows, "--permutations", 3)
