import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import headscope as hs
from headscope.errors import CaptureError, HeadscopeError


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(path: object) -> hs.Atlas:
        raise error

    monkeypatch.setattr(hs, "open", fail)


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (HeadscopeError("give this instead"), 2, "give this instead"),
        (CaptureError("not seen"), 1, "not seen"),
        (HeadscopeError("two\n  lines and \x1b[31m colour"), 2, r"two lines and \x1b[31m colour"),
        (KeyboardInterrupt(), 130, "interrupted; no half-written file was left"),
        (MemoryError(), 1, "out of memory; try --batch-size 1"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), 1, "out of memory; try"),
        (OSError(28, "No space left on device", "x.nc"), 1, "x.nc: No space left on device"),
        (KeyError("x"), 1, "unexpected KeyError: 'x'; this is a bug in headscope: please report it"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_one_line_and_the_right_exit_code(
    *, run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, says: str, as_json: bool
) -> None:
    failing(monkeypatch, error)
    result = run("show", "a.nc", *(["--json"] if as_json else []))
    assert result.exit_code == code
    assert result.stderr.startswith(f"headscope: error: {says}")
    assert result.stderr.count("\n") == 1
    if as_json:
        told = json.loads(result.stdout)
        assert f"headscope: error: {told['error']}\n" == result.stderr
        assert told["exit_code"] == code
    else:
        assert result.stdout == ""


def test_torch_out_of_memory_is_told_apart(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    failing(monkeypatch, torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"))
    assert "error: out of memory; try" in run("show", "a.nc").stderr


@pytest.mark.parametrize("how", ["option", "environment"])
def test_debug_shows_the_traceback(run: Run, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    failing(monkeypatch, KeyError("x"))
    if how == "environment":
        monkeypatch.setenv("HEADSCOPE_DEBUG", "1")
    result = run("show", "a.nc", *(["--debug"] if how == "option" else []))
    assert result.stderr.startswith("Traceback")
    assert result.stderr.splitlines()[-1].startswith("headscope: error: unexpected KeyError")
    assert result.exit_code == 1


def test_usage_errors_point_to_help_and_are_json_too(run: Run) -> None:
    result = run("show", "--json", "--nonsense")
    assert result.exit_code == 2
    assert result.stderr == "headscope: error: No such option: --nonsense (see: headscope show --help)\n"
    assert json.loads(result.stdout)["exit_code"] == 2


def test_an_unknown_command_suggests_one(run: Run) -> None:
    result = run("analyse")
    assert result.exit_code == 2
    assert "No such command 'analyse'" in result.stderr
    assert "'analyze'" in result.stderr


def command(*args: object) -> list[str]:
    return [sys.executable, "-c", "from headscope.cli.main import run; run()", *map(str, args)]


def test_a_closed_pipe_is_quiet(atlas_path: Path) -> None:
    many = command("show", atlas_path, "role_attention", "--json")  # more than a pipe holds
    process = subprocess.Popen(many, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_full_standard_output_is_one_line(atlas_path: Path, options: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command("show", atlas_path, *options), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr.decode() == "headscope: error: No space left on device\n"
