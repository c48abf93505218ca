"""Atlas files as they are read: all groups as xarray has them, each made only when it is asked for."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
from tests.atlas.test_atlas import array

import headscope as hs
from headscope.atlas import Atlas
from headscope.atlas.storage.stored import StoredGroup


@pytest.fixture
def path(tmp_path: Path) -> Path:
    arrays = {"example": array(2, 4, 3), "example_stderr": array(2, 4, 3), "other": array(2, 4)}
    atlas = Atlas.build({"encoder": arrays}, provenance={"model": "m", "texts": 5, "tokens": 50})
    atlas.save(tmp_path / "a.nc")
    return tmp_path / "a.nc"


def test_the_tree_is_what_xarray_reads(path: Path) -> None:
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        xr.testing.assert_identical(hs.open(path).tree, tree.load())


def test_a_dataset_is_made_when_one_of_its_arrays_is_asked_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[list[str]] = []

    class Watched(xr.Dataset):
        __slots__ = ()

        def __init__(self, own: dict[str, object], *rest: object) -> None:
            made.append(list(own))
            super().__init__(own, *rest)

    monkeypatch.setattr(xr, "Dataset", Watched)
    atlas = hs.open(path)
    assert atlas.measures == ["example", "other"]
    assert "example_stderr" in atlas
    assert atlas.table("example") == atlas.typical("0.0") == []
    assert atlas._lines("example", None)
    assert made == []
    assert atlas["other"] is atlas["other"]
    assert made == [["other"]]


def test_plain_arrays_are_those_of_xarray_from_a_file_and_from_a_tree(path: Path) -> None:
    for atlas in (hs.open(path), Atlas(hs.open(path).tree)):
        plain = atlas.stack("encoder").plain
        assert list(plain) == list(atlas.stack("encoder"))
        for name, own in plain.items():
            known = atlas[name]
            assert own.dims == known.dims
            assert own.coords == {dim: known[dim].values.tolist() for dim in known.dims}
            assert (own.values == known.values).all()
            assert (own.description, own.units) == (known.attrs["long_name"], known.attrs["units"])


def test_dimensions_may_stand_in_an_outer_group(path: Path) -> None:
    with h5py.File(path, "a") as file:
        heads = file.create_dataset("head", data=range(4))
        heads.make_scale("head")
        example = file["example"]["example"]
        example.dims[1].detach_scale(example.dims[1][0])
        example.dims[1].attach_scale(heads)
        del file["example"]["example_stderr"], file["example"]["head"]
    assert hs.open(path)["example"].dims == ("layer", "head", "role")


def test_an_array_that_is_none_of_the_group(path: Path) -> None:
    arrays = hs.open(path).stack("encoder")
    assert list(arrays) == ["example", "example_stderr", "other"]
    assert len(arrays) == 3
    assert arrays.get("layer") is None


def test_to_ask_whether_a_group_has_an_array_makes_nothing() -> None:
    group = StoredGroup({"lines": (("line",), np.array(["{}"]), {})}, {})
    assert "lines" in group
    assert "other" not in group
    assert group._dataset is None
