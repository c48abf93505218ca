"""The groups of an atlas as xarray has them, which takes longer to load than an atlas to read."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from headscope.atlas.files import COMPANIONS, Results, measure_names
from headscope.atlas.storage.hdf5 import read_hdf5
from headscope.atlas.storage.index import with_index
from headscope.types import LabelledArray


def content_of(tree: xr.DataTree) -> bytes:
    """The bytes of one NetCDF file, with its index behind.

    Built in memory (an atlas is a few MB): a full disk then fails a plain write, which can be told apart and cleaned
    up, instead of somewhere inside HDF5.
    """
    content = bytes(tree.to_netcdf(engine="h5netcdf"))
    return with_index(content, *read_hdf5(content))


def tree_of(groups: Mapping[str, xr.Dataset], attrs: Mapping[str, object]) -> xr.DataTree:
    """The groups by their paths, and these attributes beside those of the root."""
    tree = xr.DataTree.from_dict(groups)
    tree.attrs.update(attrs)
    return tree


def array_groups(stacks: Results, *, several: bool) -> dict[str, xr.Dataset]:
    """A group for each measure, by its path."""
    by_path = {}
    for stack, arrays in stacks.items():
        for name in measure_names(arrays):
            family = (name, *(name + companion for companion in COMPANIONS))
            path = f"/{stack}/{name}" if several else f"/{name}"
            by_path[path] = _dataset({key: arrays[key] for key in family if key in arrays})
    return by_path


def line_groups(name: str, lines: Mapping[str, Sequence[str]], *, several: bool) -> dict[str, xr.Dataset]:
    """A group of lines of text for each stack, by its path."""
    return {
        f"/{stack}/{name}" if several else f"/{name}": xr.Dataset(
            {name: ("line", np.array([_in_utf8(text) for text in texts], dtype=object))}
        )
        for stack, texts in lines.items()
    }


def _in_utf8(text: str) -> str:
    """The text as a file can hold it: half a pair of UTF-16 has no bytes there."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _dataset(arrays: Mapping[str, LabelledArray]) -> xr.Dataset:
    # Variables and labels apart: arrays with labels of their own would be aligned, which costs four times as much.
    labels = {dim: array.coords[dim] for array in arrays.values() for dim in array.dims}
    return xr.Dataset(
        {
            name: (array.dims, array.values, {"long_name": array.description, "units": array.units})
            for name, array in arrays.items()
        },
        {dim: np.asarray(list(values)) for dim, values in labels.items()},
    )
