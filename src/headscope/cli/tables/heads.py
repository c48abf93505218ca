"""One measure of one stack as a table: of heads, of pairs of heads, or of names of heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.cells import cell_len
from rich.console import Console

from headscope.cli.console import print_wrapped
from headscope.cli.tables.text import blocks, decimals_for, print_table, shown
from headscope.errors import OptionError, choices

if TYPE_CHECKING:
    import xarray as xr

    from headscope.types import HeadChoice

ROW_DIMS = ("layer", "head")
PAIR_DIMS = ("head_a", "head_b")
PAIRS_SHOWN = 10
Array = np.ndarray[Any, Any]
Labels = dict[str, str | int]
Record = dict[str, Any]


@dataclass(frozen=True)
class HeadTable:
    """The numbers of one measure, row by row."""

    rows: Sequence[Labels]
    """Layer and head of each row; only one of them, or what else the rows are about, where it has no more."""
    columns: Sequence[Labels]
    """What each column stands for, such as {"query_role": "all", "role": "sep"}."""
    means: Array  # (row, column)
    errors: Array  # (row, column) standard errors over texts, nan where there is none
    order: str = ""
    """By what the rows are ranked, in words; empty when they stand in the order of the model."""
    module_layers: Mapping[int, int] = field(default_factory=dict)
    """The number that a layer has in the network, where that is another."""

    @property
    def column_names(self) -> list[str]:
        """Short names: `-1`, or `all/sep` where two dimensions meet."""
        return ["/".join(map(str, column.values())) or "value" for column in self.columns]

    @property
    def row_names(self) -> list[str]:
        """layer.head, as heads are written everywhere."""
        return [".".join(map(str, row.values())) for row in self.rows]

    def records(self) -> list[Record]:
        """One flat record a number: its layer, head and other coordinates, its value and standard error."""
        return [
            {**row, **self._module_layer(row), **column, "value": mean, "stderr": error}
            for row, means, errors in zip(self.rows, self.means.tolist(), self.errors.tolist(), strict=True)
            for column, mean, error in zip(self.columns, means, errors, strict=True)
        ]

    def _module_layer(self, row: Labels) -> Labels:
        layer = row.get("layer")
        return {"module_layer": self.module_layers[layer]} if layer in self.module_layers else {}  # type: ignore[index]

    def ranked(self, *, by: str | None, top: int | None, ascending: bool) -> HeadTable:
        """The rows in the order of one column, the first `top` of them; rows without a number come last."""
        column = self._ranking_column(by)
        values = self.means[:, column]
        order = np.argsort(values if ascending else -values, kind="stable")[:top]
        return replace(
            self,
            rows=[self.rows[row] for row in order],
            means=self.means[order],
            errors=self.errors[order],
            order=f"by {self.column_names[column]}, {'lowest' if ascending else 'highest'} first",
        )

    def _ranking_column(self, by: str | None) -> int:
        names = self.column_names
        if by is not None:
            if by not in names:
                raise OptionError(f"--by {by}: there is no such column; {choices(by, names)}")
            return names.index(by)
        # Unless told otherwise, the column in which the heads differ most says most about them.
        spread = [
            float(np.std(column[np.isfinite(column)])) if np.isfinite(column).any() else -1
            for column in self.means.T
        ]
        general = [n for n, column in enumerate(self.columns) if column.get("query_role", "all") == "all"]
        return max(general or range(len(names)), key=lambda column: spread[column])

    def print(self, console: Console) -> None:
        """A row a head, or a label; where the columns do not fit side by side they go on below, in another block."""
        decimals = decimals_for(self.errors.ravel().tolist())
        cells = [
            [shown(*pair, decimals) for pair in zip(*row, strict=True)]
            for row in zip(self.means.tolist(), self.errors.tolist(), strict=True)
        ]
        if self.row_names == [""] and len(self.columns) == 1:
            console.print(cells[0][0])
            return
        dims = {dim for row in self.rows for dim in row}
        title = "head" if dims <= set(ROW_DIMS) else " ".join(sorted(dims))
        names = self.column_names
        widths = [max(map(cell_len, column)) for column in zip(names, *cells, strict=True)]
        labels = [
            [name, *map(str, self._module_layer(row).values())]
            for name, row in zip(self.row_names, self.rows, strict=True)
        ]
        titles = [title, *(["layer of the network"] if self.module_layers else [])]
        first = sum(max(map(len, column)) for column in zip(titles, *labels, strict=True))
        for number, block in enumerate(blocks(widths, console.width - first)):
            if number:
                console.print()
            rows = [[*label, *(row[c] for c in block)] for label, row in zip(labels, cells, strict=True)]
            print_table(console, [*titles, *(names[c] for c in block)], rows)


@dataclass(frozen=True)
class HeadPairs:
    """Distances between heads as pairs, the nearest first."""

    pairs: list[Record]
    top: int | None = None
    """How many of the nearest and farthest are asked for; None for all."""

    def _ends(self, count: int) -> tuple[list[Record], list[Record]]:
        """The nearest pairs, and the farthest ones from the farthest on; no pair is in both."""
        return self.pairs[:count], self.pairs[max(count, len(self.pairs) - count) :][::-1]

    def records(self) -> list[Record]:
        """One flat record a pair."""
        nearest, farthest = self._ends(self.top or len(self.pairs))
        return [*nearest, *farthest]

    def print(self, console: Console) -> None:
        """The nearest and the farthest, a line a pair."""
        ends = self._ends(self.top or PAIRS_SHOWN)
        decimals = decimals_for([pair["stderr"] for pairs in ends for pair in pairs])
        for title, pairs in zip(("nearest", "farthest"), ends, strict=True):
            if pairs:
                console.print()
                rows = [
                    [pair["head_a"], pair["head_b"], shown(pair["value"], pair["stderr"], decimals)]
                    for pair in pairs
                ]
                print_table(console, ["head", "and head", title], rows)


@dataclass(frozen=True)
class HeadNames:
    """A measure that gives heads a name instead of a number, such as head_type."""

    array: xr.DataArray

    def records(self) -> list[Record]:
        """One record a head: its layer, its number and its name."""
        return [
            {"layer": int(cell["layer"]), "head": int(cell["head"]), "value": str(cell.values)}
            for row in self.array
            for cell in row
        ]

    def print(self, console: Console) -> None:
        """The heads of each name, a paragraph each."""
        by_name: dict[str, list[str]] = {}
        for record in self.records():
            by_name.setdefault(record["value"], []).append(f"{record['layer']}.{record['head']}")
        width = max(map(len, by_name), default=0)
        for name, heads in by_name.items():
            print_wrapped(console, f"{name:<{width}}  {len(heads):>4}  ", " ".join(heads))


def measure_table(
    array: xr.DataArray,
    stderr: xr.DataArray | None,
    *,
    choice: HeadChoice,
    at: Mapping[str, str],
    by: str | None,
    top: int | None,
    ascending: bool,
) -> HeadTable | HeadPairs | HeadNames:
    """A measure as the table that suits it; an error where it cannot be ranked or narrowed as asked."""
    if array.dtype.kind in "OUS":
        if at or top or by is not None or ascending:
            raise OptionError(f"{array.name} gives heads a name, not a number: it takes --layer and --head")
        return HeadNames(_narrowed(array, choice))
    if array.dims == PAIR_DIMS:
        if at or by is not None or ascending:
            raise OptionError(f"{array.name} is about pairs of heads: it takes --layer, --head and --top")
        return HeadPairs(_pairs(array, stderr, choice), top)
    table = _head_table(array, stderr, at=at, choice=choice)
    return table.ranked(by=by, top=top, ascending=ascending) if top or by is not None or ascending else table


def _head_table(
    array: xr.DataArray, stderr: xr.DataArray | None, *, at: Mapping[str, str], choice: HeadChoice
) -> HeadTable:
    """The numbers at the given coordinates, with their standard errors where there are some."""
    means = _narrowed(array, choice, at)
    errors = np.full(means.shape, np.nan) if stderr is None else _narrowed(stderr, choice, at).values
    dims = [str(dim) for dim in means.dims]
    down = [dim for dim in ROW_DIMS if dim in dims] or dims[:1]
    rows, columns = (_combinations(means, some) for some in (down, [dim for dim in dims if dim not in down]))
    shape = (len(rows), len(columns))
    numbers: dict[int, int] = {}
    if "module_layer" in means.coords and "layer" in dims:
        numbers = dict(
            zip(means["layer"].values.tolist(), means["module_layer"].values.tolist(), strict=True)
        )
    return HeadTable(rows, columns, means.values.reshape(shape), errors.reshape(shape), module_layers=numbers)


def _pairs(array: xr.DataArray, stderr: xr.DataArray | None, choice: HeadChoice) -> list[Record]:
    """Each pair with a chosen head once, the nearest first; in every pair a chosen head stands first."""
    from headscope.types import HeadId  # loads torch, which --help does without

    labels = [str(label) for label in array["head_a"].values]
    chosen = [HeadId.parse(label) in choice for label in labels]
    if not any(chosen):
        raise OptionError(f"there is no head {choice}; heads go from {labels[0]} to {labels[-1]}")
    errors = np.full(array.shape, np.nan) if stderr is None else stderr.values
    pairs = []
    for a, b in zip(*np.triu_indices(len(labels), 1), strict=True):
        if chosen[a] or chosen[b]:
            first, second = (labels[a], labels[b]) if chosen[a] else (labels[b], labels[a])
            distance = {"value": float(array.values[a, b]), "stderr": float(errors[a, b])}
            pairs.append({"head_a": first, "head_b": second, **distance})
    return sorted(pairs, key=lambda pair: (np.isnan(pair["value"]), pair["value"]))


def _narrowed(array: xr.DataArray, choice: HeadChoice, at: Mapping[str, str] | None = None) -> xr.DataArray:
    """The chosen part, layer and head first; a single layer or head stays a dimension, to label its row."""
    for dim, label in (at or {}).items():
        array = array.isel({dim: _place(array, dim, label)})
    heads = None if choice.head is None else [choice.head]
    for dim, numbers in zip(ROW_DIMS, (choice.layers, heads), strict=True):
        if numbers is not None:
            array = array.isel({dim: [_place(array, dim, str(number)) for number in numbers]})
    return array.transpose(*(dim for dim in ROW_DIMS if dim in array.dims), ...)


def _place(array: xr.DataArray, dim: str, label: str) -> int:
    """Where a coordinate value stands, or an error that lists the values there are."""
    if dim not in array.dims:
        raise OptionError(f"{array.name} has no {dim}; {choices(dim, map(str, array.dims))}")
    labels = [str(value) for value in array[dim].values]
    if label in labels:
        return labels.index(label)
    listed = choices(label, labels)
    if len(labels) > 2 and all(map(str.isdecimal, labels)):
        listed = f"choose from {labels[0]} to {labels[-1]}" + (", counted from 0" if labels[0] == "0" else "")
    raise OptionError(f"{array.name} has no {dim} {label}; {listed}")


def _combinations(array: xr.DataArray, dims: list[str]) -> list[Labels]:
    labels = [array[dim].values.tolist() for dim in dims]
    return [dict(zip(dims, combination, strict=True)) for combination in product(*labels)]
