import io
import sys

import pytest

from headscope.passes import progress
from headscope.passes.progress import RunProgress, progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that log lines see; set its only entry."""
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


def test_a_log_gets_a_line_now_and_then(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar("[model] on corpus") as tell:
        for second in range(0, 71, 5):
            clock[0] = float(second)
            tell(RunProgress(2 * second, 200.0))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "[model] on corpus: 20 texts, 2.0 texts/s, about 0:01:30 left",
        "[model] on corpus: 80 texts, 2.0 texts/s, about 0:01:00 left",
        "[model] on corpus: 140 texts, 2.0 texts/s, about 0:00:30 left",
    ]


def test_a_short_run_leaves_no_trace_in_a_log(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("model on corpus") as tell:
        clock[0] = 9.0
        tell(RunProgress(10, 10.0))
    assert capsys.readouterr() == ("", "")


def test_a_log_line_without_a_known_end(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("model on pipe") as tell:
        clock[0] = 10.0
        tell(RunProgress(25, None))
    assert capsys.readouterr().err == "model on pipe: 25 texts, 2.5 texts/s\n"


def test_tokens_a_second_where_they_are_counted(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar("model on corpus") as tell:
        clock[0] = 10.0
        tell(RunProgress(25, 50.0, tokens=12_345))
    line = "model on corpus: 25 texts, 2.5 texts/s, 1,234 tokens/s, about 0:00:10 left\n"
    assert capsys.readouterr().err == line


def test_a_terminal_gets_a_bar_that_fits_and_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with progress_bar("[bold] " + "a very long model name " * 9) as tell:
        tell(RunProgress(3, 12.0))
    shown = screen.getvalue()
    assert "[bold] a very" in shown
    assert "3 texts" in shown
    assert shown.rstrip("\r").endswith("\x1b[2K")  # the last thing done is to wipe the line
