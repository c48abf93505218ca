"""What `make demo` runs: commands that there are, one after another, up to the first that fails."""

import sys
from pathlib import Path

import pytest
from tools import demo
from typer.main import get_command

from headscope.cli.main import app


def ran(monkeypatch: pytest.MonkeyPatch, folder: Path, *codes: int) -> list[str]:
    """The commands that are run when they end with these exit codes, and all others with 0."""
    commands: list[str] = []
    left = list(codes)

    def run() -> None:
        commands.append(" ".join(sys.argv[1:]))
        raise SystemExit(left.pop(0) if left else 0)

    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(demo, "run", run)
    try:
        demo.main()
    except SystemExit as end:
        commands.append(f"ends with {end.code}")
    return commands


def test_every_command_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert ran(monkeypatch, tmp_path) == list(demo.COMMANDS)
    assert (tmp_path / "demo").is_dir()


def test_the_first_that_fails_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert ran(monkeypatch, tmp_path, 0, 3) == [*demo.COMMANDS[:2], "ends with 3"]


def test_all_are_commands() -> None:
    assert {command.split()[0] for command in demo.COMMANDS} <= set(get_command(app).commands)  # type: ignore[attr-defined]
