"""Each model type in a process of its own, so that none can harm another or take for ever."""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from select import select

import torch
from tools.models.trials import Row, tried


def swept(types: Sequence[str], *, jobs: int = 2, seconds: int = 60) -> Iterator[Row]:
    """What came of each type, in the order in which they are done."""
    torch.set_num_threads(1)  # before the first fork: threads do not survive one
    tried("bert")  # so that what all types need is loaded once
    waiting, running = list(types), dict[int, tuple[str, int, bytes]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            name = waiting.pop(0)
            pipe, process = _started(name, seconds)
            running[pipe] = (name, process, b"")
        for pipe in select(list(running), [], [])[0]:
            name, process, said = running[pipe]
            part = os.read(pipe, 1 << 16)
            if part:
                running[pipe] = (name, process, said + part)
                continue
            del running[pipe]
            os.close(pipe)
            _, status = os.waitpid(process, 0)
            yield _row(name, said, os.waitstatus_to_exitcode(status), seconds)


def _started(name: str, seconds: int) -> tuple[int, int]:
    """The pipe to read its row from, and the process."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return reading, process
    signal.alarm(seconds)
    status = 1
    try:
        os.close(reading)
        with os.fdopen(writing, "w") as out:
            json.dump(tried(name).as_dict(), out)
        status = 0
    finally:
        os._exit(status)


def _row(name: str, said: bytes, code: int, seconds: int) -> Row:
    if code == 0:
        return Row(**json.loads(said))
    why = f"took more than {seconds} s" if code == -signal.SIGALRM else f"ended with {code}"
    return Row(name, maps="crashed", notes={"maps": why})
