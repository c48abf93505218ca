"""The atlas: labelled arrays out, the same arrays back from the file, clear errors for bad files."""

import errno
import os
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope.atlas import Atlas, check_writable
from headscope.errors import AtlasError, OutputError
from headscope.types import LabelledArray


def array(*shape: int) -> LabelledArray:
    dims = ("layer", "head", "role")[: len(shape)]
    coords = {"layer": range(shape[0]), "head": range(shape[1]), "role": ["cls", "sep", "other"]}
    return LabelledArray(
        np.random.default_rng(0).random(shape), dims, {d: coords[d] for d in dims}, "an example", "nats"
    )


@pytest.fixture
def atlas() -> Atlas:
    return Atlas.build(
        {"encoder": {"example": array(2, 4, 3), "example_stderr": array(2, 4, 3)}},
        provenance={"model": "m", "texts": 5, "tokens": 50, "options": '{"limit": null}'},
    )


@pytest.fixture
def stacked() -> Atlas:
    """Stacks of different sizes, as BART has."""
    return Atlas.build(
        {"encoder": {"example": array(3, 4)}, "decoder": {"example": array(2, 2), "own": array(2, 2)}},
        provenance={"model": "m", "texts": 5, "tokens": 50},
    )


def test_arrays_are_labelled(atlas: Atlas) -> None:
    example = atlas["example"]
    assert example.dims == ("layer", "head", "role")
    assert example.sel(layer=1, head=2, role="sep") == example.values[1, 2, 1]
    assert example.attrs == {"long_name": "an example", "units": "nats"}
    assert atlas.measures == ["example"]
    assert "example_stderr" in atlas


def test_round_trip(atlas: Atlas, tmp_path: Path) -> None:
    atlas.save(tmp_path / "a.nc")
    back = hs.open(tmp_path / "a.nc")
    xr.testing.assert_identical(back["example"], atlas["example"])
    assert back.provenance == atlas.provenance
    assert back.provenance["options"] == {"limit": None}
    assert repr(back) == repr(atlas)
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"]


def test_any_netcdf_tool_finds_an_array_in_the_group_of_its_name(atlas: Atlas, tmp_path: Path) -> None:
    atlas.save(tmp_path / "a.nc")
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf", group="example") as plain:
        np.testing.assert_array_equal(plain["example"], atlas["example"])
        assert set(plain.data_vars) == {"example", "example_stderr"}
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as root:
        assert root.attrs["model"] == "m"


def test_one_dimension_may_have_other_labels_in_another_array(tmp_path: Path) -> None:
    def roles(*labels: str) -> LabelledArray:
        return LabelledArray(np.arange(float(len(labels))), ("query_role",), {"query_role": labels}, "", "1")

    built = Atlas.build(
        {"encoder": {"one": roles("all", "cls"), "two": roles("all", "sep", "other")}}, provenance={}
    )
    built.save(tmp_path / "a.nc")
    back = hs.open(tmp_path / "a.nc")
    assert list(back["one"]["query_role"].values) == ["all", "cls"]
    assert list(back["two"]["query_role"].values) == ["all", "sep", "other"]
    assert list(back["two"].values) == [0, 1, 2]


def test_several_stacks_have_a_group_each(stacked: Atlas, tmp_path: Path) -> None:
    stacked.save(tmp_path / "a.nc")
    back = hs.open(tmp_path / "a.nc")
    assert back.stacks == ["encoder", "decoder"]
    assert back["example"].shape == (3, 4)
    assert back["decoder/example"].shape == (2, 2)
    assert back["own"].shape == (2, 2)
    assert back.shape("decoder") == (2, 2)
    with pytest.raises(AtlasError, match="has no stack 'cross'; it has encoder, decoder"):
        back["cross/example"]


def test_what_is_not_there_is_named_with_what_is(atlas: Atlas) -> None:
    with pytest.raises(AtlasError, match="no 'entropy'; choose from example"):
        atlas["entropy"]


def test_an_existing_file_is_replaced_only_by_a_whole_one(
    atlas: Atlas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.nc"
    atlas.save(target)
    before = target.read_bytes()

    def full(self: Path, content: bytes) -> None:
        with self.open("wb") as file:
            file.write(bytes(content[:100]))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OutputError, match="No space left on device"):
        atlas.save(target)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"]


def test_places_that_cannot_be_written_are_told_before(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="No such file or directory"):
        check_writable(tmp_path / "missing" / "a.nc")
    with pytest.raises(OutputError, match="is a folder"):
        check_writable(tmp_path)
    check_writable(tmp_path / "fine.nc")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9, 0.999])
def test_a_truncated_file(atlas: Atlas, tmp_path: Path, keep: float) -> None:
    atlas.save(tmp_path / "a.nc")
    whole = (tmp_path / "a.nc").read_bytes()
    (tmp_path / "cut.nc").write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(AtlasError, match="damaged or cut short"):
        hs.open(tmp_path / "cut.nc")


def test_foreign_files(tmp_path: Path) -> None:
    (tmp_path / "text.nc").write_text("not an atlas")
    with pytest.raises(AtlasError, match="not an atlas"):
        hs.open(tmp_path / "text.nc")
    xr.Dataset({"a": ("x", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(AtlasError, match="not a headscope atlas"):
        hs.open(tmp_path / "other.nc")
    with pytest.raises(AtlasError, match="No such file"):
        hs.open(tmp_path / "missing.nc")


def test_a_newer_file(atlas: Atlas, tmp_path: Path) -> None:
    atlas.tree.attrs["headscope_format"] = 3
    atlas.save(tmp_path / "a.nc")
    with pytest.raises(AtlasError, match="has atlas format 3, this headscope reads up to 2"):
        hs.open(tmp_path / "a.nc")


@pytest.mark.parametrize(
    "attrs",
    [
        {"headscope_format": "one"},
        {"stacks": "encoder,decoder"},
        {"options": "{broken"},
        {"headscope_format": [1, 1]},
    ],
    ids=["format is no number", "a stack without a group", "broken JSON", "format is a list"],
)
def test_a_malformed_file(atlas: Atlas, tmp_path: Path, attrs: dict[str, object]) -> None:
    atlas.tree.attrs.update(attrs)
    atlas.save(tmp_path / "a.nc")
    with pytest.raises(AtlasError, match="damaged or cut short"):
        hs.open(tmp_path / "a.nc")


def test_only_regular_files_are_replaced_and_links_stay(atlas: Atlas, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="not a regular file"):
        atlas.save(tmp_path / "pipe")
    (tmp_path / "link.nc").symlink_to(tmp_path / "real.nc")
    atlas.save(tmp_path / "link.nc")
    assert (tmp_path / "link.nc").is_symlink()
    assert hs.open(tmp_path / "real.nc").measures == ["example"]


def test_a_measure_may_be_asked_for_by_stack(stacked: Atlas) -> None:
    assert "decoder/own" in stacked
    assert "encoder/own" not in stacked
    assert "nowhere/own" not in stacked


def test_no_file_stays_open(atlas: Atlas, tmp_path: Path) -> None:
    # One that is open when Python ends crashes it: HDF5 then calls back into an interpreter that is gone.
    atlas.save(tmp_path / "a.nc")
    before = h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE)
    back = hs.open(tmp_path / "a.nc")
    assert h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE) == before
    assert back["example"].shape == (2, 4, 3)
