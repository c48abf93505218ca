"""The explain command."""

import json
from functools import partial
from pathlib import Path

import pytest
from tests.cli.conftest import Refused, Run

import headscope as hs


def test_a_page_for_each_head(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "atlas.nc"
    options = ("--text", corpus, "--max-length", 32, "-o", output, "--full")
    result = run("explain", model, "--head", "1.2", "0.0", *options)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.index("\nHead 0.0\n") < result.stdout.index("\nHead 1.2\n")
    assert f"written to {output}" in result.stdout
    assert "pattern_left" in hs.open(output)
    again = run("explain", model, "--head", "0.1", "--text", corpus, "--max-length", 32, "-o", output)
    assert f"added to {output}" in again.stdout


def test_json_has_all_of_it(run: Run, model: Path, corpus: Path) -> None:
    result = run("explain", model, "--head", "1.2", "--text", corpus, "--max-length", 32, "--json")
    told = json.loads(result.stdout)
    assert told["replaceable"] == ["token", "position", "segment"]
    (head,) = told["heads"]
    assert (head["stack"], head["head"], head["neurons"]) == ("encoder", "1.2", 8)
    assert [one["neurons"] for one in head["carries"]] == [1, 2, 4, 8]
    assert head["carries"][-1]["score"]["value"] == pytest.approx(1)
    assert [one["contrast"] for one in head["separates"]] == ["segment", "sentence", "sep"]
    assert [one["replaced"] for one in head["left"]] == ["token", "position", "segment", "all", "even"]


def test_what_is_wrong_is_said_in_one_line(
    refused: Refused, model: Path, corpus: Path, tmp_path: Path
) -> None:
    said = partial(refused, "explain")
    assert "there is no head 7.7" in said(model, "--head", "7.7", "--text", corpus, "--max-length", 32)
    assert "--head" in said(model, "--text", corpus)
    assert "missing.txt" in said(model, "--head", "0.0", "--text", tmp_path / "missing.txt")
    assert "no folder" in said(model, "--head", "0.0", "--text", corpus, "-o", tmp_path / "no" / "a.nc")
