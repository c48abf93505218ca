"""Atlas files from elsewhere: HDF5 reads them in a process that can be ended, and nothing outside of the file."""

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.atlas.test_atlas import array

import headscope as hs
from headscope.atlas import Atlas
from headscope.atlas.storage import bounded
from headscope.errors import AtlasError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    atlas = Atlas.build({"encoder": {"example": array(2, 4)}}, provenance={"model": "m"})
    atlas.save(tmp_path / "a.nc")
    return tmp_path / "a.nc"


def test_numbers_in_another_file_are_not_read(path: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"a secret of this machine, which an atlas would show")
    with h5py.File(path, "a") as file:
        external = [(str(tmp_path / "secret"), 0, 24)]
        file["example"].create_dataset("stolen", (3,), dtype="f8", external=external)
    with pytest.raises(AtlasError, match=r"a\.nc is not opened: the array /example/stolen keeps its numbers"):
        hs.open(path)


def test_virtual_arrays_are_not_read(path: Path, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = np.arange(3.0)
    layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", shape=(3,))
    with h5py.File(path, "a") as file:
        file["example"].create_virtual_dataset("stolen", layout)
    with pytest.raises(AtlasError, match="/example/stolen keeps its numbers in another file"):
        hs.open(path)


@pytest.mark.parametrize("link", [h5py.ExternalLink("/etc/passwd", "/x"), h5py.SoftLink("/")])
def test_links_are_not_followed(path: Path, link: object) -> None:
    with h5py.File(path, "a") as file:
        file["example"]["away"] = link
    with pytest.raises(AtlasError, match="/example/away is a link to another place or file"):
        hs.open(path)


def test_a_group_in_itself(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file["example"]["again"] = file["/"]
    with pytest.raises(AtlasError, match="nested too deeply"):
        hs.open(path)


def test_a_bomb_is_refused_before_it_is_unpacked(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file["example"].create_dataset("zeros", (1 << 36,), dtype="f8", chunks=(1 << 20,), compression="gzip")
    with pytest.raises(AtlasError, match="with the array /example/zeros it is far larger unpacked"):
        hs.open(path)


def test_long_lines_many_times_over_take_no_more_memory_than_they_may(path: Path) -> None:
    with h5py.File(path, "a") as file:
        lines = np.array(["x" * 3_000_000, *["y"] * 3000], dtype=object)  # 36 GB where all are padded
        file["example"].create_dataset("lines", data=lines, dtype=h5py.string_dtype())
    with pytest.raises(AtlasError, match=r"takes more than 1\.1 GB"):
        hs.open(path)


def test_what_loops_in_hdf5_is_ended(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(path, "a"):
        pass  # drops the index
    monkeypatch.setattr(bounded, "SECONDS", 1)
    loop = "from headscope.atlas.storage.bounded import _limit; _limit(1, 1 << 30)\nwhile 1: 1"
    monkeypatch.setattr(bounded, "_PROGRAM", loop)
    with pytest.raises(AtlasError, match="HDF5 crashes on it, or takes more than 1 s"):
        hs.open(path)


def test_a_process_that_waits_is_ended(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(path, "a"):
        pass
    monkeypatch.setattr(bounded, "SECONDS", 0)
    monkeypatch.setattr(subprocess, "run", _too_long)
    with pytest.raises(AtlasError, match="reading it takes more than 0 s"):
        hs.open(path)


def _too_long(program: list[str], *, timeout: float, **_: object) -> None:
    raise subprocess.TimeoutExpired(program, timeout)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    program = f"""
import os, headscope as hs
os.mkfifo({str(tmp_path / "pipe")!r})
try: hs.open({str(tmp_path / "pipe")!r})
except hs.HeadscopeError as error: print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert "is not a file" in done.stdout


def test_a_file_larger_than_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.nc"
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    with path.open("rb+") as file:
        file.truncate(1 << 43)  # has holes, and takes no room
    with pytest.raises(AtlasError, match=r"has 8796\.1 GB, more than 50% of this machine's memory"):
        hs.open(path)


def test_dimensions_of_two_sizes(path: Path) -> None:
    with h5py.File(path, "a") as file:
        group = file["example"]
        group.create_dataset("odd", data=np.zeros((2, 4)))
        group["odd"].dims[0].attach_scale(group["head"])
        group["odd"].dims[1].attach_scale(group["layer"])
    with pytest.raises(AtlasError, match="damaged or cut short"):
        hs.open(path)
