"""Opening an atlas file: by its index where it has one, else by HDF5 in a bounded process; checked before use."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from headscope.atlas.files import FORMAT, FORMAT_KEY, NESTED
from headscope.atlas.storage.bounded import read_bounded
from headscope.atlas.storage.index import read_indexed
from headscope.atlas.storage.stored import DamagedError, RefusedError, StoredGroup, StoredTree
from headscope.errors import AtlasError

_HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_ENDS_AT = {0: 40, 1: 44, 2: 28, 3: 28}
"""Where an HDF5 file says how long it is, by the version in its ninth byte."""
_SHARE_OF_MEMORY = 0.5
_AGAIN = "make it again with: headscope analyze"


def read_stored(path: str | os.PathLike[str]) -> StoredTree:
    """Read a whole atlas file into memory, or say in one line why it is none."""
    content = _content(path)
    try:
        stored = read_indexed(content)
        if stored is None:
            _check_length(content)
            stored = read_bounded(content)
        version = int(stored.attrs[FORMAT_KEY]) if FORMAT_KEY in stored.attrs else None
        if version is not None and version <= FORMAT:
            _check(stored)
    except DamagedError as error:
        raise AtlasError(
            f"{path} is damaged: {error}; copy it anew from where it came, or {_AGAIN}"
        ) from error
    except RefusedError as error:
        raise AtlasError(f"{path} is not opened: {error}; {_AGAIN}") from error
    except Exception as error:  # what is no atlas can fail anywhere
        raise AtlasError(f"{path} is damaged or cut short; {_AGAIN}") from error
    if version is None:
        raise AtlasError(f"{path} is a NetCDF file, but not a headscope atlas (it has no {FORMAT_KEY!r})")
    if version > FORMAT:
        raise AtlasError(
            f"{path} has atlas format {version}, this headscope reads up to {FORMAT}; upgrade with: "
            "pip install --upgrade headscope"
        )
    return stored


def _content(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file that begins as NetCDF-4 files do."""
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise AtlasError(f"{path} is not a file; {_AGAIN}")
        with Path(path).open("rb") as file:
            if file.read(len(_HDF5_MAGIC)) != _HDF5_MAGIC:
                raise AtlasError(f"{path} is not an atlas (no NetCDF-4 file); {_AGAIN}")
            size = os.fstat(file.fileno()).st_size
            if size > _room():
                raise AtlasError(
                    f"{path} has {size / 1e9:.1f} GB, more than {_SHARE_OF_MEMORY:.0%} of this machine's memory"
                )
            return _HDF5_MAGIC + file.read()
    except OSError as error:
        raise AtlasError(f"{path} cannot be opened: {error.strerror or error}") from error


def _room() -> float:
    """How large a file may be, which is read whole."""
    with suppress(AttributeError, ValueError, OSError):  # a system that does not say
        return _SHARE_OF_MEMORY * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return float("inf")


def _check_length(content: bytes) -> None:
    """Refuse a file that is cut, or of whose index only a part is left."""
    start = _ENDS_AT[content[8]]
    if int.from_bytes(content[start : start + 8], "little") != len(content):
        raise ValueError(len(content))


def _check(stored: StoredTree) -> None:
    """Raise whatever comes if the groups are not laid out as those of an atlas are."""
    stacks = str(stored.attrs["stacks"]).split(",")
    for stack in stacks:
        if not stored.children("/" if len(stacks) == 1 else f"/{stack}"):
            raise KeyError(stack)
    for key in NESTED:
        json.loads(stored.attrs.get(key, "{}"))
    for group in stored.groups.values():
        _check_sizes(group)


def _check_sizes(group: StoredGroup) -> None:
    """Raise ValueError unless each dimension has one size, once in an array."""
    sizes: dict[str, int] = {}
    for dims, values, _ in group.variables.values():
        if len(set(dims)) != len(dims) or values.ndim != len(dims):
            raise ValueError(dims)
        for dim, size in zip(dims, values.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise ValueError(dim)
