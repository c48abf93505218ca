"""HDF5 in a process of its own, with little time and memory: for atlas files that carry no index of headscope's.

A file from elsewhere can make HDF5 loop where Ctrl-C does not reach, or take all memory. Here it can only lose its own
process. What it read comes back as an index (`headscope.atlas.storage.index`), which is decoded without HDF5.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

from headscope.atlas.storage.index import read_indexed
from headscope.atlas.storage.stored import RefusedError, StoredTree

SECONDS = 5
"""How long reading may take; a second more for every BYTES_A_SECOND of the file."""
BYTES_A_SECOND = 20_000_000
MEMORY = 1 << 30
"""How many bytes reading may take, and eight times the file."""

_PROGRAM = "from headscope.atlas.storage.bounded import main; main()"
_REFUSED = 3


def read_bounded(content: bytes) -> StoredTree:
    """What an HDF5 file holds; RefusedError, which does not name the file, where it is refused.

    Raises whatever comes where it is no atlas.
    """
    seconds = SECONDS + len(content) // BYTES_A_SECOND
    program = [sys.executable, "-P", "-c", _PROGRAM, str(seconds), str(MEMORY + 8 * len(content))]
    about = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    try:
        # A limit on the processor's time ends a loop; this one, which is longer, a process that waits.
        done = subprocess.run(
            program, input=content, capture_output=True, env=about, timeout=6 * seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RefusedError(f"reading it takes more than {seconds} s") from error
    if done.returncode == _REFUSED:
        raise RefusedError(done.stderr.decode(errors="replace").strip())
    if done.returncode < 0:
        raise RefusedError(f"HDF5 crashes on it, or takes more than {seconds} s")
    stored = read_indexed(done.stdout) if done.returncode == 0 else None
    if stored is None:
        raise ValueError(done.stderr.decode(errors="replace")[-500:])
    return stored


def main() -> None:
    """The process itself: an HDF5 file on standard input, its arrays and their index on standard output."""
    seconds, memory = map(int, sys.argv[1:3])
    # Loaded before the limits are set: what the libraries take is not the file's.
    from headscope.atlas.storage.hdf5 import read_hdf5
    from headscope.atlas.storage.index import with_index

    _limit(seconds, memory)
    try:
        packed = with_index(b"", read_hdf5(sys.stdin.buffer.read())[0], {})
    except RefusedError as error:
        sys.stderr.write(str(error))
        sys.exit(_REFUSED)
    except MemoryError:
        sys.stderr.write(f"reading it takes more than {memory / 1e9:.1f} GB")
        sys.exit(_REFUSED)
    sys.stdout.buffer.write(packed)


def _limit(seconds: int, memory: int) -> None:
    """Bound this process, where the system can."""
    with suppress(ImportError, OSError, ValueError):
        import resource
        from pathlib import Path

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        room = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
