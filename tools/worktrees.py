"""A commit beside the working tree: checked out in a folder of its own, and the environment to run it in."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "models/src", "papers/src", "")


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The commit in a folder of its own, which is gone afterwards."""
    with TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(
            ["git", "worktree", "add", "--detach", "--quiet", str(tree), commit], cwd=ROOT, check=True
        )
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


def environment(tree: Path) -> dict[str, str]:
    """The environment in which a process imports the packages, tools and tests of a tree, and asks no hub."""
    paths = os.pathsep.join(str(tree / source) for source in SOURCES)
    return {**os.environ, "PYTHONPATH": paths, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
