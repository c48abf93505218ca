"""One thread through which everything slow goes, one after the other; the event loop never waits for a model.

One at a time, because a model's attention function and its edits are settings of the network that all threads see,
and because two forward passes at once are slower than one after the other. Readers (tabs, programs) take turns: one
that has asked for much does not keep another waiting for more than the job at work.
"""

import asyncio
import ctypes
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headscope.server.problems import StoppedError, TooBusyError

if TYPE_CHECKING:
    from torch import nn

T = TypeVar("T")

_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None

REQUESTS_WAITING = 64
"""Of all readers; more are sent away."""
READER_WAITING = 16
"""Of one reader."""


@dataclass(eq=False)
class Job(Generic[T]):
    """Something slow that somebody waits for."""

    what: str
    function: Callable[["Job[T]"], T]
    reader: str = ""
    """Whoever asked: one tab, or one program."""
    turn: int = 0
    """The lowest goes first; each further job of a reader has the next."""
    future: "Future[T]" = field(default_factory=Future)
    stopped: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Raise StoppedError if nobody waits any more; to be called every now and then."""
        if self.stopped.is_set():
            raise StoppedError(self.what)

    def stop(self) -> None:
        """Nobody waits any more."""
        self.stopped.set()
        self.future.cancel()  # does nothing to one that runs

    @contextmanager
    def watching(self, network: "nn.Module") -> Iterator[None]:
        """Inside, the job is checked before every layer of the network."""
        from torch import nn  # noqa: PLC0415 - atlases are read without it

        handles: list[Any] = []
        try:
            for layers in network.modules():
                if isinstance(layers, nn.ModuleList):
                    handles += [layer.register_forward_pre_hook(self._before_layer) for layer in layers]
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _before_layer(self, module: "nn.Module", arguments: object) -> None:
        self.check()


class Worker:
    """The thread, and what it is busy with."""

    def __init__(self, *, tell: Callable[[str], None] = lambda line: None) -> None:
        """`tell` is given a line for whoever looks at the terminal."""
        self._tell = tell
        self._jobs: list[Job[Any]] = []  # not yet begun, in the order in which they came
        self._changed = threading.Condition()  # guards the jobs, the turn and whether this is closed
        self._turn = 0  # of the job that was begun last
        self._closed = False
        self._waiting: set[Job[Any]] = set()  # touched by the event loop only
        self._ahead: list[Job[Any]] = []
        self._working = ""
        # A daemon: a model that is just being loaded does not keep a stopped server alive.
        self._thread = threading.Thread(target=self._run, name="headscope-worker", daemon=True)
        self._thread.start()

    @property
    def working(self) -> str:
        """What is being done; empty when nothing is."""
        return self._working

    @property
    def waiting(self) -> int:
        """How many jobs have been given and are not done, the one at work left out."""
        return max(0, len(self._waiting) - bool(self._working))

    def say(self, what: str) -> None:
        """What the job at work does now; also told on the terminal."""
        self._working = what
        self._tell(what)

    async def run(
        self,
        what: str,
        function: Callable[[Job[T]], T],
        *,
        gone: Callable[[], Awaitable[None]],
        reader: str = "",
    ) -> T:
        """`function(job)` in the thread, when its turn comes; StoppedError as soon as `gone()` returns."""
        turns = [job.turn for job in self._waiting if job.reader == reader]
        if len(turns) >= READER_WAITING or len(self._waiting) >= REQUESTS_WAITING:
            raise TooBusyError(f"{len(self._waiting)} requests wait already; try again in a moment")
        job = Job(what, function, reader, turn=max(turns) + 1 if turns else self._turn)
        self._waiting.add(job)
        self._add(job)
        result = asyncio.wrap_future(job.future)
        result.add_done_callback(_looked_at)
        leaving = asyncio.ensure_future(gone())
        try:
            both: set[asyncio.Future[Any]] = {result, leaving}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not result.done():
                raise StoppedError(what)
            return result.result()
        finally:
            leaving.cancel()
            self._stop(job)
            self._waiting.discard(job)

    def prepare(self, function: Callable[[Job[Any]], Any]) -> None:
        """`function(job)` in the thread, when its turn comes; nobody waits for it, and nobody is told if it fails."""
        job = Job("", function, turn=self._turn)
        self._ahead.append(job)
        self._add(job)

    def close(self) -> None:
        """Stop what runs and waits; the thread ends when it next looks up."""
        for job in (*self._waiting, *self._ahead):
            self._stop(job)
        with self._changed:
            self._closed = True
            self._changed.notify()

    def join(self, seconds: float) -> None:
        """Wait for the thread to end, after `close`, but no longer than that."""
        self._thread.join(seconds)

    def _add(self, job: Job[Any]) -> None:
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()

    def _stop(self, job: Job[Any]) -> None:
        """Nobody waits for the job any more: what was asked is not kept until its turn comes."""
        job.stop()
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)

    def _next(self) -> Job[Any] | None:
        """The job whose turn it is, as soon as there is one; None when closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closed)
            if not self._jobs:
                return None
            job = min(self._jobs, key=lambda job: job.turn)  # the first of equals
            self._jobs.remove(job)
            self._turn = job.turn
            return job

    def _run(self) -> None:
        while (job := self._next()) is not None:
            if not job.future.set_running_or_notify_cancel():
                continue
            self._working = job.what
            try:
                job.check()
                job.future.set_result(job.function(job))
            except StopIteration as error:  # which asyncio hands to nobody
                job.future.set_exception(
                    RuntimeError(f"{job.what}: stopped too early").with_traceback(error.__traceback__)
                )
            except BaseException as error:
                # Torch has an error of its own, which is no MemoryError.
                is_memory = type(error).__name__ == "OutOfMemoryError"
                job.future.set_exception(MemoryError(str(error)) if is_memory else error)
            finally:
                self._working = ""
            del job  # and with it what was asked and answered
            self._rest()

    def _rest(self) -> None:
        """With nothing to do, give the system back what the C library keeps: of a long text up to 100 MB."""
        if not self._jobs and _TRIM is not None:
            _TRIM(0)


def _looked_at(result: "asyncio.Future[Any]") -> None:
    """Nobody may be left to ask for a stopped job's exception, which asyncio would complain of."""
    if not result.cancelled():
        result.exception()
