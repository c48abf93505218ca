"""How many threads a command takes, and how they wait: on a machine that others use too, more threads can be slower.

Set before torch and scikit-learn are loaded, which read it then; what the user has set stays.
"""

import os
import re
import time
from pathlib import Path

WAITING = {"GOMP_SPINCOUNT": "2000", "KMP_BLOCKTIME": "1"}
"""How long a thread waits busily for the others: hardly. Short loops would else spend most of their time waiting for
a thread that has no core."""

THREADS = "OMP_NUM_THREADS"
STATE = Path("/proc/stat")
"""Where Linux says how many threads of all programs want a core at this moment."""

_LOOKS = 5
_PAUSE = 0.001  # seconds


def be_modest() -> None:
    """Take no more threads than cores are free, and let them wait without keeping a core."""
    for name, value in WAITING.items():
        os.environ.setdefault(name, value)
    cores = os.cpu_count() or 1
    free = cores - _busy_with_others()
    if free < cores:
        os.environ.setdefault(THREADS, str(max(1, free)))


def _busy_with_others() -> int:
    """How many other threads want a core, in the middle of a few looks; 0 where the system does not say."""
    try:
        return sorted(_running() for _ in range(_LOOKS))[_LOOKS // 2] - 1
    except (OSError, ValueError):
        return 0


def _running() -> int:
    time.sleep(_PAUSE)
    running = re.search(r"^procs_running (\d+)$", STATE.read_text(encoding="ascii"), re.MULTILINE)
    if running is None:
        raise ValueError(STATE)
    return max(1, int(running[1]))
