"""Atlas files: how arrays lie in them, written whole or not at all."""

import contextlib
import glob
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from headscope.atlas.storage.lock import PATIENCE, lock
from headscope.errors import OutputError
from headscope.types import LabelledArray

FORMAT_KEY = "headscope_format"
FORMAT = 2
"""The newest layout that is read. Raised when an older headscope could misread a new file; new arrays alone do not
raise it."""
PLAIN_FORMAT = 1
"""What a file is written as that holds numbers only; one with the tables and examples of probes needs FORMAT."""

NESTED = ("options", "versions", "probes", "edits", "profile", "module_layers")
"""Attributes that hold JSON, since NetCDF attributes are flat."""

Results = Mapping[str, Mapping[str, LabelledArray]]
"""Arrays by stack and name."""

COMPANIONS = ("_stderr", "_uniform", "_uniform_stderr", "_folds", "_fold_texts", "_lengths")
"""What stands beside a measure: its standard error, what even attention would give, that one's error, the
measure on each of several parts of the texts, and how long the texts are that it shows."""

MOVED = "_moved"
"""How the names of measures end that were shown what heads move instead of where they look."""


def target_of(path: str | os.PathLike[str]) -> Path:
    """The file that is written for `path`: a link stays, and what it points to is replaced."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError) as error:  # of a link that leads to itself, in every Python another one
        raise OutputError(f"{path} cannot be written: it is a link that leads to itself") from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OutputError if `path` could not be written; to be asked before hours of work, not after."""
    with locked(path) as target:
        _temporary_beside(target).unlink()


@contextlib.contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Inside, no other headscope writes `path`; what one that was killed left beside it is removed.

    Gives the file that `path` stands for. Waits for others, and not for ever. Not to be nested.
    """
    target = target_of(path)
    if target.is_dir():
        raise OutputError(f"{target} is a folder; give a file name to write to")
    if target.exists() and not target.is_file():
        raise OutputError(f"{target} is not a regular file, and would be replaced by one; give another name")
    try:
        with lock(target):
            for leftover in target.parent.glob(f"{glob.escape(_start(target))}*.part"):
                leftover.unlink(missing_ok=True)
            yield target
    except TimeoutError as error:
        raise OutputError(
            f"{target} is being written by another program for more than {PATIENCE} s; try again when it is done"
        ) from error
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside `path` that takes its name when the block succeeds and vanishes when it fails."""
    with locked(path) as target, replacing_locked(target) as temporary:
        yield temporary


@contextlib.contextmanager
def replacing_locked(target: Path) -> Iterator[Path]:
    """The same where `locked` is in force already. The file keeps its mode, and its owner where it may."""
    temporary = _temporary_beside(target)
    try:
        yield temporary
        _on_disk(temporary)
        if target.exists():
            known = target.stat()
            with contextlib.suppress(
                OSError, AttributeError
            ):  # only root gives files away; Windows has no owners
                os.chown(temporary, known.st_uid, known.st_gid)
            temporary.chmod(stat.S_IMODE(known.st_mode))
        temporary.replace(target)
    except OSError as error:
        raise OutputError(
            f"{target} could not be written, nothing was left behind: {error.strerror or error}"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _start(target: Path) -> str:
    """How the names of temporary files for a target begin."""
    return f".{target.name[:100]}."


def _temporary_beside(target: Path) -> Path:
    """A new empty file in the folder of `target`; nobody else may read what replaces a private file."""
    temporary = target.with_name(f"{_start(target)}{secrets.token_hex(4)}.part")
    temporary.touch(0o600 if target.exists() else 0o666, exist_ok=False)
    return temporary


def _on_disk(path: Path) -> None:
    """Wait until the content is on the disk: after a power cut the new name must not stand for an empty file."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def name_of(path: str) -> str:
    """The last part of a group's path: the name of a measure, or of lines."""
    return path.rpartition("/")[2]


def moved_arrays(arrays: Mapping[str, LabelledArray]) -> dict[str, LabelledArray]:
    """The arrays of what was shown what heads move: `entropy` as `entropy_moved`, with all beside it."""
    return {
        f"{name}{MOVED}{ending}": replace(
            arrays[name + ending], description=f"by what heads move: {arrays[name + ending].description}"
        )
        for name in measure_names(arrays)
        for ending in ("", *COMPANIONS)
        if name + ending in arrays
    }


def measure_names(names: Iterable[str]) -> list[str]:
    """The names that are not a companion of another one."""
    known = set(names)
    companions = {name + companion for name in known for companion in COMPANIONS}
    return [name for name in names if name not in companions]
