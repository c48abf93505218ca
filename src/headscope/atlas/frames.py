"""The numbers of an atlas as tables: one row a head, or one row a number of one head."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import AtlasError, HeadscopeError, OptionError
from headscope.types import HeadId, split_stack

if TYPE_CHECKING:
    from headscope.atlas.atlas import Atlas

Library = Literal["pandas", "polars"]

MOST_NUMBERS = 512
"""What has more numbers for each head than this (a map, distances to all other heads) is left out."""

BESIDE = {"value": "", "stderr": "_stderr", "even": "_uniform"}
"""What stands in a row: a value, its standard error, and what even attention would give."""


def all_heads(atlas: Atlas, stack: str | None, errors: bool, library: Library) -> Any:
    """One row a head, one column a number: `entropy[all]`, `offset_attention[-1]`, and their `_stderr`."""
    frames = []
    for name in atlas.stacks if stack is None else [stack]:
        numbers = _numbers(atlas, name)
        wide = numbers.pivot(
            index=["layer", "head"], columns=["measure", "label"], values=["value", "stderr"]
        )
        order = pd.MultiIndex.from_frame(numbers[["measure", "label"]].drop_duplicates())
        columns = {
            f"{measure}{ending}" + (f"[{label}]" if label else ""): wide[(what, measure, label)]
            for measure, label in order
            for what, ending in (("value", ""), ("stderr", "_stderr"))[: 1 + errors]
            if what == "value" or wide[(what, measure, label)].notna().any()
        }
        frame = pd.DataFrame(columns).reset_index()
        frame.insert(0, "stack", name)
        frames.append(frame)
    whole = pd.concat(frames, ignore_index=True)
    if library == "pandas":
        return whole
    try:
        return import_module(library).DataFrame({str(name): whole[name].to_numpy() for name in whole})
    except ModuleNotFoundError as error:
        raise HeadscopeError(f"{library} is not installed; pip install {library}, or use pandas") from error


def one_head(atlas: Atlas, head: HeadId | str, stack: str | None) -> pd.DataFrame:
    """One row a number of one head: measure, label, value, standard error, and what even attention would give."""
    named, text = split_stack(str(head))
    wanted, stack = HeadId.parse(text), named or stack or atlas.stacks[0]
    shape = atlas.shape(stack)
    if shape is None or wanted.layer >= shape[0] or wanted.head >= shape[1]:
        size = "no heads" if shape is None else f"{shape[0]} layers of {shape[1]} heads, counted from 0"
        raise AtlasError(f"there is no head {wanted}; the {stack} of this atlas has {size}")
    numbers = _numbers(atlas, stack)
    own = numbers[(numbers["layer"] == wanted.layer) & (numbers["head"] == wanted.head)]
    return own[["measure", "label", *BESIDE]].reset_index(drop=True)


def top_heads(atlas: Atlas, measure: str, *, stack: str | None, labels: dict[str, object]) -> pd.DataFrame:
    """Every head with its number of a measure at the labels given, the largest first."""
    array = atlas[f"{stack}/{measure}" if stack else measure]
    free = [str(dim) for dim in array.dims if dim not in ("layer", "head")]
    if not {"layer", "head"} <= set(array.dims) or set(labels) - set(free):
        known = f"it has {', '.join(free)}" if free else "it has none but layer and head"
        raise OptionError(
            f"{measure!r} has no dimension {', '.join(set(labels) - set(free)) or 'head'}; {known}"
        )
    place = {}
    for dim in free:
        values = array[dim].values.tolist()
        wanted = labels.get(dim, "all" if "all" in values else values[0] if len(values) == 1 else None)
        if wanted not in values:
            raise OptionError(
                f"{measure!r} needs {dim}=, one of {', '.join(map(str, values))}"
                + ("" if wanted is None else f"; it has no {wanted!r}")
            )
        place[dim] = wanted
    holder = next(name for name in atlas.stacks if stack in (None, name) and measure in atlas.stack(name))
    frame = _together(atlas.stack(holder), measure).sel(place).to_dataframe().reset_index()
    frame.insert(
        0, "name", [f"{layer}.{head}" for layer, head in zip(frame["layer"], frame["head"], strict=True)]
    )
    ordered = frame.dropna(subset=["value"]).sort_values("value", ascending=False, kind="stable")
    return ordered[["name", *BESIDE]].rename(columns={"name": "head"}).reset_index(drop=True)


def _numbers(atlas: Atlas, stack: str) -> pd.DataFrame:
    """Every number of every head of a stack, a row each."""
    arrays, frames = atlas.stack(stack), []
    for measure in atlas.measures:
        array = arrays.get(measure)
        if array is None or not {"layer", "head"} <= set(array.dims) or array.dtype.kind not in "fiub":
            continue
        free = [str(dim) for dim in array.dims if dim not in ("layer", "head")]
        if array.size > MOST_NUMBERS * array.sizes["layer"] * array.sizes["head"]:
            continue
        frame = _together(arrays, measure).to_dataframe(dim_order=[*free, "layer", "head"]).reset_index()
        label = frame[free].astype(str).agg(", ".join, axis=1) if free else ""
        frames.append(
            frame.assign(measure=measure, label=label)[["measure", "label", "layer", "head", *BESIDE]]
        )
    if not frames:
        raise AtlasError("this atlas has no numbers for single heads")
    return pd.concat(frames, ignore_index=True)


def _together(arrays: Mapping[str, xr.DataArray], measure: str) -> xr.Dataset:
    """A measure with its error and its even baseline, nan where it has none."""
    value = arrays[measure]
    beside = {name: arrays.get(measure + ending, xr.DataArray(np.nan)) for name, ending in BESIDE.items()}
    return xr.Dataset({name: array.broadcast_like(value) for name, array in beside.items()})
