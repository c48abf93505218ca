"""One measure of one stack as a table: a row a head, a column for everything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import isnan, nan
from statistics import pstdev
from typing import TYPE_CHECKING, Any

from headscope.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr

ROW_DIMS = ("layer", "head")
Label = str | int


@dataclass(frozen=True)
class Number:
    """A mean over texts and its standard error; nan where there is none."""

    mean: float
    stderr: float = nan


@dataclass(frozen=True)
class HeadTable:
    """The numbers of one measure, row by row."""

    rows: list[dict[str, Label]]
    """Layer and head of each row; only one of them, or what else the rows are about, where it has no more."""
    columns: list[dict[str, Label]]
    """What each column stands for, such as {"query_role": "all", "role": "sep"}."""
    numbers: list[list[Number]]
    order: str = ""
    """By what the rows are ranked, in words; empty when they stand in the order of the model."""

    @property
    def column_names(self) -> list[str]:
        """Short names: `-1`, or `all/sep` where two dimensions meet."""
        return ["/".join(str(label) for label in column.values()) or "value" for column in self.columns]

    @property
    def row_title(self) -> str:
        """What the rows are: heads, or the labels of a measure that is not about heads."""
        dims = {dim for row in self.rows for dim in row}
        return "head" if dims <= set(ROW_DIMS) else " ".join(sorted(dims))

    @property
    def row_names(self) -> list[str]:
        """layer.head, as heads are written everywhere."""
        return [".".join(str(number) for number in row.values()) for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """One flat record a number: its layer, head and other coordinates, its value and standard error."""
        return [
            {**row, **column, "value": number.mean, "stderr": number.stderr}
            for row, numbers in zip(self.rows, self.numbers, strict=True)
            for column, number in zip(self.columns, numbers, strict=True)
        ]

    def ranked(self, *, by: str | None, top: int | None, ascending: bool) -> HeadTable:
        """The rows in the order of one column, the first `top` of them; rows without a number come last."""
        column = self._ranking_column(by)

        def place(row: int) -> tuple[bool, float]:
            mean = self.numbers[row][column].mean
            return isnan(mean), mean if ascending else -mean

        order = sorted(range(len(self.rows)), key=place)[:top]
        return replace(
            self,
            rows=[self.rows[row] for row in order],
            numbers=[self.numbers[row] for row in order],
            order=f"by {self.column_names[column]}, {'lowest' if ascending else 'highest'} first",
        )

    def _ranking_column(self, by: str | None) -> int:
        names = self.column_names
        if by is not None:
            if by not in names:
                raise OptionError(f"--by {by}: there is no such column; choose from {', '.join(names)}")
            return names.index(by)
        # Unless told otherwise, the column in which the heads differ most says most about them.
        general = [n for n, column in enumerate(self.columns) if column.get("query_role", "all") == "all"]
        return max(general or range(len(names)), key=self._spread)

    def _spread(self, column: int) -> float:
        means = [row[column].mean for row in self.numbers if not isnan(row[column].mean)]
        return pstdev(means) if means else -1.0


def head_table(
    array: xr.DataArray,
    stderr: xr.DataArray | None,
    *,
    at: Mapping[str, str],
    layer: int | None,
    head: int | None,
) -> HeadTable:
    """The numbers at the given coordinates, with their standard errors where there are some."""
    means = _narrowed(array, at, layer, head)
    errors = None if stderr is None else _narrowed(stderr, at, layer, head).values
    dims = [str(dim) for dim in means.dims]
    down = [dim for dim in ROW_DIMS if dim in dims] or dims[:1]
    rows = _combinations(means, down)
    columns = _combinations(means, [dim for dim in dims if dim not in down])
    shape = (len(rows), len(columns))
    mean_rows = means.values.reshape(shape).tolist()
    error_rows = [[nan] * shape[1]] * shape[0] if errors is None else errors.reshape(shape).tolist()
    numbers = [
        [Number(*pair) for pair in zip(*row, strict=True)] for row in zip(mean_rows, error_rows, strict=True)
    ]
    return HeadTable(rows, columns, numbers)


def place_of(array: xr.DataArray, dim: str, label: str) -> int:
    """Where a coordinate value stands, or an error that lists the values there are."""
    if dim not in array.dims:
        has = ", ".join(str(name) for name in array.dims) or "no dimensions"
        raise OptionError(f"{array.name} has no {dim}; it has {has}")
    labels = [str(value) for value in array[dim].values]
    if label not in labels:
        raise OptionError(f"{array.name} has no {dim} {label}; choose from {_listed(labels)}")
    return labels.index(label)


def _narrowed(
    array: xr.DataArray, at: Mapping[str, str], layer: int | None, head: int | None
) -> xr.DataArray:
    """The chosen part, layer and head first; a single layer or head stays a dimension, to label its row."""
    for dim, label in at.items():
        array = array.isel({dim: place_of(array, dim, label)})
    for dim, number in zip(ROW_DIMS, (layer, head), strict=True):
        if number is not None:
            array = array.isel({dim: [place_of(array, dim, str(number))]})
    return array.transpose(*(dim for dim in ROW_DIMS if dim in array.dims), ...)


def _combinations(array: xr.DataArray, dims: list[str]) -> list[dict[str, Label]]:
    labels = [array[dim].values.tolist() for dim in dims]
    return [dict(zip(dims, combination, strict=True)) for combination in product(*labels)]


def _listed(labels: list[str]) -> str:
    whole = all(label.isdecimal() for label in labels)
    return f"{labels[0]} to {labels[-1]}" if whole and len(labels) > 2 else ", ".join(labels)
