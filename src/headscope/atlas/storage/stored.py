"""An atlas as it was read from a file, made into xarray's arrays only where they are asked for.

To build a dataset of every group takes far longer than to read the numbers, and most readers want a few of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headscope.types import Array, LabelledArray

if TYPE_CHECKING:
    import xarray as xr

Variable = tuple[tuple[str, ...], Array, dict[str, object]]
"""Dimensions, numbers and attributes, in the order in which xarray takes them."""


class DamagedError(Exception):
    """The bytes of a file are not those that were written; the message says which part."""


class RefusedError(Exception):
    """A file would read other files, or take more time or memory than it may; the message says what it does."""


class StoredGroup(Mapping[str, "xr.DataArray"]):
    """The arrays of one group by name, coordinates left out; its dataset is made when the first is asked for."""

    def __init__(self, variables: dict[str, Variable], attrs: dict[str, Any]) -> None:
        self.attrs = attrs
        self._coords = {name: variable for name, variable in variables.items() if variable[0] == (name,)}
        self._own = {name: variable for name, variable in variables.items() if name not in self._coords}
        self._dataset: xr.Dataset | None = None

    @property
    def variables(self) -> dict[str, Variable]:
        """All arrays with their coordinates."""
        return self._coords | self._own

    @property
    def dataset(self) -> xr.Dataset:
        """The group as xarray has it."""
        if self._dataset is None:
            import xarray as xr

            self._dataset = xr.Dataset(self._own, self._coords, self.attrs)
        return self._dataset

    @classmethod
    def of(cls, dataset: xr.Dataset) -> StoredGroup:
        """A group that xarray has already."""
        variables = {
            str(name): (tuple(map(str, array.dims)), array.values, array.attrs)
            for name, array in dataset.variables.items()
            if name in dataset.data_vars or array.dims == (name,)
        }
        group = cls(variables, dataset.attrs)
        group._dataset = dataset
        return group

    def plain(self, name: str) -> LabelledArray:
        """An array without xarray, as a measure or a probe gave it."""
        dims, values, attrs = self._own[name]
        coords = {dim: self._labels(dim, size) for dim, size in zip(dims, values.shape, strict=True)}
        return LabelledArray(
            values, dims, coords, str(attrs.get("long_name", "")), str(attrs.get("units", "1"))
        )

    def _labels(self, dim: str, size: int) -> list[Any]:
        return self._coords[dim][1].tolist() if dim in self._coords else list(range(size))

    def __getitem__(self, name: str) -> xr.DataArray:
        if name not in self._own:
            raise KeyError(name)
        return self.dataset[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own  # a mapping would ask for the array, and load xarray

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)


class Arrays(Mapping[str, "xr.DataArray"]):
    """The arrays of several groups by name, each made when it is first asked for."""

    def __init__(self, groups: Iterable[StoredGroup], module_layers: tuple[int, ...] = ()) -> None:
        self._module_layers = module_layers
        self._group_of = {name: group for group in groups for name in group}
        self._made: dict[str, xr.DataArray] = {}

    def __getitem__(self, name: str) -> xr.DataArray:
        if name not in self._made:
            array = self._group_of[name][name]
            if self._module_layers and array.sizes.get("layer") == len(self._module_layers):
                array = array.assign_coords(module_layer=("layer", list(self._module_layers)))
            self._made[name] = array
        return self._made[name]

    @cached_property
    def plain(self) -> dict[str, LabelledArray]:
        """All of them without xarray."""
        return {name: group.plain(name) for name, group in self._group_of.items()}

    def __contains__(self, name: object) -> bool:
        return name in self._group_of

    def __iter__(self) -> Iterator[str]:
        return iter(self._group_of)

    def __len__(self) -> int:
        return len(self._group_of)


class StoredTree:
    """All groups of an atlas file by their path."""

    def __init__(self, groups: dict[str, StoredGroup]) -> None:
        self.groups = groups

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the whole file."""
        return self.groups["/"].attrs

    def tree(self) -> xr.DataTree:
        """Everything, as xarray has it."""
        import xarray as xr

        return xr.DataTree.from_dict({path: group.dataset for path, group in self.groups.items()})

    def children(self, folder: str) -> dict[str, StoredGroup]:
        """The groups right below a path such as "/" or "/decoder", by name."""
        start = folder.rstrip("/") + "/"
        below = {
            path.removeprefix(start): group for path, group in self.groups.items() if path.startswith(start)
        }
        return {name: group for name, group in below.items() if name and "/" not in name}
