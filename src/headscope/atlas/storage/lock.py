"""One writer at a time: a lock file beside the target, held with `flock`, which ends with the process that holds it."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":
    import fcntl

PATIENCE = 60
"""Seconds to wait for another writer; to write an atlas takes a few."""

_PAUSE = 0.05


@contextlib.contextmanager
def lock(target: Path, *, patience: float | None = None) -> Iterator[None]:
    """Wait until nobody else holds the lock of `target`, and hold it.

    TimeoutError after `patience` seconds, PATIENCE where none are named.
    """
    if sys.platform == "win32":  # where the last writer wins
        yield
        return
    beside = lock_file(target)
    handle = _acquire(beside, PATIENCE if patience is None else patience)
    try:
        yield
    finally:
        beside.unlink(
            missing_ok=True
        )  # while it is held: whoever waits for it sees that it is gone, and makes another
        os.close(handle)


def lock_file(target: Path) -> Path:
    """The file that stands for the lock of `target`, while it is held."""
    return target.with_name(f".{target.name[:100]}.lock")


def _acquire(beside: Path, patience: float) -> int:
    until = time.monotonic() + patience
    while True:
        handle = os.open(beside, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o666)
        try:
            if _hold(handle) and _is_still(beside, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if time.monotonic() >= until:
            raise TimeoutError
        time.sleep(_PAUSE)


def _hold(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: the last writer wins
        return True
    return True


def _is_still(beside: Path, handle: int) -> bool:
    """Whether the name still stands for the file that was opened."""
    try:
        return os.path.samestat(beside.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
