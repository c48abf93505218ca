"""`headscope probe parser`: its table, its atlas, its options, and what it refuses."""

import json
from pathlib import Path

import pytest
from tests.cli.commands.test_probe import treebank
from tests.cli.conftest import Run

import headscope as hs

__all__ = ["treebank"]
"""Fixtures, which pytest finds by their names."""


@pytest.fixture
def parts(treebank: Path) -> tuple[object, ...]:
    return "--train", treebank, "--dev", treebank, "--test", treebank


@pytest.mark.slow
def test_the_table_and_the_atlas(run: Run, model: Path, parts: tuple[object, ...], tmp_path: Path) -> None:
    out = tmp_path / "out.nc"
    done = run("probe", "parser", model, *parts, "--max-epochs", 2, "-o", out, "--full")
    assert done.exit_code == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[5:12]] == [
        "attention", "attention_words", "right_branching", "best_offset", "distances_words",
        "random_attention", "random_attention_words",
    ]  # fmt: skip
    atlas = hs.open(out)
    assert "parser_uas" in atlas.measures
    assert list(atlas.provenance["probes"]) == ["parser"]


def test_the_usage_line_is_made_of_what_is_needed(run: Run) -> None:
    first = run("probe", "parser", "-h").stdout.partition("\n\n")[0]
    usage = "MODEL --train FILE.conllu... --test FILE.conllu... [OPTIONS]"
    assert " ".join(first.split()) == f"Usage: headscope probe parser {usage}"


def test_the_limit_holds_for_each_file(run: Run, model: Path, parts: tuple[object, ...]) -> None:
    told = json.loads(run("probe", "parser", model, *parts, "--max-epochs", 1, "--limit", 2, "--json").stdout)
    assert told["texts"] == 6, "two of each file"


def test_missing_vectors_are_told_in_one_line(run: Run, model: Path, parts: tuple[object, ...]) -> None:
    result = run("probe", "parser", model, *parts, "--vectors", "no.txt")
    assert result.exit_code == 2
    assert "no such file" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
