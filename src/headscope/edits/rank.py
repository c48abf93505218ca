"""Looking heads up in an atlas: of which kind they are, and in which order a measure puts them."""

from itertools import combinations

import numpy as np
import xarray as xr

from headscope.atlas import Atlas
from headscope.errors import OptionError, choices
from headscope.facts.slices import head_values
from headscope.types import Array, HeadGrid, HeadId

_TYPES, _PATTERNS = "head_type", "pattern_share"
_MISSING = {
    "type": "kinds of heads; find them with head_types(atlas).to_atlas(atlas)",
    "pattern": "shares of patterns; analyse the texts with that measure",
}


def labelled(atlas: Atlas, grid: HeadGrid, by: str, wanted: str) -> list[HeadId]:
    """The heads of one kind (by "type"), or whose most frequent pattern it is (by "pattern")."""
    name = _TYPES if by == "type" else _PATTERNS
    arrays = atlas.stack(_stack(atlas, grid))
    if name not in arrays:
        raise OptionError(f"{by}:{wanted}: the atlas has no {_MISSING[by]}")
    array = arrays[name]
    if by == "type":
        labels = np.asarray(array.transpose("layer", "head").values, dtype=str)
        known = sorted(set(labels.ravel()))
    else:
        shares = np.asarray(array.transpose("layer", "head", "pattern").values, dtype=float)
        names = [str(label) for label in array["pattern"].values]
        known, seen = names, np.isfinite(shares).all(-1)
        labels = np.where(seen, np.array(names)[np.nan_to_num(shares, nan=-1.0).argmax(-1)], "")
    _check_shape(labels, grid, name)
    if wanted not in known:
        raise OptionError(f"there is no {by} {wanted!r}; {choices(wanted, known)}")
    heads = [HeadId(int(layer), int(head)) for layer, head in np.argwhere(labels == wanted)]
    if not heads:
        raise OptionError(f"no head has {wanted!r} as its most frequent {by}")
    return heads


def ranked(atlas: Atlas, grid: HeadGrid, measure: str) -> list[HeadId]:
    """The heads that have a value, largest first; `measure` is a name, or name/label for one slice."""
    name, *labels = measure.split("/")
    arrays = atlas.stack(_stack(atlas, grid))
    if name not in arrays:
        numbers = [key for key in arrays if not key.endswith("_stderr")]
        ranks = [key for key in numbers if {"layer", "head"} <= set(arrays[key].dims)]
        raise OptionError(f"the atlas has no {name!r} for the {grid.stack}; {choices(name, ranks)}")
    if not np.issubdtype(arrays[name].dtype, np.number):
        raise OptionError(f"{name!r} is no number, so heads have no order by it")
    select = _select(arrays[name], name, labels)
    values = head_values(atlas, name, select=select, stack=grid.stack)
    _check_shape(values.values, grid, name)
    return values.order()


def _select(array: xr.DataArray, name: str, labels: list[str]) -> dict[str, str]:
    """Which label is meant of each dimension: one of `labels`, and "all" along those not mentioned."""
    dims = [str(dim) for dim in array.dims if dim not in ("layer", "head")]
    if not {"layer", "head"} <= set(array.dims):
        raise OptionError(f"{name!r} is not a number per head: its dimensions are {', '.join(dims)}")
    known = {dim: [str(label) for label in array[dim].values] for dim in dims}
    # Labels are in the order of the dimensions. One that several dimensions have is taken for the last of them: the
    # role that is looked at rather than the role that looks.
    fitting = [
        dict(zip(taken, labels, strict=True))
        for taken in combinations(dims, len(labels))
        if all(label in known[dim] for dim, label in zip(taken, labels, strict=True))
    ]
    if not fitting:
        raise OptionError(f"{name!r} has no {'/'.join(labels)!r}; {_choices(known)}")
    open_dims = [dim for dim in dims if dim not in fitting[-1]]
    if any("all" not in known[dim] and len(known[dim]) > 1 for dim in open_dims):
        raise OptionError(
            f"{name!r} has several numbers a head; write {name}/ and one label: {_choices(known)}"
        )
    usual = {dim: "all" if "all" in known[dim] else known[dim][0] for dim in open_dims}
    return {**usual, **fitting[-1]}


def _choices(known: dict[str, list[str]]) -> str:
    return "; ".join(f"{dim}: {', '.join(labels)}" for dim, labels in known.items()) or "it takes no label"


def _stack(atlas: Atlas, grid: HeadGrid) -> str:
    if grid.stack not in atlas.stacks:
        raise OptionError(f"the atlas has no {grid.stack}; it has {', '.join(atlas.stacks)}")
    return grid.stack


def _check_shape(values: Array, grid: HeadGrid, name: str) -> None:
    if values.shape != grid.shape:
        raise OptionError(
            f"{name!r} in the atlas is of {values.shape[0]} x {values.shape[1]} heads and the {grid.stack} of this "
            f"model has {grid.layers} x {grid.heads}; the atlas is of another model"
        )
