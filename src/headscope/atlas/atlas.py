"""The atlas: what every head does, as labelled arrays with their provenance."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from headscope.atlas.files import FORMAT, FORMAT_KEY, NESTED, read_tree, write_tree
from headscope.errors import AtlasError
from headscope.types import LabelledArray

COMPANIONS = ("_stderr", "_uniform", "_uniform_stderr")
"""What stands beside a measure: its standard error, what even attention would give, and that one's error."""


class Atlas:
    """Labelled arrays for every stack of a model, and where they come from.

    `atlas["entropy"]` is an xarray DataArray. A model with several stacks (T5: encoder, decoder, cross) has
    `atlas["decoder/entropy"]` and so on, and `atlas["entropy"]` is the first stack that has it.
    """

    def __init__(self, tree: xr.DataTree) -> None:
        self.tree = tree

    @classmethod
    def build(
        cls, stacks: Mapping[str, Mapping[str, LabelledArray]], *, provenance: Mapping[str, str | int | float]
    ) -> Atlas:
        """An atlas of one group a measure, `/entropy`, or `/decoder/entropy` in a model of several stacks.

        Each measure has a group of its own (with its companions) because two measures may use one dimension
        with different labels: `query_role` is all, cls to one measure and all, sep, other to another.
        """
        root = xr.Dataset(attrs={**provenance, "stacks": ",".join(stacks), FORMAT_KEY: FORMAT})
        groups = {"/": root}
        for stack, arrays in stacks.items():
            for name in _measures(arrays):
                path = f"/{name}" if len(stacks) == 1 else f"/{stack}/{name}"
                family = (name, *(name + companion for companion in COMPANIONS))
                groups[path] = _dataset({key: arrays[key] for key in family if key in arrays})
        return cls(xr.DataTree.from_dict(groups))

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the numbers come from: model, weights, tokenizer, corpus, options, versions, duration."""
        return {str(key): _decoded(str(key), value) for key, value in self.tree.attrs.items()}

    @property
    def stacks(self) -> list[str]:
        """The names of the stacks, in the order of the forward pass."""
        return str(self.tree.attrs["stacks"]).split(",")

    def stack(self, name: str) -> dict[str, xr.DataArray]:
        """All arrays of one stack by name, standard errors and baselines included."""
        if name not in self.stacks:
            raise AtlasError(f"this atlas has no stack {name!r}; it has {', '.join(self.stacks)}")
        node = self.tree if len(self.stacks) == 1 else self.tree[name]
        datasets = [child.to_dataset() for child in node.children.values()]
        return {str(key): array for dataset in datasets for key, array in dataset.data_vars.items()}

    @property
    def measures(self) -> list[str]:
        """The names of the measures, each once; standard errors and baselines go without saying."""
        return _measures(dict.fromkeys(name for stack in self.stacks for name in self.stack(stack)))

    def __contains__(self, name: str) -> bool:
        stack, _, measure = name.rpartition("/")
        return any(measure in self.stack(one) for one in self.stacks if stack in ("", one))

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __getitem__(self, name: str) -> xr.DataArray:
        stack, _, measure = name.rpartition("/")
        for candidate in [stack] if stack else self.stacks:
            arrays = self.stack(candidate)
            if measure in arrays:
                return arrays[measure]
        raise AtlasError(f"this atlas has no {name!r}; it has {', '.join(self.measures)}")

    def shape(self, stack: str) -> tuple[int, int] | None:
        """How many layers and heads a stack has; None when no array of it says so."""
        for array in self.stack(stack).values():
            if {"layer", "head"} <= set(array.dims):
                return array.sizes["layer"], array.sizes["head"]
        return None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one NetCDF file; it appears under its name only when it is whole."""
        write_tree(self.tree, path)

    def __repr__(self) -> str:
        facts = self.provenance
        shapes = {stack: self.shape(stack) for stack in self.stacks}
        stacks = ", ".join(
            name if size is None else f"{name} {size[0]} x {size[1]}" for name, size in shapes.items()
        )
        return (
            f"<Atlas of {facts.get('model')}: {stacks}; {facts.get('texts')} texts, {facts.get('tokens')} tokens; "
            f"{', '.join(self.measures)}>"
        )


def open_atlas(path: str | os.PathLike[str]) -> Atlas:
    """Open an atlas file; a truncated, foreign or newer file gives a clear error."""
    return Atlas(read_tree(path))


def _measures(names: Iterable[str]) -> list[str]:
    """The names that are not a companion of another one."""
    known = set(names)
    companions = {name + companion for name in known for companion in COMPANIONS}
    return [name for name in names if name not in companions]


def _dataset(arrays: Mapping[str, LabelledArray]) -> xr.Dataset:
    return xr.Dataset(
        {
            name: xr.DataArray(
                array.values,
                dims=array.dims,
                coords={dim: np.asarray(list(array.coords[dim])) for dim in array.dims},
                attrs={"long_name": array.description, "units": array.units},
            )
            for name, array in arrays.items()
        }
    )


def _decoded(key: str, value: Any) -> Any:
    if key in NESTED and isinstance(value, str):
        return json.loads(value)
    return value.item() if isinstance(value, np.generic) else value
