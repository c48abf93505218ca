"""Tables as they are read: the headings and cells of a described table, the same on the terminal and in the report."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headscope.facts.description import Column, direction_name
from headscope.facts.scores import number, signed

Row = Mapping[str, Any]

INTERVAL = "95% interval"
VERDICTS = {"above": "clearly", "below": "clearly not", "unclear": "not clearly", "too few": "too few cases"}
"""Whether a head is above what needs no attention."""


def table_cells(
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    nothing: str = "–",
    name: Callable[[str], str] = str,
) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of cells, without columns that no row has; `name` is for the first column, the labels."""
    shown = [column for column in columns if not rows or any(column.key in row for row in rows)]
    headings = [
        heading
        for column in shown
        for heading in (column.heading or column.key.replace("_", " "), INTERVAL)[: 1 + _has_interval(column)]
    ]
    cells = [[cell for column in shown for cell in _cells(column, row, nothing)] for row in rows]
    for row, written in zip(rows, cells, strict=True):
        written[:1] = [name(str(row.get(shown[0].key, nothing)))] if shown else []
    return headings, cells


def plain_columns(rows: Sequence[Row]) -> list[Column]:
    """The columns of rows that nobody described: a column a key, errors and intervals with the number they are of."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    beside = [key + ending for key in keys for ending in ("_stderr", "_low", "_high")]

    def known(key: str) -> str:
        return key if key in keys else ""

    return [
        Column(key, low=known(f"{key}_low"), high=known(f"{key}_high"), stderr=known(f"{key}_stderr"))
        for key in keys
        if key not in beside
    ]


def _has_interval(column: Column) -> bool:
    return bool(column.low) and column.format != "plain"


def _cells(column: Column, row: Row, nothing: str) -> list[str]:
    value, low, high, stderr = (row.get(key) for key in (column.key, column.low, column.high, column.stderr))
    text = _written(column, value, nothing)
    if number(value) is not None and (error := number(stderr)) is not None:
        digits = 3 if column.format == "plain" else column.digits
        text += f" ± {error * (100 if column.format in ('percent', 'points') else 1):.{digits}f}"
    ends = number(low), number(high)
    if None in ends:
        return [text, nothing] if _has_interval(column) else [text]
    first, last = (_written(column, end, nothing) for end in ends)
    if column.format == "plain":
        return [f"{text} ({first} to {last})"]
    return [text, f"{first.removesuffix('%')} to {last}"]


def _written(column: Column, value: object, nothing: str) -> str:
    known = number(value)
    if value is None or (isinstance(value, float) and known is None):
        return nothing
    if known is None:
        return _word(column, value)
    writers: dict[str, Callable[[float], str]] = {
        "percent": lambda share: f"{share:z.{column.digits}%}",
        "points": lambda points: f"{100 * points:+z.{column.digits}f}",
        "number": lambda value: f"{value:z.{column.digits}f}",
        "p_value": lambda p: "< 0.001" if p < 0.001 else f"{p:.3f}",
        "signed": signed,
    }
    if column.format in writers:
        return writers[column.format](known)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _word(column: Column, value: object) -> str:
    """A value that is no number."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    words = direction_name(value) if column.format == "direction" else str(value)
    return VERDICTS.get(words, words) if column.format == "verdict" else words
