"""What the command tests share: a tiny model on disk, a corpus, atlases, and a way to run the command."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.tiny import tiny
from typer.testing import CliRunner, Result

import headscope as hs
from headscope.cli.main import app

Run = Callable[..., Result]
Refused = Callable[..., str]

CORPUS = (
    "The cat sat on the mat. The dog saw it, and it was red.\n"
    "The blue house was in the mat of a dog. A cat saw the red house!\n\n"
    "It was the cat of the house. The dog sat in it, and the cat was blue.\n"
) * 3


@pytest.fixture
def run(no_log_lines: None) -> Run:
    """The command in this process: `run("show", path)` gives exit_code, stdout and stderr."""

    def invoke(*args: object) -> Result:
        return CliRunner().invoke(app, [str(arg) for arg in args], prog_name="headscope")

    return invoke


@pytest.fixture
def refused(run: Run) -> Refused:
    """What a command says of words that it refuses: one line, and exit code 2."""

    def said(*args: object) -> str:
        result = run(*args)
        assert result.exit_code == 2
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr
        return result.stderr

    return said


@pytest.fixture
def model(tiny_folder: Path) -> Path:
    """The model that commands are run on."""
    return tiny_folder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Three short documents, three times."""
    path = tmp_path / "corpus.txt"
    path.write_text(CORPUS, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def atlas_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An atlas with all measures of the tiny BERT."""
    path = tmp_path_factory.mktemp("atlases") / "bert.nc"
    hs.analyze(tiny("bert"), CORPUS.split("\n\n"), max_length=32).save(path)
    return path


@pytest.fixture(scope="session")
def stacks_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An atlas with three stacks, of the tiny T5."""
    path = tmp_path_factory.mktemp("atlases") / "t5.nc"
    hs.analyze(tiny("t5"), [("the cat sat", "a dog saw it"), ("it was red", "the mat")], max_length=32).save(
        path
    )
    return path
