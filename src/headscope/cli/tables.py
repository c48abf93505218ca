"""Tables as text: they fit the terminal, and take the width they need in a file or a pipe."""

from collections.abc import Iterable, Mapping, Sequence
from math import floor, isfinite, isnan, log10
from statistics import median

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from headscope.cli.head_table import HeadTable, Number
from headscope.cli.pair_table import HeadPair

_GAP = 2
_FEWEST_DECIMALS, _MOST_DECIMALS = 3, 4


def print_heads(console: Console, table: HeadTable) -> None:
    """A row a head; where the columns do not fit side by side they go on below, in another block."""
    decimals = decimals_for(number for row in table.numbers for number in row)
    cells = [[shown(number, decimals) for number in row] for row in table.numbers]
    names = table.column_names
    widths = [max(cell_len(name), *(cell_len(row[c]) for row in cells), 1) for c, name in enumerate(names)]
    heads = table.row_names
    first = max(len("head"), *(len(name) for name in heads)) if heads else 0
    for number, block in enumerate(blocks(widths, console.width - first)):
        if number:
            console.print()
        rows = [[head, *(row[c] for c in block)] for head, row in zip(heads, cells, strict=True)]
        print_table(console, ["head", *(names[c] for c in block)], rows)


def print_pairs(console: Console, groups: Mapping[str, Sequence[HeadPair]]) -> None:
    """A line a pair, under the title of its group."""
    decimals = decimals_for(pair.distance for pairs in groups.values() for pair in pairs)
    for title, pairs in groups.items():
        if pairs:
            console.print()
            rows = [[pair.head_a, pair.head_b, shown(pair.distance, decimals)] for pair in pairs]
            print_table(console, ["head", "and head", title], rows)


def shown(number: Number, decimals: int) -> str:
    """`0.312 ± 0.004`; without a standard error only the mean, and `-` where there is nothing."""
    if isnan(number.mean):
        return "-"
    mean = f"{number.mean:.{decimals}f}"
    return mean if isnan(number.stderr) else f"{mean} ± {number.stderr:.{decimals}f}"


def decimals_for(numbers: Iterable[Number]) -> int:
    """As many decimals as show the typical standard error's first digit."""
    errors = [number.stderr for number in numbers if isfinite(number.stderr) and number.stderr > 0]
    if not errors:
        return _FEWEST_DECIMALS
    return min(_MOST_DECIMALS, max(_FEWEST_DECIMALS, -floor(log10(median(errors)))))


def blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Which columns stand side by side in each block, at least one a block."""
    parts: list[list[int]] = [[]]
    used = 0
    for column, width in enumerate(widths):
        if parts[-1] and used + width + _GAP > room:
            parts.append([])
            used = 0
        parts[-1].append(column)
        used += width + _GAP
    return parts


def print_table(console: Console, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A plain table, the first column to the left and the others to the right; names that do not fit are wrapped."""
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for number, name in enumerate(header):
        table.add_column(name, justify="left" if number == 0 else "right", no_wrap=number > 0)
    for row in rows:
        table.add_row(*row)
    console.print(table)
