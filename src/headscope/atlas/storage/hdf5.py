"""Atlas files as HDF5 has them: NetCDF-4 written, and read again, checked array by array before a number is read.

Reading runs where a file was just written, to make its index, and for a file from elsewhere only in a process of its
own (`headscope.atlas.storage.bounded`): HDF5 can be made to loop, and Python cannot interrupt it. xarray would do
both, and takes many times as long.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np

from headscope.atlas.storage.index import Place
from headscope.atlas.storage.stored import RefusedError, StoredGroup, StoredTree, Variable

_ONLY_DIMENSION = b"This is a netCDF dimension but not a netCDF variable"
_FILL = "_FillValue"
_OF_FORMAT = {
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    _FILL,
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
_BLOCK = 1 << 12  # bytes by which a file grows while it is written
_IN_ORDER = {"track_order": True}  # as things were put there, not by name


def write_hdf5(stored: StoredTree) -> bytes:
    """The bytes of a NetCDF-4 file of these groups, of which the outer come first: what xarray would write."""
    writer = _Writer()
    options = {"driver": "core", "backing_store": False, "block_size": _BLOCK}  # in memory
    with h5py.File("atlas", "w", **options, **_IN_ORDER) as file:
        for path, group in stored.groups.items():
            writer.write(file if path == "/" else file.create_group(path, **_IN_ORDER), group)
        versions = f"version=2,h5py={h5py.version.version},hdf5={h5py.version.hdf5_version}"
        file.attrs["_NCProperties"] = np.array(versions, h5py.string_dtype("ascii", len(versions)))
        file.flush()
        return bytes(file.id.get_file_image())


@dataclass(frozen=True)
class _Scale:
    """A dimension: the array that holds its labels, or none, and its number in the file."""

    array: h5py.Dataset
    number: np.int32


class _Writer:
    """Puts groups into a file: labels first, which are the scales that the dimensions of arrays refer to."""

    def __init__(self) -> None:
        self.scales: dict[str, dict[str, _Scale]] = {}
        """By the path of a group: the dimensions of it, and of those around it."""
        self.count = 0

    def write(self, place: h5py.Group, group: StoredGroup) -> None:
        """Put one there; those around it come before."""
        variables = group.variables
        scales = dict(self.scales.get(place.parent.name, {}))
        labels = [name for name, (dims, _, _) in variables.items() if dims == (name,) and name not in scales]
        for dims, values, _ in variables.values():
            for dim, size in zip(dims, values.shape, strict=True):
                if dim not in scales:
                    scales[dim] = self._scale(place, dim, size, variables[dim] if dim in labels else None)
        for name, variable in variables.items():
            if name not in labels:
                _attach(_written(place, name, variable), [scales[dim] for dim in variable[0]])
        _put(place, group.attrs)
        self.scales[place.name] = scales

    def _scale(self, place: h5py.Group, dim: str, size: int, labels: Variable | None) -> _Scale:
        number, self.count = np.int32(self.count), self.count + 1
        if labels is None:
            array = place.create_dataset(dim, (size,), ">f4", maxshape=(size or None,), **_IN_ORDER)
            array.make_scale(_ONLY_DIMENSION + b".%10d" % size)
        else:
            array = _written(place, dim, labels)
            array.make_scale(dim)
            array.attrs["_Netcdf4Coordinates"] = np.array([number])
        array.attrs["_Netcdf4Dimid"] = number
        return _Scale(array, number)


def _written(place: h5py.Group, name: str, variable: Variable) -> h5py.Dataset:
    _, values, attrs = variable
    is_text, fill = values.dtype.kind in "UO", attrs.get(_FILL)
    array = place.create_dataset(
        name,
        data=values.astype(object) if is_text else values,
        dtype=h5py.string_dtype() if is_text else values.dtype,
        fillvalue=fill,
        maxshape=None if values.size else [size or None for size in values.shape],  # in NetCDF, 0 may grow
        **_IN_ORDER,
    )
    _put(array, attrs if fill is None else attrs | {_FILL: values.dtype.type(fill)})
    return array


def _attach(array: h5py.Dataset, scales: Sequence[_Scale]) -> None:
    """Say which dimensions the array has."""
    for place, scale in enumerate(scales):
        array.dims[place].attach_scale(scale.array)
    if scales:
        array.attrs["_Netcdf4Coordinates"] = np.array([scale.number for scale in scales])
    if scales and len(array):
        array.attrs["_Netcdf4Dimid"] = scales[0].number


def _put(item: h5py.Group | h5py.Dataset, attrs: Mapping[str, Any]) -> None:
    for name, value in attrs.items():
        item.attrs[name] = value if isinstance(value, str) else np.atleast_1d(value)


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
