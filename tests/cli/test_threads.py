"""A command takes no more threads than cores are free, and what the user has set stays."""

import os
import sys
from pathlib import Path

import pytest

from headscope.cli import main, threads

NAMES = (*threads.WAITING, threads.THREADS)


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "")  # so that it is put back as it was, whatever is set here
        monkeypatch.delenv(name)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(threads, "STATE", tmp_path / "stat")
    return tmp_path / "stat"


@pytest.mark.parametrize(
    ("running", "taken"), [(0, None), (1, None), (2, "3"), (4, "1"), (5, "1"), (99, "1")]
)
def test_as_many_threads_as_cores_are_free(state: Path, running: int, taken: str | None) -> None:
    state.write_text(f"cpu 1 2 3\nprocs_running {running}\nprocs_blocked 7\n")
    threads.be_modest()
    assert os.environ.get(threads.THREADS) == taken


@pytest.mark.parametrize("content", [None, "", "cpu 1 2 3\n"])
def test_a_system_that_does_not_say(state: Path, content: str | None) -> None:
    if content is not None:
        state.write_text(content)
    threads.be_modest()
    assert threads.THREADS not in os.environ


def test_what_the_user_set_stays(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state.write_text("procs_running 99\n")
    monkeypatch.setenv("KMP_BLOCKTIME", "200")
    monkeypatch.setenv(threads.THREADS, "8")
    monkeypatch.setattr(sys, "argv", ["headscope", "--version"])
    with pytest.raises(SystemExit):
        main.run()
    assert {name: os.environ[name] for name in NAMES} == {
        "GOMP_SPINCOUNT": "2000",
        "KMP_BLOCKTIME": "200",
        threads.THREADS: "8",
    }
