"""What commands write: checks that come before anything slow, so that no result is lost for want of a place."""

from collections.abc import Iterable
from pathlib import Path

import headscope as hs
from headscope.errors import OptionError

ATLAS, REPORT, PICTURE, MARKDOWN = "an atlas", "a page", "a picture", "a page that headscope wrote"
_STARTS = {
    ATLAS: (b"\x89HDF\r\n\x1a\n",),
    REPORT: (b"<!doctype html",),
    MARKDOWN: (b"# published figures and ours",),
    PICTURE: (b"<?xml", b"<svg", b"%PDF", b"\x89PNG"),
}


def existing_atlas(path: Path | None) -> "hs.Atlas | None":
    """The atlas that is at -o already; None where there is none, or an empty file."""
    if path is None or not path.is_file() or not path.stat().st_size:
        return None
    return hs.open(path)


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
            f"{option} {path} already exists and is not {kind}; choose another name, or remove it first"
        )
    # Loads xarray, which is too slow to do before the checks above.
    from headscope.atlas import check_writable

    check_writable(path)


def _may_replace(path: Path, kind: str) -> bool:
    """Whether what is there is empty, or of the kind that would replace it."""
    with path.open("rb") as file:
        start = file.read(max(map(len, _STARTS[kind]))).lower()
    return not start or any(start.startswith(known.lower()) for known in _STARTS[kind])
