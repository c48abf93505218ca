"""A measure that gives heads a name instead of a number, such as head_type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

from headscope.cli.console import print_wrapped
from headscope.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr


def is_words(array: xr.DataArray) -> bool:
    """Whether the values are names."""
    return array.dtype.kind in "OUS"


def word_records(array: xr.DataArray, *, layer: int | None, head: int | None) -> list[dict[str, Any]]:
    """One record a head: its layer, its number and its name."""
    for dim, wanted in (("layer", layer), ("head", head)):
        if wanted is not None and wanted not in array[dim].values:
            raise OptionError(f"--{dim} {wanted}: there are {array.sizes[dim]}, counted from 0")
    return [
        {"layer": int(one["layer"]), "head": int(one["head"]), "value": str(one.values)}
        for row in array.transpose("layer", "head")
        for one in row
        if layer in (None, int(one["layer"])) and head in (None, int(one["head"]))
    ]


def counted(array: xr.DataArray) -> dict[str, int]:
    """How many heads have each name, in the order in which they are first met."""
    counts: dict[str, int] = {}
    for name in array.values.reshape(-1).tolist():
        counts[str(name)] = counts.get(str(name), 0) + 1
    return counts


def print_words(console: Console, records: list[dict[str, Any]]) -> None:
    """The heads of each name, a paragraph each."""
    by_name: dict[str, list[str]] = {}
    for record in records:
        by_name.setdefault(record["value"], []).append(f"{record['layer']}.{record['head']}")
    width = max(map(len, by_name), default=0)
    for name, heads in by_name.items():
        print_wrapped(console, f"{name:<{width}}  {len(heads):>4}  ", " ".join(heads))
