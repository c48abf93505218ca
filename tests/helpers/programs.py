"""Python programs in processes of their own, which begin where loading torch ends.

They are forked off one process that has loaded what takes seconds, and has done nothing else. What it has loaded is the
only difference to `python -c code words...`; where that matters, a test takes `subprocess`.
"""

import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

COMMAND = "from headscope.cli.main import run; run()"
"""The `headscope` command."""

FORKED = get_context("forkserver")
FORKED.set_forkserver_preload(
    [
        "headscope.cli.main",
        "headscope.passes",
        "headscope.tasks",
        "headscope.server",
        "headscope.atlas.trees",
        "transformers.models.bert.modeling_bert",
    ]
)
"""Where `multiprocessing` takes its processes from."""


@dataclass(frozen=True)
class Program:
    """One at work: what it prints goes to files."""

    process: ForkServerProcess
    folder: Path

    @property
    def out(self) -> str:
        return (self.folder / "stdout").read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return (self.folder / "stderr").read_text(encoding="utf-8")

    @property
    def is_running(self) -> bool:
        return self.process.is_alive()

    def first_line(self, timeout: float = 120) -> str:
        """The first line that it prints, once that is there."""
        end = time.monotonic() + timeout
        while not self.out.endswith("\n"):
            assert self.is_running, self.err
            assert time.monotonic() < end, f"nothing was printed in {timeout} s: {self.err}"
            time.sleep(0.02)
        return self.out.splitlines()[0]

    def send(self, sign: signal.Signals) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, sign)

    def ended(self, timeout: float = 300) -> int:
        """Its exit code, once it ends by itself; minus the signal that ended it."""
        self.process.join(timeout)
        if self.process.exitcode is None:
            self.process.kill()
            raise AssertionError(f"not at an end after {timeout} s: {self.err}")
        return self.process.exitcode


def start(
    code: str, *words: object, folder: Path, terminal: str | None = None, env: Mapping[str, str] | None = None
) -> Program:
    """`python -c code words...`; prints into files in `folder`, or to a terminal by its name."""
    streams = {name: terminal or str(folder / name) for name in ("stdout", "stderr")}
    for path in streams.values():
        Path(path).write_bytes(b"")
    arguments = (code, [str(word) for word in words], streams, dict(env or {}))
    process = FORKED.Process(target=_run, args=arguments, daemon=True)  # ends with the tests at the latest
    process.start()
    return Program(process, folder)


def _run(code: str, words: list[str], streams: Mapping[str, str], env: Mapping[str, str]) -> None:
    """What the new process does."""
    os.environ.update(env)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
    for number, name in enumerate(("stdout", "stderr"), 1):
        os.dup2(os.open(streams[name], os.O_WRONLY | os.O_APPEND), number)
    sys.argv = ["-c", *words]
    exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})
