"""One measure of one stack as rows: of heads, of pairs of heads, or of names of heads."""

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

    from headscope.types import HeadChoice

ROW_DIMS = ("layer", "head")
PAIR_DIMS = ("head_a", "head_b")
Label = str | int
Record = dict[str, Any]


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

    def records(self) -> list[Record]:
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
    array: xr.DataArray, stderr: xr.DataArray | None, *, at: Mapping[str, str], choice: HeadChoice
) -> HeadTable:
    """The numbers at the given coordinates, with their standard errors where there are some."""
    means = narrowed(array, choice, at)
    errors = None if stderr is None else narrowed(stderr, choice, at).values
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


@dataclass(frozen=True)
class HeadPair:
    """Two heads, written layer.head, and how far apart they are."""

    head_a: str
    head_b: str
    distance: Number

    def record(self) -> Record:
        """The pair as a flat record."""
        names = {"head_a": self.head_a, "head_b": self.head_b}
        return {**names, "value": self.distance.mean, "stderr": self.distance.stderr}


@dataclass(frozen=True)
class HeadPairs:
    """Distances between heads as pairs, the nearest first."""

    pairs: list[HeadPair]
    top: int | None = None
    """How many of the nearest and farthest are asked for; None for all."""

    def ends(self, count: int) -> tuple[list[HeadPair], list[HeadPair]]:
        """The nearest pairs, and the farthest ones from the farthest on; no pair is in both."""
        return self.pairs[:count], self.pairs[max(count, len(self.pairs) - count) :][::-1]

    def records(self) -> list[Record]:
        """One flat record a pair."""
        nearest, farthest = self.ends(self.top or len(self.pairs))
        return [pair.record() for pair in (*nearest, *farthest)]


def head_pairs(
    array: xr.DataArray, stderr: xr.DataArray | None, *, choice: HeadChoice, top: int | None = None
) -> HeadPairs:
    """Each pair with a chosen head once; in every pair a chosen head stands first."""
    from headscope.types import HeadId  # loads torch, which --help does without

    labels = [str(label) for label in array["head_a"].values]
    chosen = [HeadId.parse(label) in choice for label in labels]
    if not any(chosen):
        raise OptionError(f"there is no head {choice}; heads go from {labels[0]} to {labels[-1]}")
    means = array.values.tolist()
    errors = None if stderr is None else stderr.values.tolist()
    pairs = []
    for a, label_a in enumerate(labels):
        for b in range(a + 1, len(labels)):
            if chosen[a] or chosen[b]:
                first, second = (label_a, labels[b]) if chosen[a] else (labels[b], label_a)
                distance = Number(means[a][b], nan if errors is None else errors[a][b])
                pairs.append(HeadPair(first, second, distance))
    return HeadPairs(sorted(pairs, key=lambda pair: (isnan(pair.distance.mean), pair.distance.mean)), top)


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
    if is_words(array):
        if at or top or by is not None or ascending:
            raise OptionError(f"{array.name} gives heads a name, not a number: it takes --layer and --head")
        return HeadNames(narrowed(array, choice))
    if array.dims == PAIR_DIMS:
        if at or by is not None or ascending:
            raise OptionError(f"{array.name} is about pairs of heads: it takes --layer, --head and --top")
        return head_pairs(array, stderr, choice=choice, top=top)
    table = head_table(array, stderr, at=at, choice=choice)
    return table.ranked(by=by, top=top, ascending=ascending) if top or by is not None or ascending else table


def is_words(array: xr.DataArray) -> bool:
    """Whether the values are names."""
    return array.dtype.kind in "OUS"


def counted(array: xr.DataArray) -> dict[str, int]:
    """How many heads have each name, in the order in which they are first met."""
    counts: dict[str, int] = {}
    for name in array.values.reshape(-1).tolist():
        counts[str(name)] = counts.get(str(name), 0) + 1
    return counts


def narrowed(array: xr.DataArray, choice: HeadChoice, at: Mapping[str, str] | None = None) -> xr.DataArray:
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
        has = ", ".join(str(name) for name in array.dims) or "no dimensions"
        raise OptionError(f"{array.name} has no {dim}; it has {has}")
    labels = [str(value) for value in array[dim].values]
    if label not in labels:
        raise OptionError(f"{array.name} has no {dim} {label}; choose from {_listed(labels)}")
    return labels.index(label)


def _combinations(array: xr.DataArray, dims: list[str]) -> list[dict[str, Label]]:
    labels = [array[dim].values.tolist() for dim in dims]
    return [dict(zip(dims, combination, strict=True)) for combination in product(*labels)]


def _listed(labels: list[str]) -> str:
    if not all(label.isdecimal() for label in labels) or len(labels) < 3:
        return ", ".join(labels)
    return f"{labels[0]} to {labels[-1]}" + (", counted from 0" if labels[0] == "0" else "")
