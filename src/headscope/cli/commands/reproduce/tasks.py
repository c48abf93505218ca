"""`--task NAME --data FILE`: which files belong to which task."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.reproduce.study import TaskFiles

Pairs = list[tuple[str, tuple[Path, ...]]]


def paired_tasks(
    names: Sequence[str] | None, data: Sequence[Path] | None, examples: int | None = None
) -> Pairs:
    """Each task with its files: one task takes them all, several take one each, in order."""
    if bool(names) != bool(data):
        given, missing = ("--task", "--data FILE") if names else ("--data", "--task NAME")
        raise OptionError(f"{given} needs {missing} too")
    if not names or not data:
        if examples is not None:
            raise OptionError("--examples needs --task NAME and --data FILE")
        return []
    if len(names) == 1:
        return [(str(names[0]), tuple(data))]
    if len(names) != len(data):
        files = ", ".join(file.name for file in data)
        raise OptionError(
            f"{len(names)} tasks ({', '.join(names)}), and --data names {files}; give each --task one --data FILE, in "
            "the same order"
        )
    return [(str(name), (file,)) for name, file in zip(names, data, strict=True)]


def task_files(pairs: Pairs) -> "list[TaskFiles]":
    """The tasks as papers take them: made when it is known which model each is for."""
    # Loads torch, which is too slow for --help.
    from headscope.reproduce.study import TaskFiles

    return [TaskFiles(name, files) for name, files in pairs]
