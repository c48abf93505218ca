"""Atlas files: how arrays lie in them, written whole or not at all, checked when opened."""

import contextlib
import io
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np
import xarray as xr

from headscope.errors import AtlasError, OutputError
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

_ONLY_DIMENSION = b"This is a netCDF dimension but not a netCDF variable"
_OF_FORMAT = {
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "_FillValue",
    "_NCProperties",
    "_nc3_strict",
} | {
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
}
"""Attributes by which HDF5 files are NetCDF-4 files."""

_HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"


def write_tree(tree: xr.DataTree, path: str | os.PathLike[str]) -> None:
    """Write the tree as one NetCDF file."""
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


def read_tree(path: str | os.PathLike[str]) -> xr.DataTree:
    """Read a whole atlas file into memory, or say in one line why it is none."""
    try:
        with Path(path).open("rb") as file:
            is_netcdf = file.read(len(_HDF5_MAGIC)) == _HDF5_MAGIC
            content = _HDF5_MAGIC + file.read() if is_netcdf else b""
    except OSError as error:
        raise AtlasError(f"{path} cannot be opened: {error.strerror or error}") from error
    if not is_netcdf:
        raise AtlasError(f"{path} is not an atlas (no NetCDF-4 file); make one with: headscope analyze")
    try:
        # Closed at once: HDF5 would close what is left open when Python is gone already, and crash.
        with h5py.File(io.BytesIO(content), "r") as file:
            tree = xr.DataTree.from_dict(dict(_groups(file)))
        if FORMAT_KEY not in tree.attrs:
            raise AtlasError(f"{path} is a NetCDF file, but not a headscope atlas (it has no {FORMAT_KEY!r})")
        version = int(tree.attrs[FORMAT_KEY])
        if version <= FORMAT:
            _check(tree)
    except AtlasError:
        raise
    except Exception as error:  # h5py raises OSError, KeyError, RuntimeError … for a damaged file
        raise AtlasError(f"{path} is damaged or cut short; make it again with: headscope analyze") from error
    if version > FORMAT:
        raise AtlasError(
            f"{path} has atlas format {version}, this headscope reads up to {FORMAT}; upgrade with: "
            "pip install --upgrade headscope"
        )
    return tree


def _groups(group: h5py.Group) -> Iterator[tuple[str, xr.Dataset]]:
    """Every group by its path, as NetCDF-4 lies in HDF5; xarray's own reader takes three times as long."""
    yield group.name, _read_group(group)
    for item in group.values():
        if isinstance(item, h5py.Group):
            yield from _groups(item)


def _read_group(group: h5py.Group) -> xr.Dataset:
    arrays = {}
    for name, item in group.items():
        if isinstance(item, h5py.Dataset) and not item.attrs.get("NAME", b"").startswith(_ONLY_DIMENSION):
            is_text = h5py.check_string_dtype(item.dtype) is not None
            values = item.asstr()[...].astype(str) if is_text else item[...]
            arrays[name] = (_dims(name, item), values, _attributes(item))
    coords = {name: array for name, array in arrays.items() if array[0] == (name,)}
    own = {name: array for name, array in arrays.items() if name not in coords}
    return xr.Dataset(own, coords, _attributes(group))


def _dims(name: str, array: h5py.Dataset) -> tuple[str, ...]:
    """The dimensions of an array; a coordinate is its own."""
    if "DIMENSION_LIST" not in array.attrs:
        return (name,) if array.ndim else ()
    paths = [h5py.h5r.get_name(references[0], array.id) for references in array.attrs["DIMENSION_LIST"]]
    return tuple(name_of(path.decode()) for path in paths)


def _attributes(item: h5py.Group | h5py.Dataset) -> dict[str, object]:
    """The attributes that are no part of the format, single numbers as such."""
    values = {name: item.attrs[name] for name in item.attrs if name not in _OF_FORMAT}
    return {
        name: value[0] if isinstance(value, np.ndarray) and value.shape == (1,) else value
        for name, value in values.items()
    }


def _check(tree: xr.DataTree) -> None:
    """Raise whatever comes if the tree is not laid out as an atlas is."""
    stacks = str(tree.attrs["stacks"]).split(",")
    for stack in stacks:
        if not (tree if len(stacks) == 1 else tree[stack]).children:
            raise KeyError(stack)
    for key in NESTED:
        json.loads(tree.attrs.get(key, "{}"))


def labelled(array: xr.DataArray) -> LabelledArray:
    """An array of an atlas as a measure or a probe gave it."""
    dims = tuple(str(dim) for dim in array.dims)
    coords = {dim: array[dim].values.tolist() for dim in dims}
    return LabelledArray(
        array.values, dims, coords, array.attrs.get("long_name", ""), array.attrs.get("units", "1")
    )


def name_of(path: str) -> str:
    """The last part of a group's path: the name of a measure, or of lines."""
    return path.rpartition("/")[2]


def measure_names(names: Iterable[str]) -> list[str]:
    """The names that are not a companion of another one."""
    known = set(names)
    companions = {name + companion for name in known for companion in COMPANIONS}
    return [name for name in names if name not in companions]


def array_groups(stacks: Results, *, several: bool) -> dict[str, xr.Dataset]:
    """A group for each measure, by its path."""
    by_path = {}
    for stack, arrays in stacks.items():
        for name in measure_names(arrays):
            family = (name, *(name + companion for companion in COMPANIONS))
            path = f"/{stack}/{name}" if several else f"/{name}"
            by_path[path] = _dataset({key: arrays[key] for key in family if key in arrays})
    return by_path


def line_groups(name: str, lines: Mapping[str, Sequence[str]], *, several: bool) -> dict[str, xr.Dataset]:
    """A group of lines of text for each stack, by its path."""
    return {
        f"/{stack}/{name}" if several else f"/{name}": xr.Dataset(
            {name: ("line", np.array(texts, dtype=object))}
        )
        for stack, texts in lines.items()
    }


def _dataset(arrays: Mapping[str, LabelledArray]) -> xr.Dataset:
    return xr.Dataset(
        {
            name: xr.DataArray(
                array.values,
                dims=array.dims,
                coords={dim: np.asarray(list(array.coords[dim])) for dim in array.dims},
                attrs={"long_name": array.description, "units": array.units},
            )
            for name, array in arrays.items()
        }
    )
