"""Atlas files: how arrays lie in them, written whole or not at all."""

import contextlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from headscope.errors import OutputError
from headscope.types import LabelledArray

FORMAT_KEY = "headscope_format"
FORMAT = 2
"""The newest layout that is read. Raised when an older headscope could misread a new file; new arrays alone do not
raise it."""
PLAIN_FORMAT = 1
"""What a file is written as that holds numbers only; one with the tables and examples of probes needs FORMAT."""

NESTED = ("options", "versions", "probes", "edits", "profile")
"""Attributes that hold JSON, since NetCDF attributes are flat."""

Results = Mapping[str, Mapping[str, LabelledArray]]
"""Arrays by stack and name."""

COMPANIONS = ("_stderr", "_uniform", "_uniform_stderr", "_folds", "_fold_texts", "_lengths")
"""What stands beside a measure: its standard error, what even attention would give, that one's error, the
measure on each of several parts of the texts, and how long the texts are that it shows."""

MOVED = "_moved"
"""How the names of measures end that were shown what heads move instead of where they look."""


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OutputError if `path` could not be written; to be asked before hours of work, not after."""
    _temporary_beside(Path(path)).unlink()


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside `path` that takes its name when the block succeeds and vanishes when it fails."""
    target = Path(path).resolve()  # a link stays, and what it points to is replaced
    temporary = _temporary_beside(target)
    try:
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise OutputError(
            f"{target} could not be written, nothing was left behind: {error.strerror or error}"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _temporary_beside(target: Path) -> Path:
    """A new empty file in the folder of `target`."""
    if target.is_dir():
        raise OutputError(f"{target} is a folder; give a file name to write to")
    if target.exists() and not target.is_file():
        raise OutputError(f"{target} is not a regular file, and would be replaced by one; give another name")
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}") from error
    return temporary


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


def edited_in_words(edits: Sequence[str]) -> str:
    """How a model was when its numbers were computed."""
    return f"with edits in force ({'; '.join(edits)})" if edits else "as it is, without edits"


def decoded(key: str, value: Any) -> Any:
    """An attribute of the file as plain data."""
    if key in NESTED and isinstance(value, str):
        return json.loads(value)
    return value.item() if isinstance(value, np.generic) else value
