"""Arrays without xarray: the same parts of the same numbers."""

from collections.abc import Sequence

import pytest
import xarray as xr
from tests.helpers.atlases import random_atlas

from headscope.atlas import Atlas
from headscope.facts.head_arrays import Choice, HeadArray, stack_arrays

MEASURE = "role_attention"


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return random_atlas(3, 4)


def same(own: HeadArray, known: xr.DataArray) -> None:
    assert own.dims == known.dims
    assert own.sizes == dict(known.sizes)
    assert own.labels == {dim: known[dim].values.tolist() for dim in known.dims}
    assert own.units == known.attrs["units"]
    xr.testing.assert_identical(xr.Variable(own.dims, own.values), xr.Variable(known.dims, known.values))


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"layer": 2},
        {"role": "period", "layer": 1},
        {"role": ["period", "cls"]},
        {"head": (3, 0), "role": "sep", "query_role": ["all"]},
        {"role": []},
    ],
)
def test_a_part_is_what_xarray_takes(atlas: Atlas, labels: dict[str, Choice | Sequence[Choice]]) -> None:
    wanted = {dim: list(label) if isinstance(label, tuple) else label for dim, label in labels.items()}
    same(stack_arrays(atlas, "encoder")[MEASURE].sel(**labels), atlas[MEASURE].sel(wanted))


def test_axes_in_another_order(atlas: Atlas) -> None:
    order = ("role", "head", "query_role", "layer")
    same(stack_arrays(atlas, "encoder")[MEASURE].transpose(*order), atlas[MEASURE].transpose(*order))
