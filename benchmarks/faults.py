"""What becomes of every command that takes --checkpoint when something goes wrong: a table of faults and outcomes.

python benchmarks/faults.py                    # all commands, some minutes
python benchmarks/faults.py analyze "probe parser" --fault "another text"

Each run is a process of its own, forked from one that has loaded torch, and is killed by a real signal. Shards are of a
few texts. "same bits" says that all arrays of the atlas equal those of an undisturbed run, byte for byte.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

import headscope as hs
from headscope.atlas.storage.lock import lock
from headscope.cli.main import run as run_command
from headscope.importance import importance
from headscope.passes import checkpoint
from headscope.passes import run_pass as one_pass
from headscope.probes.features import probe
from headscope.tasks import base
from headscope.text import batching

ARTICLES, TREEBANK, ROLES = (str(hs.sample_path(name)) for name in ("articles", "treebank", "roles"))
TEXTS = ("--text", "TEXT", "--limit", "24", "--max-length", "32")
TASK = ("--task", "mlm", "--data", "TEXT", "--limit", "24", "--max-length", "32")
COMMANDS = {
    "analyze": ("analyze", "MODEL", *TEXTS),
    "patterns": ("patterns", "MODEL", *TEXTS),
    "compare": ("compare", "MODEL", "demo-mrpc", *TEXTS),
    "probe dependency": ("probe", "dependency", "MODEL", "--treebank", "TEXT", "--limit", "24"),
    "probe coreference": ("probe", "coreference", "MODEL", "--data", "TEXT", "--limit", "24"),
    "probe relations": ("probe", "relations", "MODEL", "--data", "TEXT", "--limit", "24"),
    "probe features": ("probe", "features", "MODEL", "--treebank", "TEXT", "--limit", "24"),
    "probe parser": (
        *("probe", "parser", "MODEL", "--train", "TEXT", "--test", "TEXT", "--limit", "24"),
        *("--max-epochs", "1"),
    ),
    "importance": ("importance", "MODEL", *TASK),
    "ablate": ("ablate", "MODEL", *TASK, "--sweep", "layers"),
}
FILES = {"probe relations": ROLES} | dict.fromkeys(
    ["probe dependency", "probe coreference", "probe features", "probe parser"], TREEBANK
)
SHARDS = 2
"""So many shards are kept when a run is killed."""


@dataclass
class Ended:
    """How a run ended, and what it said."""

    code: int
    """The exit code; minus the signal where it was killed."""
    said: str


class Case:
    """A command with files of its own."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.kept = folder / "kept"
        source = Path(FILES.get(name, ARTICLES))
        self.text = folder / source.name
        shutil.copy(source, self.text)

    def start(
        self, output: str | None, *more: str, model: str = "demo", before: Callable[[], None] = lambda: None
    ) -> tuple[int, Path]:
        """A process that runs the command, with its checkpoint unless there is no output; and what it says."""
        words = [{"MODEL": model, "TEXT": str(self.text)}.get(word, word) for word in COMMANDS[self.name]]
        words += ["--batch-size", "1", "--quiet", *more]
        words += ["-o", str(self.folder / output)] if output else []
        said = self.folder / "said"
        if child := os.fork():
            return child, said
        try:
            descriptor = os.open(said, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            sys.argv = ["headscope", *words]
            before()
            run_command()
        except SystemExit as ended:
            sys.stderr.flush()
            os._exit(ended.code if isinstance(ended.code, int) else 1)
        except BaseException:
            traceback.print_exc()
            os._exit(70)
        os._exit(0)

    def end(
        self, output: str | None, *more: str, model: str = "demo", before: Callable[[], None] = lambda: None
    ) -> Ended:
        """Run the command to its end."""
        child, said = self.start(output, *more, model=model, before=before)
        _, status = os.waitpid(child, 0)
        return Ended(os.waitstatus_to_exitcode(status), " ".join(said.read_text().split()))

    def resumed(self, output: str, *more: str) -> Ended:
        """Type the command again."""
        return self.end(output, "--checkpoint", str(self.kept), *more)

    def shards(self) -> list[Path]:
        """The files of shards that are kept."""
        return sorted(self.kept.glob("pass-*/*.shard"))

    def same(self, output: str) -> str:
        """Whether the atlas has the bits of the undisturbed run."""
        other, whole = (_arrays(self.folder / name) for name in (output, "whole.nc"))
        wrong = [name for name in {*other, *whole} if other.get(name) != whole.get(name)]
        return f"OTHER BITS in {', '.join(sorted(wrong)[:3])}" if wrong else "same bits"

    def outcome(self, ended: Ended, output: str) -> str:
        """Same bits, or what went wrong."""
        return f"FAILED, {ended.code}: {ended.said[:200]}" if ended.code else self.same(output)


def _arrays(path: Path) -> dict[str, object]:
    atlas = hs.open(path)
    return {
        f"{stack}/{name}": array.values.tolist()
        if array.values.dtype.kind in "OU"
        else array.values.tobytes()
        for stack in atlas.stacks
        for name, array in atlas.stack(stack).plain.items()
    }


# Faults: each gives its outcome in words


def killed(case: Case) -> str:
    """SIGKILL when some shards are kept and the next is being counted."""
    child, _ = case.start("killed.nc", "--checkpoint", str(case.kept), before=_slow_to_keep)
    while len(case.shards()) < SHARDS and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.005)
    time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if (case.folder / "killed.nc").exists():
        return "FAILED: an atlas is there"
    before = {path: path.stat().st_mtime_ns for path in case.shards()}
    ended = case.resumed("killed.nc")
    again = sum(path.stat().st_mtime_ns != written for path, written in before.items())
    kept = f"{len(before)} of {len(case.shards())} shards kept, {again} counted again"
    return f"{case.outcome(ended, 'killed.nc')}; {kept}"


def _slow_to_keep() -> None:
    put = checkpoint._Pass.put

    def slow(self, shard, state):  # type: ignore[no-untyped-def]
        put(self, shard, state)
        time.sleep(0.2)  # so that there is time to be killed in

    checkpoint._Pass.put = slow  # type: ignore[method-assign]


def damaged(case: Case) -> str:
    """One shard's file is cut off, in another a bit is flipped, a third is some other file."""
    first, second, third = case.shards()[:3]
    first.write_bytes(first.read_bytes()[:-50])
    content = bytearray(second.read_bytes())
    content[-1000] ^= 1
    second.write_bytes(content)
    third.write_text("my notes\n")
    ended = case.end("damaged.nc", "--checkpoint", str(case.kept), "--debug", before=_loud)
    named = sum(path.name in ended.said for path in (first, second, third))
    return f"{case.outcome(ended, 'damaged.nc')}; {named} of 3 named"


def _loud() -> None:
    sys.argv = [word for word in sys.argv if word != "--quiet"]


def refused(
    case: Case, words: str, *more: str, model: str = "demo", before: Callable[[], None] = lambda: None
) -> str:
    """The run must end with a line that says why."""
    ended = case.end("refused.nc", "--checkpoint", str(case.kept), *more, model=model, before=before)
    if ended.code in (1, 2) and words in ended.said and "Traceback" not in ended.said:
        return "refused"
    return f"FAILED, {ended.code}: {ended.said[-300:]}"


def other_option(case: Case) -> str:
    """Another --max-length."""
    return refused(case, "is of another run: its max_length", "--max-length", "16")


def other_model(case: Case) -> str:
    """Another model."""
    return refused(case, "is of another run: its model", model="demo-mrpc")


def other_texts(case: Case) -> str:
    """The same file with one letter changed."""
    content = case.text.read_bytes()
    case.text.write_bytes(content.replace(b"e", b"o", 1))
    try:
        return refused(case, "is of another run: its")
    finally:
        case.text.write_bytes(content)


def other_version(case: Case) -> str:
    """Another version of headscope."""

    def newer() -> None:
        checkpoint.version = lambda name: "9.9"

    return refused(case, "is of another run: its version of headscope", before=newer)


def two_at_once(case: Case) -> str:
    """Another run holds the folder."""
    with lock(case.kept / checkpoint.ABOUT):
        return refused(case, "another run is at work in this folder")


def no_room(case: Case) -> str:
    """A shard's file cannot be written whole: files may not grow over 2 kB."""
    shutil.rmtree(case.kept)

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, resource.RLIM_INFINITY))

    outcome = refused(case, "the checkpoint cannot be written", before=small)
    left = [path.name for path in case.kept.rglob("*.part")]
    return outcome + (f", FAILED: {left} left" if left else "; no half file")


def killed_in_save(case: Case) -> str:
    """SIGKILL while the atlas is written, over one that is there."""
    shutil.copy(case.folder / "whole.nc", case.folder / "saved.nc")
    old = (case.folder / "saved.nc").read_bytes()

    def deadly() -> None:
        def write(self: Path, content: bytes) -> int:
            with self.open("wb") as file:
                file.write(content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
            return 0

        Path.write_bytes = write  # type: ignore[method-assign, assignment]

    ended = case.end("saved.nc", "--checkpoint", str(case.kept), before=deadly)
    if ended.code != -signal.SIGKILL or (case.folder / "saved.nc").read_bytes() != old:
        return f"FAILED, {ended.code}: {ended.said[-300:]}"
    files = {path: path.stat().st_mtime_ns for path in case.shards()}
    ended = case.resumed("saved.nc")
    again = sum(path.stat().st_mtime_ns != files.get(path) for path in case.shards())
    left = [path.name for path in case.folder.glob(".saved*")]
    return f"old file whole; then {case.outcome(ended, 'saved.nc')}, {again} shards counted again" + (
        f", FAILED: {left} left" if left else ""
    )


FAULTS: dict[str, Callable[[Case], str]] = {
    "SIGKILL": killed,
    "damaged and foreign files": damaged,
    "another option": other_option,
    "another model": other_model,
    "another text": other_texts,
    "another version": other_version,
    "two at once": two_at_once,
    "no room": no_room,
    "SIGKILL while saving": killed_in_save,
}


def small_shards() -> None:
    """A few texts, or a batch of a task, make a shard."""
    one_pass.TEXTS_A_SHARD, batching.READ_AHEAD, base.BATCHES_A_SHARD = 4, 4, 1
    importance.BATCHES_A_SHARD, probe.MOST_HELD = 1, 8


@contextmanager
def _case(name: str) -> Iterator[Case]:
    with tempfile.TemporaryDirectory(prefix="headscope-faults-") as folder:
        yield Case(name, Path(folder))


def main() -> int:
    """Print a line for each fault and command; 1 where an outcome is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commands", nargs="*", help=f"of {', '.join(COMMANDS)}; by default all")
    parser.add_argument("--fault", action="append", choices=FAULTS, help="by default all")
    options = parser.parse_args()
    chosen = {"SIGKILL", *(options.fault or FAULTS)}  # which leaves a checkpoint for the others
    torch.set_num_threads(1)
    small_shards()
    wrong = 0
    for name in options.commands or COMMANDS:
        with _case(name) as case:
            started = time.perf_counter()
            ended = case.end("whole.nc")
            if ended.code:
                print(json.dumps({"command": name, "undisturbed": ended.said[-500:]}), flush=True)
                wrong += 1
                continue
            print(f"{name}: undisturbed in {time.perf_counter() - started:.1f} s", flush=True)
            for fault in filter(chosen.__contains__, FAULTS):
                outcome = FAULTS[fault](case)
                wrong += "FAILED" in outcome or "OTHER BITS" in outcome
                print(f"| {fault} | {name} | {outcome} |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
