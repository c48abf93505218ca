"""What a run tells while it goes on, and the bar that shows it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column

FIRST_LINE_AFTER = 10.0
"""Seconds until a run whose output goes to a log tells how far it is; a short run leaves no trace there."""
LINE_EVERY = 30.0


@dataclass(frozen=True)
class RunProgress:
    """How far a run is."""

    texts: int
    expected: float | None
    """How many texts there will be in all: exact once the corpus is read, before that by bytes read."""
    tokens: int = 0
    """How many tokens they have; 0 where nobody counts them."""


Tell = Callable[[RunProgress], None]


class PassProgress:
    """How far a pass is: shards that are done, and batches of the one that this process is at."""

    def __init__(self, tell: Tell, expected: Callable[[int], float | None]) -> None:
        """`expected(done)` is how many texts there will be."""
        self._tell = tell
        self._expected = expected
        self._done = self._counted = self._ticks = self._tokens = self._shown = 0

    def batch(self, texts: int, tokens: int) -> None:
        """A batch is done."""
        self._counted += texts
        self._tokens += tokens
        self._show()

    def shard(self, texts: int) -> None:
        """A shard is done, here or elsewhere, now or earlier."""
        self._done += texts
        self._counted = self._ticks = 0
        if self._done != self._shown:
            self._show()

    def _tick(self, texts: int) -> None:
        self._ticks += texts
        self._show()

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Inside, `tick` moves this bar."""
        before = _TICK.set(self._tick)
        try:
            yield
        finally:
            _TICK.reset(before)

    def _show(self) -> None:
        self._shown = self._done + max(self._counted, self._ticks)
        self._tell(RunProgress(self._shown, self._expected(self._shown), self._tokens))


_TICK: ContextVar[Callable[[int], None]] = ContextVar("tick", default=lambda texts: None)


def tick(texts: int) -> None:
    """So many texts more are done of the batch that is being counted: for what takes long over one."""
    _TICK.get()(texts)


@contextmanager
def progress_bar(description: str | None) -> Iterator[Tell]:
    """Texts done, texts and tokens per second and the time left: a bar on a terminal, now and then a line in a log.

    All of it goes to standard error, and the bar vanishes when the run ends. None shows nothing.
    """
    if description is None:
        yield lambda progress: None
        return
    console = Console(stderr=True)
    # The names of files can steer a terminal.
    description = "".join(letter if letter.isprintable() else "?" for letter in description)
    started = monotonic()
    if not console.is_terminal:
        yield _log_lines(console, description, started)
        return
    columns = (
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, max_width=32)),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[pace]}", table_column=Column(no_wrap=True)),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(description, total=None, pace="")

        def tell(progress: RunProgress) -> None:
            pace = _pace(progress, monotonic() - started)
            bar.update(task, completed=progress.texts, total=progress.expected, pace=pace)

        yield tell


def _pace(progress: RunProgress, seconds: float) -> str:
    """How many texts are done, how many a second, and how long it will take to the end, once that can be told."""
    if seconds < 1:
        return f"{progress.texts} texts"
    speed = progress.texts / seconds
    left = ""
    if progress.expected is not None and speed:
        ahead = timedelta(seconds=int(max(0.0, progress.expected - progress.texts) / speed))
        left = f", about {ahead} left"
    tokens = f", {progress.tokens / seconds:,.0f} tokens/s" if progress.tokens else ""
    return f"{progress.texts} texts, {speed:.1f} texts/s{tokens}{left}"


def _log_lines(console: Console, description: str, started: float) -> Tell:
    due = started + FIRST_LINE_AFTER

    def tell(progress: RunProgress) -> None:
        nonlocal due
        now = monotonic()
        if now >= due:
            due = now + LINE_EVERY
            line = f"{description}: {_pace(progress, now - started)}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    return tell
