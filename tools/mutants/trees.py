"""Private copies of the repository, in which one source file at a time has a fault, and pytest in them."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.catalogue import ROOT
from tools.mutants.recorder import RECORD

RECORDER = "tools.mutants.recorder"


class StoppedError(Exception):
    """Somebody stopped what ran in a tree."""


@contextmanager
def private_copy(root: Path = ROOT, libraries: Sequence[str] = ()) -> Iterator["Tree"]:
    """A copy of all that git tracks or does not ignore, as it is now; gone afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="headscope-mutants-", ignore_cleanup_errors=True) as folder,
        closing(Tree(Path(folder) / "headscope", libraries)) as tree,
    ):
        for name in listed(root, "ls-files", "--cached", "--others", "--exclude-standard"):
            if (root / name).is_file():
                (tree.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, tree.root / name)
        yield tree


def listed(root: Path, *command: str) -> list[str]:
    """The paths that a git command lists."""
    done = subprocess.run(["git", *command, "-z"], cwd=root, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name]


def environment(root: Path) -> dict[str, str]:
    """The environment in which every process imports the package and the tests of a tree, and takes one core."""
    paths = [root / "src", root / "models" / "src", root / "papers" / "src", root]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        # As tests/conftest.py says it, before triton is loaded.
        **({} if shutil.which("nvidia-smi") else {"TRITON_INTERPRET": "1"}),
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
    """A copy of the repository, and the process in it that forks the runs of pytest."""

    def __init__(self, root: Path, libraries: Sequence[str] = ()) -> None:
        """`libraries` are loaded once, not in each run."""
        self.root, self._libraries = root, libraries
        self._forks: subprocess.Popen[str] | None = None
        self._runs: int | None = None
        self._is_stopped = False

    def stop(self) -> None:
        """End what runs here, from another thread, and let nothing begin any more."""
        self._is_stopped = True
        self._kill()

    def close(self) -> None:
        """End what runs here; the next run begins a new process that forks."""
        self._kill()
        if self._forks is not None:
            self._forks.communicate()
            self._forks = None

    def _kill(self) -> None:
        if self._runs is not None:
            _end(self._runs)
        if self._forks is not None:
            self._forks.kill()

    @contextmanager
    def changed(self, file: str, text: str) -> Iterator[None]:
        """Inside, a file has another text."""
        path, content = self.root / file, text.encode()
        before, times = path.read_bytes(), path.stat()
        # What numba compiled knows of changes in a function's own file only, not of what the function calls.
        compiled = self._compiled() if b"numba" in content else []
        aside = self.root.parent / "compiled"
        for one in compiled:
            (aside / one).parent.mkdir(parents=True, exist_ok=True)
            (self.root / one).rename(aside / one)
        self._write(path, content)
        try:
            yield
        finally:
            self._write(path, before)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            if b"numba" in content:
                for one in self._compiled():
                    (self.root / one).unlink()
            for one in compiled:
                (aside / one).rename(self.root / one)

    def _compiled(self) -> list[Path]:
        """What numba keeps of functions that it compiled, as paths in the tree."""
        return [path.relative_to(self.root) for path in (self.root / "src").rglob("__pycache__/*.nb[ic]")]

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        """Write a source file and drop what Python compiled of it."""
        path.write_bytes(content)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
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
        if self._is_stopped:
            raise StoppedError
        scratch, output = self.root.parent / "scratch", self.root.parent / "output.txt"
        scratch.mkdir(exist_ok=True)
        plugin = ["-p", RECORDER] if record is not None else []
        loaded = ["-W", "ignore::pytest.PytestAssertRewriteWarning"] if self._libraries else []
        own = {"TMPDIR": str(scratch), **({RECORD: str(record)} if record is not None else {})}
        asked = {
            "arguments": ["-q", "-p", "no:cacheprovider", *loaded, *plugin, *arguments],
            "environment": {**environment(self.root), **own, **(more or {})},
            "output": str(output),
        }
        forks = self._forks = self._ready()
        assert forks.stdin is not None
        assert forks.stdout is not None
        ran_out = False
        try:
            forks.stdin.write(json.dumps(asked) + "\n")
            forks.stdin.flush()
            self._runs = int(forks.stdout.readline())
            if limit is not None and not select.select([forks.stdout], [], [], limit)[0]:
                ran_out = True
                _end(self._runs)
            code = int(forks.stdout.readline())
            return Run(code, ran_out, output.read_text(encoding="utf-8", errors="replace"))
        except (ValueError, OSError):  # there is no answer
            self.close()
            if self._is_stopped:
                raise StoppedError from None
            raise
        except BaseException:
            self.close()
            raise
        finally:
            self._runs = None
            shutil.rmtree(scratch, ignore_errors=True)

    def _ready(self) -> "subprocess.Popen[str]":
        """The process that forks, begun anew if it is gone."""
        if self._forks is not None and self._forks.poll() is None:
            return self._forks
        return subprocess.Popen(
            [sys.executable, "-m", "tools.mutants.forks", *self._libraries],
            cwd=self.root,
            env=environment(self.root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )


def _end(process: int) -> None:
    """End a process and all of its session."""
    with suppress(ProcessLookupError):
        try:
            os.killpg(process, signal.SIGKILL)
        except ProcessLookupError:  # it does not lead its session yet
            os.kill(process, signal.SIGKILL)
