"""Atlas files: NetCDF, written whole or not at all, checked when opened."""

import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import xarray as xr

from headscope.errors import AtlasError, OutputError

FORMAT_KEY = "headscope_format"
FORMAT = 1
"""Raised when an older headscope could misread a new file; new arrays alone do not raise it."""

_HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"


def write_tree(tree: xr.DataTree, path: str | os.PathLike[str]) -> None:
    """Write the tree as one NetCDF file."""
    tree.attrs[FORMAT_KEY] = FORMAT
    # Built in memory first (an atlas is a few MB): a full disk then fails a plain write, which can be told
    # apart and cleaned up, instead of somewhere inside HDF5.
    content = tree.to_netcdf(None, engine="h5netcdf")
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OutputError if `path` could not be written; to be asked before hours of work, not after."""
    _temporary_beside(Path(path)).unlink()


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside `path` that takes its name when the block succeeds and vanishes when it fails."""
    target = Path(path)
    temporary = _temporary_beside(target)
    try:
        yield temporary
        _share_permissions(temporary)
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
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}") from error
    os.close(handle)
    return Path(name)


def read_tree(path: str | os.PathLike[str]) -> xr.DataTree:
    """Read a whole atlas file into memory, or say in one line why it is none."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise AtlasError(f"{path} cannot be opened: {error.strerror or error}") from error
    if not content.startswith(_HDF5_MAGIC):
        raise AtlasError(f"{path} is not an atlas (no NetCDF-4 file); make one with: headscope analyze")
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = xr.open_datatree(io.BytesIO(content), engine="h5netcdf").load()
    except Exception as error:  # h5py raises OSError, KeyError, RuntimeError … for a damaged file
        raise AtlasError(f"{path} is damaged or cut short; make it again with: headscope analyze") from error
    version = tree.attrs.get(FORMAT_KEY)
    if version is None:
        raise AtlasError(f"{path} is a NetCDF file, but not a headscope atlas (it has no {FORMAT_KEY!r})")
    if int(version) > FORMAT:
        raise AtlasError(
            f"{path} has atlas format {int(version)}, this headscope reads up to {FORMAT}; upgrade with: "
            "pip install --upgrade headscope"
        )
    return tree


def _share_permissions(path: Path) -> None:
    """mkstemp makes files private; give the file what the user's umask would have given it."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
