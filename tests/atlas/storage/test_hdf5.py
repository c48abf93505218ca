"""An atlas file is a NetCDF-4 file that other programs read, whatever stands behind it."""

import io

import numpy as np
import pytest
import xarray as xr
from tests.helpers.atlases import random_atlas, with_dependency

from headscope.atlas.trees import content_of


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


def test_other_programs_read_what_was_written(tree: xr.DataTree) -> None:
    with xr.open_datatree(io.BytesIO(content_of(tree)), engine="h5netcdf") as opened:
        xr.testing.assert_identical(opened.load(), tree)
