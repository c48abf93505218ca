"""Reading NetCDF-4 files with h5py, each array checked before its numbers are read.

This runs on a file that was just written, to make its index, and on a file from elsewhere only in a process of its own
(`headscope.atlas.storage.bounded`): HDF5 can be made to loop, and Python cannot interrupt it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping

import h5py
import numpy as np

from headscope.atlas.storage.index import Place
from headscope.atlas.storage.stored import RefusedError, StoredGroup, StoredTree

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

_PACKED = 64
"""How many times as large as the file its arrays may be: more is a bomb."""
_AT_LEAST = 1 << 26  # bytes that arrays may take whatever the size of the file
_DEEPEST = 8  # groups in groups; an atlas has two


def read_hdf5(content: bytes) -> tuple[StoredTree, dict[Place, int]]:
    """All groups, and where in the file the numbers of each array lie that lie in one piece."""
    reader = _Reader(max(_PACKED * len(content), _AT_LEAST))
    # Closed at once: HDF5 would close what is left open when Python is gone already, and crash.
    with h5py.File(io.BytesIO(content), "r") as file:
        groups = dict(reader.groups(file, {}, 0))
    return StoredTree(groups), reader.offsets


class _Reader:
    """Walks a file and refuses what leads out of it or blows up."""

    def __init__(self, room: int) -> None:
        self.room = room  # bytes that arrays may still take
        self.offsets: dict[Place, int] = {}

    def groups(
        self, group: h5py.Group, outer: Mapping[int, str], depth: int
    ) -> Iterator[tuple[str, StoredGroup]]:
        """Every group by its path, as NetCDF-4 lies in HDF5.

        Arrays refer to their dimensions by places in the file; `outer` names those of the groups around this one.
        """
        if depth > _DEEPEST:
            raise RefusedError("its groups are nested too deeply")
        for name in group:
            if group.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
                raise RefusedError(f"{_below(group, name)} is a link to another place or file")
        items = {name: group[name] for name in group}
        arrays = {name: item for name, item in items.items() if isinstance(item, h5py.Dataset)}
        places = {**outer, **{h5py.h5o.get_info(array.id).addr: name for name, array in arrays.items()}}
        yield group.name, self._read_group(group, arrays, places)
        for item in items.values():
            if isinstance(item, h5py.Group):
                yield from self.groups(item, places, depth + 1)

    def _read_group(
        self, group: h5py.Group, arrays: Mapping[str, h5py.Dataset], places: Mapping[int, str]
    ) -> StoredGroup:
        variables = {}
        for name, array in arrays.items():
            known = list(array.attrs)
            if "NAME" not in known or not array.attrs["NAME"].startswith(_ONLY_DIMENSION):
                self._check(array)
                is_text = h5py.check_string_dtype(array.dtype) is not None
                values = array.asstr()[...].astype(str) if is_text else array[...]
                dims = _dims(array, places) if "DIMENSION_LIST" in known else (name,) * min(array.ndim, 1)
                variables[name] = (dims, values, _own(array, known))
                offset = None if is_text else array.id.get_offset()
                if offset is not None:
                    self.offsets[group.name, name] = offset
        return StoredGroup(variables, _own(group, list(group.attrs)))

    def _check(self, array: h5py.Dataset) -> None:
        """Refuse an array whose numbers are elsewhere, or that is far larger than the file."""
        made = array.id.get_create_plist()
        if made.get_external_count() or made.get_layout() == h5py.h5d.VIRTUAL:
            raise RefusedError(f"the array {array.name} keeps its numbers in another file")
        self.room -= array.size * array.dtype.itemsize
        if self.room < 0:
            raise RefusedError(f"with the array {array.name} it is far larger unpacked than the file")


def _below(group: h5py.Group, name: str) -> str:
    return f"{group.name.rstrip('/')}/{name}"


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
