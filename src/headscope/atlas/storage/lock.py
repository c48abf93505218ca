"""One writer at a time: a lock file beside the target, free as soon as the process that holds it ends."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP
from pathlib import Path

from filelock import FileLock

PATIENCE = 60
"""Seconds to wait for another writer; to write an atlas takes a few."""

_WITHOUT_LOCKS = {ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP}
"""What file systems answer that have no locks (some network folders): there the last writer wins."""


@contextmanager
def lock(target: Path, *, patience: float | None = None) -> Iterator[None]:
    """Wait until nobody else holds the lock of `target`, and hold it.

    TimeoutError after `patience` seconds, PATIENCE where none are named.
    """
    path = lock_file(target)
    path.parent.stat()  # FileNotFoundError, where filelock would make the folder
    # Without a fallback: a lock that is only a file outlives a process that was killed.
    held = FileLock(path, timeout=PATIENCE if patience is None else patience, fallback_to_soft=False)
    try:
        held.acquire()
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
    try:
        yield
    finally:
        if sys.platform != "win32":
            path.unlink(missing_ok=True)  # while it is held: whoever waits for it makes another
        held.release()


def lock_file(target: Path) -> Path:
    """The file that stands for the lock of `target`, while it is held."""
    return target.with_name(f".{target.name[:100]}.lock")
