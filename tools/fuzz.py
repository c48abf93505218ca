"""Read spoiled files of every format: each gives a result or a HeadscopeError, in 5 s and 1 GB at most.

    make fuzz                                     one million files
    python tools/fuzz.py --files 20000 --only squad --seed 3

Files are read in child processes with limits of time and memory, so that one which loops or crashes is counted and
the others are still read. Each file is made from the seed, its format and its number alone; a failure names them, and
is kept in the folder of --keep.
"""

from __future__ import annotations

import argparse
import json
import mmap
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # so that `tools` is found from anywhere

from tools.hostile import FORMATS, Format

from headscope.errors import HeadscopeError

SECONDS, MEMORY = 5, 1 << 30
OUTCOMES = ("read", "refused", "ended", "failed")
STATE = struct.Struct("<Q4Qdd")
"""What a child writes where its parent looks: the number of the file, outcomes so far, slowest, memory."""


def spoiled_file(format: Format, seed: int, number: int) -> bytes:
    """One file: the same for the same format, seed and number."""
    chance = random.Random(f"{seed}/{format.name}/{number}")
    return format.spoil(chance.choice(format.seeds), chance)


# In the child


class TooSlowError(BaseException):
    """A file took more processor time than it may."""


def read_many(name: str, seed: int, first: int, last: int, folder: Path) -> None:
    """Read files and print which failed; before each its number is written where the parent looks."""
    warnings.simplefilter("ignore")
    format, path = FORMATS[name], folder / f"file{FORMATS[name].ending}"
    path.write_bytes(format.seeds[0])
    format.read(path)  # loads all that is needed, before memory is bounded
    signal.signal(signal.SIGPROF, _too_slow)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    room = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with (folder / "state").open("r+b") as file, mmap.mmap(file.fileno(), STATE.size) as shared:
        number, *counts, slowest, _ = STATE.unpack_from(shared)
        for number in range(first, last):
            path.write_bytes(spoiled_file(format, seed, number))
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            STATE.pack_into(shared, 0, number, *counts, slowest, memory)
            start = time.process_time()
            counts[OUTCOMES.index(_outcome(format, path, number))] += 1
            slowest = max(slowest, time.process_time() - start)
        STATE.pack_into(
            shared, 0, number, *counts, slowest, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        )


def _outcome(format: Format, path: Path, number: int) -> str:
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        format.read(path)
    except HeadscopeError:
        return "refused"
    except TooSlowError:
        return _failed(number, f"more than {SECONDS} s")
    except MemoryError:
        return "ended" if format.is_bounded else _failed(number, f"more than {MEMORY / 1e9:.1f} GB")
    except Exception as error:
        if format.is_bounded:  # its process fails, and the file is called damaged
            return "refused"
        last = traceback.extract_tb(error.__traceback__)[-1]
        return _failed(
            number, f"{type(error).__name__}: {str(error)[:100]} ({Path(last.filename).name}:{last.lineno})"
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "read"


def _failed(number: int, why: str) -> str:
    print(json.dumps({"failed": number, "why": why}), flush=True)
    return "failed"


def _too_slow(*_: object) -> None:
    raise TooSlowError


# In the parent


@dataclass
class Tally:
    """What became of the files of one format."""

    format: Format
    counts: list[int] = field(default_factory=lambda: [0] * len(OUTCOMES))
    slowest: float = 0.0  # seconds
    memory: float = 0.0  # kB
    failures: list[tuple[int, str]] = field(default_factory=list)

    def end(self, number: int) -> None:
        """A file had to be ended from outside, with its process."""
        self.counts[OUTCOMES.index("ended" if self.format.is_bounded else "failed")] += 1
        if not self.format.is_bounded:
            self.failures.append((number, f"crashed, or more than {SECONDS} s where Python does not reach"))

    def row(self) -> str:
        """A row of the table."""
        counts = "".join(f"{count:>9,}" for count in self.counts)
        used = f"{self.slowest:>9.2f} s{self.memory / 1000:>7.0f} MB"
        return f"{self.format.name:<22}{sum(self.counts):>10,}{counts}{used}"


def run_format(format: Format, seed: int, files: int, folder: Path, until: float) -> Tally:
    """Read so many files, in one child after the other where one does not come back."""
    tally, first, state, log = Tally(format), 0, folder / "state", folder / "log"
    while first < files and time.monotonic() < until:
        state.write_bytes(STATE.pack(first, *tally.counts, tally.slowest, 0))
        program = [sys.executable, __file__, "--seed", str(seed), "--child", format.name]
        with log.open("wb") as output:
            child = subprocess.Popen([*program, str(first), str(files), str(folder)], stdout=output)
            _watch(child, state, until)
        reports = map(json.loads, log.read_text(encoding="utf-8").splitlines())
        tally.failures += [(report["failed"], report["why"]) for report in reports]
        number, *tally.counts, tally.slowest, memory = STATE.unpack(state.read_bytes())
        tally.memory = max(tally.memory, memory)
        if child.returncode == 0 or time.monotonic() >= until:
            break
        tally.end(number)
        first = number + 1
    return tally


def _watch(child: subprocess.Popen[bytes], state: Path, until: float) -> None:
    """Wait for a child; end it when one file takes too much processor time, or the time is over."""
    number, since = -1, 0.0
    while child.poll() is None:
        time.sleep(0.25)
        now, *_ = STATE.unpack(state.read_bytes())
        used = _processor_time(child.pid)
        if now != number:
            number, since = now, used
        elif used - since > SECONDS + 1:
            child.kill()
        if time.monotonic() > until:
            child.terminate()


def _processor_time(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / 100


def main() -> int:
    """Run all formats and print a table; 1 where any file failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--files", type=int, default=1_000_000, help="how many, over all formats (default 1,000,000)"
    )
    parser.add_argument("--only", action="append", choices=FORMATS, help="a format; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600, help="stop after so long")
    parser.add_argument(
        "--keep", type=Path, default=Path("fuzz-failures"), help="folder for files that failed"
    )
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, first, last, folder = options.child
        read_many(name, options.seed, int(first), int(last), Path(folder))
        return 0
    formats = [FORMATS[name] for name in options.only or FORMATS]
    until, failed, total = time.monotonic() + 60 * options.minutes, 0, 0
    print(
        f"{'format':<22}{'files':>10}{''.join(f'{name:>9}' for name in OUTCOMES)}{'slowest':>11}{'memory':>10}"
    )
    for number, format in enumerate(formats):
        files = options.files // len(formats) + (number < options.files % len(formats))
        with tempfile.TemporaryDirectory() as folder:
            tally = run_format(format, options.seed, files, Path(folder), until)
        print(tally.row(), flush=True)
        failed += len(tally.failures)
        total += sum(tally.counts)
        for file, why in tally.failures[:20]:
            options.keep.mkdir(exist_ok=True)
            path = (
                options.keep
                / f"{format.name.replace(', ', '-').replace(' ', '-')}-{options.seed}-{file}{format.ending}"
            )
            path.write_bytes(spoiled_file(format, options.seed, file))
            print(f"  {path}: {why}")
    print(f"{total:,} files, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
