"""What the commands of this package print with --json keeps to the published schema, docs/cli-json.schema.json."""

from pathlib import Path

import pytest
from tests.cli import test_json as core
from tests.cli.conftest import Run
from tests.cli.test_json import check_schema, check_screen, places, quick, words_of
from typer.main import get_command

from headscope_papers.cli.commands import reproduce

__all__ = ["places", "quick"]
"""Fixtures, which pytest finds by their names."""

MEASURED = core.MEASURED
COMMANDS = {
    "probe parser": "MODEL --train TREEBANK --dev TREEBANK --test TREEBANK --max-epochs 1",
    "reproduce clark2019": "ATLAS",
    "reproduce guan2020": "ATLAS",
    "reproduce kobayashi2020": f"MODEL {MEASURED} --limit 2",
    "reproduce kovaleva2019": f"MODEL {MEASURED} --limit 2",
    "reproduce vig2019": "ATLAS",
    "reproduce all": "ATLAS --page PLAIN",
}


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_keeps_to_the_schema(
    run: Run,
    places: dict[str, Path],
    tmp_path: Path,
    name: str,
) -> None:
    check_schema(run, name, words_of(COMMANDS[name], places, tmp_path))


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_answer_fits_a_screen(
    run: Run,
    places: dict[str, Path],
    tmp_path: Path,
    name: str,
) -> None:
    check_screen(run, name, COMMANDS[name], words_of(COMMANDS[name], places, tmp_path))


def test_every_command_is_published_and_tested() -> None:
    assert {"probe parser", *core.names(get_command(reproduce), ("reproduce",))} == set(COMMANDS)
    assert set(core.COMMANDS) | set(COMMANDS) == set(core.PARTS) - {"envelope", "failure"}
