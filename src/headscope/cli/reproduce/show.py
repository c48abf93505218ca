"""A paper's figures and ours as tables on the terminal."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console

from headscope.cli.console import print_wrapped
from headscope.cli.tables import blocks, print_table

if TYPE_CHECKING:
    from headscope.reproduce import Figure, Grid, Reproduction, Row, Section

GAP = 2
_WRITTEN: dict[str, Callable[[float], str]] = {
    "share": lambda value: f"{100 * value:.1f} %",
    "points": lambda value: f"{100 * value:+z.1f} points",
    "cosine": lambda value: f"{value:.3f}",
    "nats": lambda value: f"{_plain(value)} nats",
    "heads": lambda value: f"{value:.0f} head{'' if value == 1 else 's'}",
    "kinds": lambda value: f"{value:.0f}",
    "silhouette": lambda value: f"{value:.2f}",
    "p-value": lambda value: f"p = {value:.2g}",
}


def _plain(value: float) -> str:
    """Two or three decimals; two digits for the small numbers that gradients are."""
    if 0 < abs(value) < 0.01:
        return f"{value:.2g}"
    return f"{value:.{2 if abs(value) >= 1 else 3}f}"


def print_reproduction(console: Console, result: "Reproduction") -> None:
    """Every section with its origins, table and notes; those left out in a line each."""
    print_wrapped(console, "", result.citation)
    for section in result.sections:
        console.print()
        console.print(section.title, style="bold", soft_wrap=True)
        if section.needs:
            print_wrapped(console, "  left out: ", section.needs)
        else:
            _print_section(console, section)
    console.print()
    for note in result.notes:
        print_wrapped(console, "note: ", note)


def _print_section(console: Console, section: "Section") -> None:
    print_wrapped(console, "  published: ", f"{section.published.model}; {section.published.data}")
    if section.ours is not None:
        print_wrapped(console, "  ours:      ", f"{section.ours.model}; {section.ours.data}")
    if section.rows:
        _print_rows(console, section)
    if section.grid is not None:
        _print_grid(console, section.grid)
    for row in section.rows:
        if row.note:
            print_wrapped(console, f"  {row.quantity}: ", row.note)
    for note in section.notes:
        print_wrapped(console, "  ", note)


def _print_rows(console: Console, section: "Section") -> None:
    """The table; where it is too wide, what its figures belong to goes below it."""
    columns = _columns(section)
    if _width(columns) <= console.width:
        _print_columns(console, columns)
        return
    _print_columns(console, [column for column in columns if column[0]])
    for row in section.rows:
        ends = [("published", row.published), ("ours", row.ours)]
        told = [f"{name} {figure.detail}" for name, figure in ends if figure is not None and figure.detail]
        if told:
            print_wrapped(console, f"  {row.quantity}: ", "; ".join(told))


def _print_grid(console: Console, grid: "Grid") -> None:
    """The counts; where the columns do not fit side by side they go on below."""
    first = max(map(cell_len, [grid.title, *grid.lines])) + GAP
    for block in blocks([max(cell_len(name), 2) for name in grid.columns], console.width - first):
        lines = [[name, *(str(numbers[c]) for c in block)] for name, numbers in grid.lines.items()]
        print_table(console, [grid.title, *(grid.columns[c] for c in block)], lines)


def _columns(section: "Section") -> list[list[str]]:
    """The columns with their titles, without those that are empty; details have no title."""
    rows = section.rows
    unit = [row.unit for row in rows]
    published, ours = [row.published for row in rows], [row.ours for row in rows]
    columns = [
        [section.heading, *(row.quantity for row in rows)],
        ["published", *map(_published, published, unit)],
        ["", *map(_detail, published)],
        ["ours", *map(_value, ours, unit)],
        [section.interval, *map(_interval, ours, unit)],
        ["", *map(_detail, ours)],
        ["cases", *map(_cases, rows)],
    ]
    return [column for column in columns if any(cell not in ("", "-") for cell in column[1:])]


def _print_columns(console: Console, columns: Sequence[Sequence[str]]) -> None:
    header, *rows = zip(*columns, strict=True)
    print_table(console, header, rows)


def _width(columns: Sequence[Sequence[str]]) -> int:
    return sum(max(map(cell_len, column)) + GAP for column in columns) - GAP


def _value(figure: "Figure | None", unit: str) -> str:
    if figure is None:
        return "-"
    return figure.words if figure.value is None else _WRITTEN[unit](figure.value)


def _published(figure: "Figure | None", unit: str) -> str:
    """A share with as many decimals as were published, at most two."""
    if figure is None or figure.value is None or unit not in ("share", "points"):
        return _value(figure, unit)
    sign, word = ("+", "points") if unit == "points" else ("", "%")
    return f"{100 * figure.value:{sign}.2f}".rstrip("0").rstrip(".") + f" {word}"


def _detail(figure: "Figure | None") -> str:
    return "" if figure is None else figure.detail


def _interval(figure: "Figure | None", unit: str) -> str:
    if figure is None or figure.low is None or figure.high is None:
        return ""
    low, high = _WRITTEN[unit](figure.low), _WRITTEN[unit](figure.high)
    return f"{low.partition(' ')[0]} to {high.partition(' ')[0]}"


def _cases(row: "Row") -> str:
    return "" if row.ours is None or row.ours.cases is None else f"{row.ours.cases:,}"
