"""Private copies of the repository, in which one source file at a time has a fault, and pytest in them."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.catalogue import ROOT
from tools.mutants.recorder import RECORD

RECORDER = "tools.mutants.recorder"


class StoppedError(Exception):
    """Somebody stopped what ran in a tree."""


@contextmanager
def private_copy(root: Path = ROOT) -> Iterator["Tree"]:
    """A copy of all that git tracks or does not ignore, as it is now; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="headscope-mutants-", ignore_cleanup_errors=True) as folder:
        tree = Tree(Path(folder) / "headscope")
        for name in listed(root, "ls-files", "--cached", "--others", "--exclude-standard"):
            if (root / name).is_file():
                (tree.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, tree.root / name)
        (tree.root / "tools" / "mutants" / "results.jsonl").unlink(missing_ok=True)
        yield tree


def listed(root: Path, *command: str) -> list[str]:
    """The paths that a git command lists."""
    done = subprocess.run(["git", *command, "-z"], cwd=root, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name]


def environment(root: Path) -> dict[str, str]:
    """The environment in which every process imports the package and the tests of a tree, and takes one core."""
    paths = [root / "src", root / "models" / "src", root]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }


@dataclass(frozen=True)
class Run:
    """One run of pytest."""

    code: int
    ran_out: bool
    """Whether it was ended because it took too long."""
    output: str

    @property
    def is_ended(self) -> bool:
        """Whether it came to no end of its own: it took too long, or crashed."""
        return self.ran_out or self.code < 0


class Tree:
    """A copy of the repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._process: subprocess.Popen[str] | None = None
        self._is_stopped = False

    def stop(self) -> None:
        """End what runs here, from another thread, and let nothing begin any more."""
        self._is_stopped = True
        if self._process is not None:
            _end(self._process)

    @contextmanager
    def changed(self, file: str, text: str) -> Iterator[None]:
        """Inside, a file has another text."""
        path = self.root / file
        before = path.read_bytes()
        self._write(path, text.encode())
        try:
            yield
        finally:
            self._write(path, before)

    def _write(self, path: Path, content: bytes) -> None:
        """Write a file, and drop what was compiled of it and of all that may have taken code from it."""
        path.write_bytes(content)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
        if b"numba" in content:  # its cache knows of changes in the function's own file only
            for compiled in (self.root / "src").rglob("__pycache__/*.nb[ic]"):
                compiled.unlink()

    def pytest(
        self,
        arguments: Sequence[str],
        *,
        limit: float | None = None,
        record: Path | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Run:
        """Run pytest here; after `limit` seconds it and all that it started are ended. `record`: see the recorder."""
        scratch = self.root.parent / "scratch"
        scratch.mkdir(exist_ok=True)
        plugin = ["-p", RECORDER] if record is not None else []
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, *arguments]
        if self._is_stopped:
            raise StoppedError
        own = {"TMPDIR": str(scratch), **({RECORD: str(record)} if record is not None else {})}
        process = self._process = subprocess.Popen(
            command,
            cwd=self.root,
            env={**environment(self.root), **own, **(more or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=limit)
            if self._is_stopped:
                raise StoppedError
            return Run(process.returncode, False, output)
        except subprocess.TimeoutExpired:
            _end(process)
            output, _ = process.communicate()
            return Run(process.returncode, True, output)
        except BaseException:
            _end(process)
            raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _end(process: "subprocess.Popen[str]") -> None:
    """End a process and all of its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
