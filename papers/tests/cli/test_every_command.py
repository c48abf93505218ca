"""The commands of this package on models as people have them today, and on atlases that somebody forged."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.test_every_command import not_serving, study
from tests.cli.test_forged_atlases import check_refused, damaged_sentences, forge, good, leaves, ways_in
from typer.main import get_command
from typer.testing import CliRunner

from headscope.cli.main import app
from headscope.data import sample_path
from headscope_papers.cli import parser
from headscope_papers.cli.commands import reproduce

__all__ = ["forge", "good", "not_serving", "study"]
"""Fixtures, which pytest finds by their names."""

PAPERS = ("clark2019", "guan2020", "kobayashi2020", "kovaleva2019", "vig2019")


def commands(model: Path) -> dict[str, list[object]]:
    """Every command, by name, with small data."""
    treebank, text = sample_path("treebank"), sample_path("articles")
    parsers = ["--train", treebank, "--test", treebank, "--limit", 20, "--max-epochs", 1]
    few = ["--text", text, "--max-length", 48, "--limit", 6]
    return {
        "probe parser": ["probe", "parser", model, *parsers],
        **{f"reproduce {paper}": ["reproduce", paper, model, *few] for paper in PAPERS},
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", commands(Path()))
def test_a_command_gives_a_result(name: str, study: tuple[str, Path]) -> None:
    family, folder = study
    words = [str(word) for word in commands(folder / family)[name]]
    done = CliRunner().invoke(app, words, prog_name="headscope")
    assert done.exit_code == 0, done.output


COMMANDS = [
    ("probe parser", get_command(parser.app)),
    *leaves(get_command(reproduce), ("reproduce",)),
]


def ways(atlas: Path, whole: Path) -> dict[str, list[object]]:
    """Wherever one of these commands takes an atlas, what to type for this one to be read there."""
    model = whole.parent / "bert"
    return ways_in(atlas, whole, COMMANDS, {**commands(model), "reproduce all": ["reproduce", "all", model]})


WAYS = list(ways(Path("forged.nc"), Path("good.nc")))
NOT_READ = "already exists; choose a new name"
"""What is said of -o by commands that put no atlas in the place of another one."""


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_every_command_refuses_an_atlas_that_names_another_file(
    way: str,
    forge: Callable[..., Path],
    good: Path,
    run: Run,
    tmp_path: Path,
) -> None:
    assert {"probe parser -o", "reproduce vig2019", "reproduce all -o"} < {*WAYS}
    not_read = NOT_READ if way.startswith("reproduce") and way.endswith("-o") else ""
    check_refused(lambda atlas: run(*ways(atlas, good)[way]), forge, tmp_path, not_read)


@pytest.mark.parametrize("way", [way for way in WAYS if " -" not in way])
def test_damaged_sentences_are_named_or_not_looked_at(
    way: str,
    forge: Callable[..., Path],
    good: Path,
    run: Run,
) -> None:
    done = run(*ways(forge(damaged_sentences), good)[way])
    said = " ".join(done.output.split())
    assert "bug" not in said
    assert done.exit_code in (0, 1, 2), said
