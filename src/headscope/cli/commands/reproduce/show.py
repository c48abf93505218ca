"""A paper's figures and ours as tables on the terminal."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console

from headscope.cli.console import print_wrapped
from headscope.cli.tables import blocks, print_table
from headscope.reproduce import Grid, Reproduction, Section
from headscope.reproduce import wording as words

GAP = 2


def print_reproduction(console: Console, result: Reproduction) -> None:
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
    for name, reason in result.not_covered.items():
        print_wrapped(console, "not covered: ", f"{name}: {reason}")
    for note in result.notes:
        print_wrapped(console, "note: ", note)


def _print_section(console: Console, section: Section) -> None:
    print_wrapped(console, "  published: ", words.origin(section.published))
    if section.ours is not None:
        print_wrapped(console, "  ours:      ", words.origin(section.ours))
    if section.rows:
        _print_rows(console, section)
    if section.grid is not None:
        _print_grid(console, section.grid)
    for tally in words.tallies(section):
        print_wrapped(console, "  finding: ", f"{tally.finding}: {tally.outcome}")
    for row in section.rows:
        if row.note:
            print_wrapped(console, f"  {row.quantity}: ", row.note)
    for note in section.notes:
        print_wrapped(console, "  ", note)


def _print_rows(console: Console, section: Section) -> None:
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


def _print_grid(console: Console, grid: Grid) -> None:
    """The counts; where the columns do not fit side by side they go on below."""
    first = max(map(cell_len, [grid.title, *grid.lines])) + GAP
    for block in blocks([max(cell_len(name), 2) for name in grid.columns], console.width - first):
        lines = [[name, *(str(numbers[c]) for c in block)] for name, numbers in grid.lines.items()]
        print_table(console, [grid.title, *(grid.columns[c] for c in block)], lines)


def _columns(section: Section) -> list[list[str]]:
    """The columns with their titles, without those that are empty; details have no title."""
    rows = section.rows
    unit = [row.unit for row in rows]
    published, ours = [row.published for row in rows], [row.ours for row in rows]
    columns = [
        [section.heading, *(row.quantity for row in rows)],
        ["published", *map(words.published_figure, published, unit)],
        ["", *map(words.detail, published)],
        ["ours", *map(words.our_figure, ours, unit)],
        [section.interval, *map(words.interval, ours, unit)],
        ["", *map(words.detail, ours)],
        ["cases", *map(words.cases, rows)],
        ["same?", *map(words.same_kind, rows)],
    ]
    return [column for column in columns if any(cell not in ("", "-") for cell in column[1:])]


def _print_columns(console: Console, columns: Sequence[Sequence[str]]) -> None:
    header, *rows = zip(*columns, strict=True)
    print_table(console, header, rows)


def _width(columns: Sequence[Sequence[str]]) -> int:
    return sum(max(map(cell_len, column)) + GAP for column in columns) - GAP
