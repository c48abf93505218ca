"""The index of an atlas file: the same arrays as HDF5 gives, and no changed bit goes unnoticed."""

import io
import struct
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
from tests.atlas.test_atlas import array

import headscope as hs
from headscope.atlas import Atlas, Typical
from headscope.atlas.storage.hdf5 import read_hdf5
from headscope.atlas.storage.index import read_indexed, with_index
from headscope.atlas.storage.stored import DamagedError
from headscope.errors import AtlasError
from headscope.types import HeadId, LabelledArray


@pytest.fixture
def path(tmp_path: Path) -> Path:
    counts = LabelledArray.of(np.arange(6).reshape(2, 3), {"layer": [0, 1], "role": ["a", "β", ""]}, "counts")
    scalar = LabelledArray(np.float32(0.5).reshape(()), (), {}, "a number")
    arrays = {"example": array(2, 4, 3), "counts": counts, "scalar": scalar}
    typical = Typical(HeadId(0, 1), ("a", "b"), None, (0, 1), (0.5, 0.5), 0.9)
    atlas = Atlas.build(
        {"encoder": arrays},
        provenance={"model": "m", "texts": 5, "tokens": 50, "duration_s": 0.25, "options": '{"limit": null}'},
        typical={"encoder": [typical]},
    )
    atlas.save(tmp_path / "a.nc")
    return tmp_path / "a.nc"


def test_the_index_gives_what_hdf5_gives(path: Path) -> None:
    content = path.read_bytes()
    indexed, by_hdf5 = read_indexed(content), read_hdf5(content)[0]
    assert indexed is not None
    assert list(indexed.groups) == list(by_hdf5.groups)
    for place, group in by_hdf5.groups.items():
        own = indexed.groups[place]
        assert {name: (type(value), value) for name, value in own.attrs.items()} == {
            name: (type(value), value) for name, value in group.attrs.items()
        }
        for name, (dims, values, attrs) in group.variables.items():
            assert own.variables[name][0] == dims
            assert own.variables[name][1].dtype == values.dtype
            np.testing.assert_array_equal(own.variables[name][1], values)
            assert own.variables[name][2] == attrs


def test_hdf5_is_not_asked_for_a_file_with_an_index(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(h5py, "File", None)
    assert hs.open(path).typical("0.1")[0].words == ("a", "b")


def test_other_programs_read_the_file_as_netcdf(path: Path) -> None:
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        xr.testing.assert_identical(hs.open(path).tree, tree.load())


def test_what_another_program_changed_in_place_is_read_without_fuss(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file["counts/counts"][0, 0] = 7
        file.attrs["note"] = "mine"
    assert read_indexed(path.read_bytes()) is None
    assert hs.open(path)["counts"].values[0, 0] == 7
    assert hs.open(path).provenance["note"] == "mine"


def test_no_flipped_bit_goes_unnoticed(path: Path) -> None:
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    for place in generator.integers(9, len(whole) - 32, 300):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(generator.integers(8))
        with pytest.raises(DamagedError):
            read_indexed(bytes(damaged))


def test_the_damaged_array_is_named(path: Path) -> None:
    whole = path.read_bytes()
    _, offsets = read_hdf5(whole)
    damaged = bytearray(whole)
    damaged[offsets["/example", "example"] + 3] ^= 16
    path.write_bytes(damaged)
    with pytest.raises(
        AtlasError, match="is damaged: the array /example/example is not what was written; copy"
    ):
        hs.open(path)
    damaged[offsets["/counts", "role" if ("/counts", "role") in offsets else "layer"]] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(AtlasError, match="and 1 more is not what was written"):
        hs.open(path)


def test_damage_outside_of_the_numbers_is_told_apart(path: Path) -> None:
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[100] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(AtlasError, match="its numbers are whole, but the HDF5 file around them"):
        hs.open(path)
    damaged = bytearray(whole)
    damaged[-60] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(AtlasError, match="its index is damaged"):
        hs.open(path)


def test_a_cut_index_is_damage_and_not_an_old_file(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(AtlasError, match="damaged or cut short"):
        hs.open(path)


def test_an_old_file_without_an_index_opens(path: Path) -> None:
    known = hs.open(path)
    known.tree.to_netcdf(path, engine="h5netcdf")
    assert read_indexed(path.read_bytes()) is None
    xr.testing.assert_identical(hs.open(path).tree, known.tree)


def _forged(text: bytes, *, claims: int | None = None) -> bytes:
    """A file whose checksums are right and whose index is hostile."""
    index = zlib.compress(text)
    body = b"\x89HDF\r\n\x1a\n" + bytes(100) + index
    sizes = (len(index), len(text) if claims is None else claims)
    return body + struct.pack("<8sIIQQ", b"\x93HSINDX\n", zlib.crc32(body), zlib.crc32(index), *sizes)


@pytest.mark.parametrize(
    "content",
    [
        _forged(b"[" * 100_000),
        _forged(b"null"),
        _forged(b'{"groups": {"/": {"attrs": {}, "arrays": {"x": {"dims": ["a"], "shape": [9999999999999], '
                b'"attrs": {}, "dtype": "<f8", "at": 0, "crc": 0}}}}}'),
        _forged(b'{"groups": {"/": {"attrs": {}, "arrays": {"x": {"dims": ["a"], "shape": [-1], '
                b'"attrs": {}, "dtype": "<f8", "at": 0, "crc": 0}}}}}'),
        _forged(b'{"groups": {"/": {"attrs": {}, "arrays": {"x": {"dims": ["a"], "shape": [1], '
                b'"attrs": {}, "dtype": "O", "at": 0, "crc": 0}}}}}'),
        _forged(b" " * 200_000_000),
        _forged(b"{}", claims=1 << 62),
    ],
    ids=["deep", "null", "huge", "negative", "objects", "bomb", "claims much"],
)  # fmt: skip
def test_a_hostile_index(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.nc").write_bytes(content)
    with pytest.raises(AtlasError, match="damaged"):
        hs.open(tmp_path / "a.nc")


def test_arrays_together_are_no_larger_than_the_file(path: Path) -> None:
    with h5py.File(io.BytesIO(path.read_bytes()), "r") as file:
        start = file["example/example"].id.get_offset()
    stored, _ = read_hdf5(path.read_bytes())
    group = stored.groups["/example"]
    dims, values, attrs = group.variables["example"]
    for number in range(2000):
        group._own[f"example{number}"] = (dims, values, attrs)
    offsets = {("/example", name): start for name in group.variables}
    path.write_bytes(with_index(path.read_bytes(), stored, offsets))
    with pytest.raises(AtlasError, match="damaged or cut short"):
        hs.open(path)


def test_an_index_that_unpacks_to_far_more_than_it_takes_is_refused(path: Path) -> None:
    """Blanks behind the JSON: all check sums hold, and a few kB would unpack to as much as somebody likes."""
    content = path.read_bytes()
    size = struct.calcsize("<8sIIQQ")
    magic, _, _, length, unpacked = struct.unpack("<8sIIQQ", content[-size:])
    before, index = content[: -size - length], zlib.decompress(content[-size - length : -size])
    assert len(index) == unpacked
    packed = zlib.compress(index + b" " * (8 << 20))
    swollen = before + packed
    footer = struct.pack(
        "<8sIIQQ", magic, zlib.crc32(swollen), zlib.crc32(packed), len(packed), len(index) + (8 << 20)
    )
    with pytest.raises(DamagedError, match="index is too large"):
        read_indexed(swollen + footer)
