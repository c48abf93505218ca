"""The NetCDF file that is written is the one that xarray would write, object by object."""

import io
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr
from tests.helpers.atlases import random_atlas, with_dependency

from headscope.atlas.trees import content_of

NUMBERED = ("_Netcdf4Dimid", "_Netcdf4Coordinates")
"""Attributes with the numbers of dimensions, which any order will do for."""
REFERRING = ("DIMENSION_LIST", "REFERENCE_LIST", "_NCProperties")
"""Attributes with places in the file; and the versions of what wrote it."""


def strange() -> xr.DataTree:
    """What atlases of today do not have, and xarray can write."""
    shared = xr.Dataset({"in_all": ("head", [1, 2])}, {"head": ["a", "β"], "half": ("head", [0.5, 1.5])})
    inner = xr.Dataset(
        {
            "lines": ("line", np.array(["", "{}", "x" * 300], dtype=object)),
            "none": ("nothing", np.zeros(0)),
            "no_labels": (("head", "row"), np.arange(6, dtype=np.int8).reshape(2, 3)),
            "is_so": ("row", [True, False, True]),
            "one": ((), np.float32(0.5), {"long_name": "a number", "units": "1", "part": 3}),
        },
        attrs={"facts": '{"a": 1}', "count": 5, "share": 0.25},
    )
    return xr.DataTree.from_dict(
        {"/": xr.Dataset(attrs={"model": "m"}), "/stack": shared, "/stack/inner": inner}
    )


TREES = {
    "an atlas": lambda: with_dependency(random_atlas()).tree,
    "what xarray can write": strange,
}


@pytest.fixture(params=TREES)
def tree(request: pytest.FixtureRequest) -> xr.DataTree:
    return TREES[request.param]()


def objects(content: bytes) -> Iterator[tuple[str, Any]]:
    """Every group and array by its path, with all that HDF5 tells of it."""
    with h5py.File(io.BytesIO(content)) as file:
        names: list[str] = ["/"]
        file.visit(names.append)
        for name in names:
            item = file[name]
            attrs = {
                key: (item.attrs.get_id(key).dtype, item.attrs.get_id(key).shape, repr(item.attrs[key]))
                for key in item.attrs
                if key not in (*NUMBERED, *REFERRING)
            }
            told: tuple[Any, ...] = (sorted(item.attrs), attrs)
            if isinstance(item, h5py.Dataset):
                scales = [[scale.name for scale in dim.values()] for dim in item.dims]
                told += (
                    item.dtype,
                    item.shape,
                    item.maxshape,
                    repr(item.fillvalue),
                    item[...].tolist(),
                    scales,
                )
            else:
                told += ([inner for inner in item if "CLASS" not in item[inner].attrs],)  # in order
            yield name, told


def numbers(content: bytes) -> list[int]:
    """Those of all dimensions."""
    with h5py.File(io.BytesIO(content)) as file:
        found: dict[str, int] = {}
        file.visititems(
            lambda name, item: (
                found.update({name: int(item.attrs["_Netcdf4Dimid"])}) if "CLASS" in item.attrs else None
            )
        )
        return sorted(found.values())


def test_every_object_is_what_xarray_writes(tree: xr.DataTree) -> None:
    ours, theirs = content_of(tree), bytes(tree.to_netcdf(None, engine="h5netcdf"))
    assert dict(objects(ours)) == dict(objects(theirs))
    assert numbers(ours) == numbers(theirs) == list(range(len(numbers(ours))))


def test_other_programs_read_what_was_written(tree: xr.DataTree) -> None:
    with xr.open_datatree(io.BytesIO(content_of(tree)), engine="h5netcdf") as opened:
        xr.testing.assert_identical(opened.load(), tree)
