"""What a run tells while it goes on, and the bar that shows it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

FIRST_LINE_AFTER = 10.0
"""Seconds until a run whose output goes to a log tells how far it is; a short run leaves no trace there."""
LINE_EVERY = 30.0


@dataclass(frozen=True)
class RunProgress:
    """How far a run is."""

    texts: int
    expected: float | None
    """How many texts there will be in all: exact once the corpus is read, before that by bytes read."""


Tell = Callable[[RunProgress], None]


@contextmanager
def progress_bar(description: str | None) -> Iterator[Tell]:
    """Texts done, texts per second and the time left: a bar on a terminal, now and then a line in a log.

    All of it goes to standard error, and the bar vanishes when the run ends. None shows nothing.
    """
    if description is None:
        yield lambda progress: None
        return
    console = Console(stderr=True)
    description = "".join(
        c if c.isprintable() else "?" for c in description
    )  # file names can steer a terminal
    if not console.is_terminal:
        yield _log_lines(console, description)
        return
    columns = (
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, max_width=32)),
        BarColumn(bar_width=None),
        TextColumn("{task.completed:.0f} texts", table_column=Column(no_wrap=True)),
        _Rate(Column(no_wrap=True)),
        _TimeLeft(Column(no_wrap=True)),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(description, total=None)

        def tell(progress: RunProgress) -> None:
            bar.update(task, completed=progress.texts, total=progress.expected)

        yield tell


class _Rate(ProgressColumn):
    """Texts per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f} texts/s", style="progress.data.speed")


class _TimeLeft(ProgressColumn):
    """How long it will take to the end, once that can be told."""

    def render(self, task: Task) -> Text:
        left = task.time_remaining
        return Text(
            "" if left is None else f"{timedelta(seconds=int(left))} left", style="progress.remaining"
        )


def _log_lines(console: Console, description: str) -> Tell:
    started = monotonic()
    due = started + FIRST_LINE_AFTER

    def tell(progress: RunProgress) -> None:
        nonlocal due
        now = monotonic()
        if now < due:
            return
        due = now + LINE_EVERY
        speed = progress.texts / (now - started)
        left = ""
        if progress.expected is not None:
            seconds = max(0.0, progress.expected - progress.texts) / speed
            left = f", about {timedelta(seconds=int(seconds))} left"
        line = f"{description}: {progress.texts} texts, {speed:.1f} texts/s{left}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    return tell
