"""An atlas file as it was read: checked when opened, and made into xarray's arrays only where they are asked for.

To build a dataset of every group takes far longer than to read the numbers, and most readers want a few of them.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from headscope.atlas.files import FORMAT, FORMAT_KEY, NESTED
from headscope.errors import AtlasError
from headscope.types import Array, LabelledArray

if TYPE_CHECKING:
    import xarray as xr

_HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_ONLY_DIMENSION = b"This is a netCDF dimension but not a netCDF variable"
_OF_FORMAT = {
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "_FillValue",
    "_NCProperties",
    "_nc3_strict",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
}
"""Attributes by which HDF5 files are NetCDF-4 files."""

Variable = tuple[tuple[str, ...], Array, dict[str, object]]
"""Dimensions, numbers and attributes, in the order in which xarray takes them."""


class StoredGroup(Mapping[str, "xr.DataArray"]):
    """The arrays of one group by name, coordinates left out; its dataset is made when the first is asked for."""

    def __init__(self, variables: dict[str, Variable], attrs: dict[str, Any]) -> None:
        self.attrs = attrs
        self._coords = {name: variable for name, variable in variables.items() if variable[0] == (name,)}
        self._own = {name: variable for name, variable in variables.items() if name not in self._coords}
        self._dataset: xr.Dataset | None = None

    @property
    def dataset(self) -> xr.Dataset:
        """The group as xarray has it."""
        if self._dataset is None:
            import xarray as xr

            self._dataset = xr.Dataset(self._own, self._coords, self.attrs)
        return self._dataset

    @classmethod
    def of(cls, dataset: xr.Dataset) -> StoredGroup:
        """A group that xarray has already."""
        variables = {
            str(name): (tuple(map(str, array.dims)), array.values, array.attrs)
            for name, array in dataset.variables.items()
            if name in dataset.data_vars or array.dims == (name,)
        }
        group = cls(variables, dataset.attrs)
        group._dataset = dataset
        return group

    def plain(self, name: str) -> LabelledArray:
        """An array without xarray, as a measure or a probe gave it."""
        dims, values, attrs = self._own[name]
        coords = {dim: self._labels(dim, size) for dim, size in zip(dims, values.shape, strict=True)}
        return LabelledArray(
            values, dims, coords, str(attrs.get("long_name", "")), str(attrs.get("units", "1"))
        )

    def _labels(self, dim: str, size: int) -> list[Any]:
        return self._coords[dim][1].tolist() if dim in self._coords else list(range(size))

    def __getitem__(self, name: str) -> xr.DataArray:
        if name not in self._own:
            raise KeyError(name)
        return self.dataset[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)


class Arrays(Mapping[str, "xr.DataArray"]):
    """The arrays of several groups by name, each made when it is first asked for."""

    def __init__(self, groups: Iterable[StoredGroup]) -> None:
        self._group_of = {name: group for group in groups for name in group}
        self._made: dict[str, xr.DataArray] = {}

    def __getitem__(self, name: str) -> xr.DataArray:
        if name not in self._made:
            self._made[name] = self._group_of[name][name]
        return self._made[name]

    @cached_property
    def plain(self) -> dict[str, LabelledArray]:
        """All of them without xarray."""
        return {name: group.plain(name) for name, group in self._group_of.items()}

    def __contains__(self, name: object) -> bool:
        return name in self._group_of

    def __iter__(self) -> Iterator[str]:
        return iter(self._group_of)

    def __len__(self) -> int:
        return len(self._group_of)


class StoredTree:
    """All groups of an atlas file by their path."""

    def __init__(self, groups: dict[str, StoredGroup]) -> None:
        self.groups = groups

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the whole file."""
        return self.groups["/"].attrs

    def tree(self) -> xr.DataTree:
        """Everything, as xarray has it."""
        import xarray as xr

        return xr.DataTree.from_dict({path: group.dataset for path, group in self.groups.items()})

    def children(self, folder: str) -> dict[str, StoredGroup]:
        """The groups right below a path such as "/" or "/decoder", by name."""
        start = folder.rstrip("/") + "/"
        below = {
            path.removeprefix(start): group for path, group in self.groups.items() if path.startswith(start)
        }
        return {name: group for name, group in below.items() if name and "/" not in name}


def read_stored(path: str | os.PathLike[str]) -> StoredTree:
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
            stored = StoredTree(dict(_groups(file, {})))
        if FORMAT_KEY not in stored.attrs:
            raise AtlasError(f"{path} is a NetCDF file, but not a headscope atlas (it has no {FORMAT_KEY!r})")
        version = int(stored.attrs[FORMAT_KEY])
        if version <= FORMAT:
            _check(stored)
    except AtlasError:
        raise
    except Exception as error:  # h5py raises OSError, KeyError, RuntimeError … for a damaged file
        raise AtlasError(f"{path} is damaged or cut short; make it again with: headscope analyze") from error
    if version > FORMAT:
        raise AtlasError(
            f"{path} has atlas format {version}, this headscope reads up to {FORMAT}; upgrade with: "
            "pip install --upgrade headscope"
        )
    return stored


def _groups(group: h5py.Group, outer: Mapping[int, str]) -> Iterator[tuple[str, StoredGroup]]:
    """Every group by its path, as NetCDF-4 lies in HDF5; xarray's own reader takes many times as long.

    Arrays refer to their dimensions by places in the file; `outer` names those of the groups around this one.
    """
    items = dict(group.items())
    arrays = {name: item for name, item in items.items() if isinstance(item, h5py.Dataset)}
    places = {**outer, **{h5py.h5o.get_info(array.id).addr: name for name, array in arrays.items()}}
    yield group.name, _read_group(group, arrays, places)
    for item in items.values():
        if isinstance(item, h5py.Group):
            yield from _groups(item, places)


def _read_group(
    group: h5py.Group, arrays: Mapping[str, h5py.Dataset], places: Mapping[int, str]
) -> StoredGroup:
    variables = {}
    for name, array in arrays.items():
        known = list(array.attrs)
        if "NAME" not in known or not array.attrs["NAME"].startswith(_ONLY_DIMENSION):
            is_text = h5py.check_string_dtype(array.dtype) is not None
            values = array.asstr()[...].astype(str) if is_text else array[...]
            dims = _dims(array, places) if "DIMENSION_LIST" in known else (name,) * min(array.ndim, 1)
            variables[name] = (dims, values, _own(array, known))
    return StoredGroup(variables, _own(group, list(group.attrs)))


def _dims(array: h5py.Dataset, places: Mapping[int, str]) -> tuple[str, ...]:
    """The dimensions of an array that is not its own coordinate."""
    scales = [h5py.h5r.dereference(refers[0], array.id) for refers in array.attrs["DIMENSION_LIST"]]
    return tuple(places[h5py.h5o.get_info(scale).addr] for scale in scales)


def _own(item: h5py.Group | h5py.Dataset, names: list[str]) -> dict[str, object]:
    """The attributes that are no part of the format, single numbers as such."""
    values = {name: item.attrs[name] for name in names if name not in _OF_FORMAT}
    return {
        name: value[0] if isinstance(value, np.ndarray) and value.shape == (1,) else value
        for name, value in values.items()
    }


def _check(stored: StoredTree) -> None:
    """Raise whatever comes if the groups are not laid out as those of an atlas are."""
    stacks = str(stored.attrs["stacks"]).split(",")
    for stack in stacks:
        if not stored.children("/" if len(stacks) == 1 else f"/{stack}"):
            raise KeyError(stack)
    for key in NESTED:
        json.loads(stored.attrs.get(key, "{}"))
