import subprocess
import sys

import pytest
from tests.cli.conftest import Run

import headscope as hs


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"headscope {hs.__version__}\n"


def test_no_command_prints_help(run: Run) -> None:
    result = run()
    assert result.exit_code == 0
    assert result.stdout == run("--help").stdout
    for name in ("analyze", "show", "report"):
        assert f"\n  {name} " in result.stdout


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        (
            "analyze",
            "headscope analyze MODEL (--text FILE... | --pairs FILE | --dataset NAME) -o OUT.nc [OPTIONS]",
        ),
        ("show", "headscope show ATLAS [MEASURE] [OPTIONS]"),
        ("report", "headscope report [ATLAS] [OPTIONS]"),
    ],
)
def test_usage_lines(run: Run, command: str, usage: str) -> None:
    first = run(command, "-h").stdout.partition("\n\n")[0]
    assert " ".join(first.split()) == f"Usage: {usage}"


def test_shell_completion_knows_the_commands() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from headscope.cli.main import run; run()"],
        env={"_HEADSCOPE_COMPLETE": "complete_bash", "COMP_WORDS": "headscope sh", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["show"]


def test_python_can_run_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headscope", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith(hs.__version__)
