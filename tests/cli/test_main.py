import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import headscope as hs

SLOW = {"torch", "transformers", "matplotlib", "xarray", "numpy", "sklearn", "scipy"}
WATCH = """
import json, sys
sys.argv = ["headscope", *sys.argv[1:]]
from headscope.cli.main import run
try:
    run()
finally:
    sys.stderr.write("\\nLOADED " + json.dumps(sorted(set(sys.modules))))
"""


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["analyze", "--help"], 0),
        (["show", "--help"], 0),
        (["analyze", "demo", "--text", "a.txt"], 2),
        (["analyze", "demo", "-o", "a.nc"], 2),
        (["analyze", "demo", "--text", "a.txt", "-o", "missing/a.nc"], 2),
    ],
)
def test_help_and_argument_errors_load_nothing_slow(args: list[str], code: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCH, *args], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == code, done.stderr
    loaded = set(json.loads(done.stderr.rpartition("LOADED ")[2]))
    assert not loaded & SLOW


def test_the_start_needs_no_rich_and_nothing_of_other_packages(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCH, "--help"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    loaded = set(json.loads(done.stderr.rpartition("LOADED ")[2]))
    assert not loaded & {"rich.console", "headscope_papers"}
    assert "\n  reproduce " in done.stdout


def test_showing_an_atlas_loads_nothing_that_it_does_not_need(atlas_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCH, "show", str(atlas_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stderr.rpartition("LOADED ")[2]))
    assert not loaded & {
        "torch",
        "transformers",
        "matplotlib",
        "sklearn",
        "scipy.stats",
        "scipy.cluster",
        "h5netcdf",
        "xarray",
        "pandas",
    }


def test_a_report_is_written_without_the_model_s_libraries(atlas_path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCH, "report", str(atlas_path), "-o", str(tmp_path / "report.html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stderr.rpartition("LOADED ")[2]))
    assert not loaded & {"torch", "transformers"}


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
