"""The index at the end of an atlas file: where each array lies and its checksum, so that it is read without HDF5.

An atlas is a NetCDF-4 file, which is HDF5: a format in which a few changed bytes can make a reader loop, take all
memory, or read another file. What headscope writes therefore ends with an index of its own, which HDF5 and other
readers of NetCDF ignore:

    HDF5 file │ arrays that lie nowhere else │ index: compressed JSON │ footer: lengths and checksums

Opening an atlas reads footer, index and numbers, and never asks HDF5. Programs that change the HDF5 file in place drop
the index, and the file is then read as one from elsewhere (`headscope.atlas.storage.bounded`).
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headscope.atlas.storage.stored import DamagedError, StoredGroup, StoredTree, Variable
from headscope.types import Array

_FOOTER = struct.Struct(
    "<8sIIQQ"
)  # magic, checksum of all before, of the index; its length, and when unpacked
_MAGIC = b"\x93HSINDX\n"
_NUMBERS = frozenset("biuf")
_PADDED_TEXT = (
    1 << 24
)  # bytes: beyond, lines of text are Python's own instead of numpy's, each padded to the longest
_UNPACKED = 64  # text is seldom packed tighter; an index that claims more is refused before it is unpacked
_UNPACKED_AT_LEAST = 1 << 20

Place = tuple[str, str]
"""The path of a group and the name of an array in it."""


@dataclass(frozen=True)
class _Footer:
    all_before: int
    of_index: int
    length: int
    unpacked: int


def with_index(content: bytes, stored: StoredTree, offsets: Mapping[Place, int]) -> bytes:
    """The content of a file, and behind it the index of these arrays; those without an offset are put in between."""
    parts, end = [content], len(content)
    groups: dict[str, Any] = {}
    for path, group in stored.groups.items():
        arrays = {}
        for name, (dims, values, attrs) in group.variables.items():
            entry: dict[str, Any] = {"dims": dims, "shape": values.shape, "attrs": _packed(attrs)}
            if values.dtype.kind in "UO":
                entry["text"] = list(map(str, values.ravel().tolist()))
            else:
                raw = np.ascontiguousarray(values).tobytes()
                place = offsets.get((path, name))
                if place is None:
                    place, end = end, end + len(raw)
                    parts.append(raw)
                entry |= {"dtype": _number_type(values.dtype.str).str, "at": place, "crc": zlib.crc32(raw)}
            arrays[name] = entry
        groups[path] = {"attrs": _packed(group.attrs), "arrays": arrays}
    text = json.dumps({"groups": groups}, separators=(",", ":")).encode()
    index = zlib.compress(text, 6)
    whole = b"".join([*parts, index])
    return whole + _FOOTER.pack(_MAGIC, zlib.crc32(whole), zlib.crc32(index), len(index), len(text))


def read_indexed(content: bytes) -> StoredTree | None:
    """The arrays that the index at the end names; None where there is no index.

    Raises DamagedError with the name of what is damaged, and whatever comes where the index is not one.
    """
    footer = _footer(content)
    if footer is None:
        return None
    end = len(content) - _FOOTER.size
    view = memoryview(content)
    is_whole = zlib.crc32(view[:end]) == footer.all_before
    packed = view[end - footer.length : end]
    if footer.length > end or zlib.crc32(packed) != footer.of_index:
        raise DamagedError("its index is damaged")
    if footer.unpacked > max(_UNPACKED * footer.length, _UNPACKED_AT_LEAST):
        raise DamagedError("its index is too large")
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(packed, footer.unpacked)
    if len(text) != footer.unpacked or unpacker.unconsumed_tail:
        raise DamagedError("its index is damaged")
    groups = json.loads(text)["groups"]
    if not is_whole:
        raise DamagedError(_what_is_damaged(groups, view))
    return StoredTree(dict(_read_groups(groups, view)))


def _footer(content: bytes) -> _Footer | None:
    if len(content) < _FOOTER.size:
        return None
    magic, *rest = _FOOTER.unpack_from(content, len(content) - _FOOTER.size)
    return _Footer(*rest) if magic == _MAGIC else None


def _read_groups(groups: Mapping[str, Any], view: memoryview) -> Iterator[tuple[str, StoredGroup]]:
    left = len(view)  # arrays lie apart, so together they are no larger than the file
    for path, group in groups.items():
        variables: dict[str, Variable] = {}
        for name, entry in group["arrays"].items():
            dims, shape = tuple(map(str, entry["dims"])), tuple(map(int, entry["shape"]))
            if "text" in entry:
                values = _text(entry["text"])
            else:
                values = _numbers(entry, view)
                left -= values.nbytes
            if left < 0 or len(dims) != len(shape):
                raise ValueError(name)
            variables[name] = (dims, values.reshape(shape), _unpacked(entry["attrs"]))
        yield path, StoredGroup(variables, _unpacked(group["attrs"]))


def _numbers(entry: Mapping[str, Any], view: memoryview) -> Array:
    dtype, count = _number_type(entry["dtype"]), 1
    for size in entry["shape"]:
        count *= int(size)
    if count == 0:
        return np.zeros(0, dtype)
    return np.frombuffer(view, dtype, count, int(entry["at"])).copy()


def _text(lines: list[str]) -> Array:
    longest = max(map(len, lines), default=0)
    return np.array(lines, dtype=str if 4 * longest * len(lines) <= _PADDED_TEXT else object)


def _what_is_damaged(groups: Mapping[str, Any], view: memoryview) -> str:
    """Which arrays are not what was written; the HDF5 around them if they all are."""
    damaged = [
        f"{path.rstrip('/')}/{name}"
        for path, group in groups.items()
        for name, entry in group["arrays"].items()
        if "crc" in entry and zlib.crc32(_numbers(entry, view).tobytes()) != entry["crc"]
    ]
    if not damaged:
        return "its numbers are whole, but the HDF5 file around them is not what was written"
    more = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
    return f"the array {damaged[0]}{more} is not what was written"


def _number_type(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in _NUMBERS or dtype.itemsize > 8:
        raise ValueError(name)
    return dtype


def _packed(attrs: Mapping[str, object]) -> dict[str, Any]:
    """Attributes as JSON; numpy's numbers and lists keep their type, as a pair of its name and the values."""
    return {str(name): _packed_value(value) for name, value in attrs.items()}


def _packed_value(value: object) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "UO":
        return ["O", list(map(str, value.ravel().tolist()))]
    if isinstance(value, (np.ndarray, np.generic, int, float)):
        number = np.asarray(value)
        return [_number_type(number.dtype.str).str, number.tolist()]
    return str(value)


def _unpacked(attrs: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): _unpacked_value(value) for name, value in attrs.items()}


def _unpacked_value(value: Any) -> Any:
    if isinstance(value, str):
        return value
    kind, values = value
    return np.array(values, dtype=object) if kind == "O" else np.array(values, _number_type(kind))[()]
