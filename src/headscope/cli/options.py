"""Options that several commands share, and the checks that come before any work."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from headscope.errors import OptionError

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else; on failure it has an 'error'.")
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an error; HEADSCOPE_DEBUG=1 does the same.")
]


ATLAS, REPORT = "atlas", "report"
_STARTS = {ATLAS: b"\x89HDF\r\n\x1a\n", REPORT: b"<!doctype html"}


def check_output(path: Path, *, option: str, kind: str, inputs: Iterable[Path]) -> None:
    """Refuse a place that cannot be written, before anything slow begins.

    Folders are not made: a mistyped path would be hidden by it.
    """
    if path.is_dir():
        raise OptionError(f"{option} {path} is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise OptionError(
            f"{option} {path}: there is no folder {path.parent}; make it with: mkdir -p {path.parent}"
        )
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise OptionError(
                f"{option} {path} is one of the inputs and would be overwritten; choose another name"
            )
    if path.is_file() and not _may_replace(path, kind):
        raise OptionError(
            f"{option} {path} is there already and is no {kind}; choose another name, or remove it first"
        )
    # Loads xarray, which is too slow to do before the checks above.
    from headscope.atlas import check_writable  # noqa: PLC0415

    check_writable(path)


def _may_replace(path: Path, kind: str) -> bool:
    """Whether what is there is empty, or of the kind that would replace it."""
    with path.open("rb") as file:
        start = file.read(len(_STARTS[kind])).lower()
    return not start or start == _STARTS[kind].lower()
