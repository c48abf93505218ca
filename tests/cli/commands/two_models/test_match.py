"""`headscope match`: the summary first, a short table, JSON, the atlas, and `compare --match`."""

import json
from pathlib import Path

from tests.cli.conftest import Run

import headscope as hs


def test_the_summary_comes_first(run: Run, model: Path, other: Path, corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.nc"
    options = ["--text", corpus, "--max-length", 24, "--limit", 6]
    result = run("match", model, other, *options, "-o", output)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert "of 12 heads of" in lines[0]
    assert lines[1].startswith("Median distance ")
    assert len(lines) <= 25
    assert hs.open(output).provenance["model"] == str(other)
    told = json.loads(run("match", model, other, *options, "--json").stdout)
    assert len(told["rows"]) == 12
    assert told["summaries"][0]["pairs"] == 12
    compared = run("compare", model, other, *options, "--match", "--json")
    assert {
        row["head"]: row["partner"] for row in json.loads(compared.stdout)["stacks"]["encoder"]["heads"]
    } == {row["head_b"]: row["head_a"] for row in told["rows"]}


def test_what_is_wrong_is_said_in_one_line(run: Run, model: Path, other: Path, corpus: Path) -> None:
    result = run("match", model, other, "--text", corpus, "--max-length", 24, "--limit", 2)
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert "--limit" in result.stderr
