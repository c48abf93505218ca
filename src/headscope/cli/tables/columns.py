"""Tables of rows as results give them: which columns, what they are called and how their numbers are written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from headscope.cli.tables.text import print_table

Row = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """One column: its title, the key it needs, and how a row's cell is written."""

    title: str
    key: str
    write: Callable[[Row], str]

    def is_used(self, rows: Sequence[Row]) -> bool:
        """Whether any row has such a cell."""
        return any(self.key in row for row in rows)

    def text(self, row: Row) -> str:
        """The cell; `-` where there is nothing."""
        return "-" if row.get(self.key) is None else self.write(row)


def print_rows(console: Console, columns: Sequence[Column], rows: Sequence[Row]) -> None:
    """The table, without columns that no row has a cell for; only their titles where there are no rows."""
    used = [column for column in columns if not rows or column.is_used(rows)]
    cells = [[column.text(row) for column in used] for row in rows]
    print_table(console, [column.title for column in used], cells)


def words(title: str, key: str) -> Column:
    """A label, with spaces for underscores only where it is headscope's own word."""
    return Column(title, key, lambda row: str(row[key]))


def count(title: str, key: str) -> Column:
    """A whole number."""
    return Column(title, key, lambda row: f"{row[key]:,}")


def signed(title: str, key: str) -> Column:
    """A whole number with its sign."""
    return Column(title, key, lambda row: f"{row[key]:+d}")


def percent(title: str, key: str, *, decimals: int = 1) -> Column:
    """A share in percent."""
    return Column(title, key, lambda row: f"{100 * row[key]:.{decimals}f}")


def percent_interval(title: str, low: str, high: str) -> Column:
    """The interval of a share in percent."""
    return Column(title, low, lambda row: f"{100 * row[low]:.1f} to {100 * row[high]:.1f}")


def number(title: str, key: str, *, decimals: int = 4) -> Column:
    """A number as it is."""
    return Column(title, key, lambda row: f"{row[key]:.{decimals}f}")


def interval(title: str, low: str, high: str, *, decimals: int = 4) -> Column:
    """The interval of a number."""
    return Column(title, low, lambda row: f"{row[low]:.{decimals}f} to {row[high]:.{decimals}f}")


def with_error(title: str, key: str) -> Column:
    """A number and its standard error, which stands beside it or with it: `0.312 ± 0.004`."""
    return Column(title, key, lambda row: shown(row[key], row[f"{key}_stderr"]))


def shown(value: float | None, stderr: float | None, *, decimals: int = 3) -> str:
    """`0.312 ± 0.004`; without a standard error only the value, and `-` where nothing is known."""
    if value is None:
        return "-"
    return f"{value:.{decimals}f}" if stderr is None else f"{value:.{decimals}f} ± {stderr:.{decimals}f}"
