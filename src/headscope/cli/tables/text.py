"""Tables as text: they fit the terminal, and take the width they need in a file or a pipe."""

from collections.abc import Iterable, Mapping, Sequence
from math import floor, isfinite, isnan, log10
from statistics import median

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from headscope.cli.console import print_wrapped
from headscope.cli.tables.heads import HeadNames, HeadPair, HeadPairs, HeadTable, Number, Record

_GAP = 2
_PAIRS_SHOWN = 10
_FEWEST_DECIMALS, _MOST_DECIMALS = 3, 4


def print_measure(console: Console, table: HeadTable | HeadPairs | HeadNames) -> None:
    """Heads, pairs of heads or names of heads; a single number as a line."""
    if isinstance(table, HeadNames):
        print_words(console, table.records())
    elif isinstance(table, HeadPairs):
        nearest, farthest = table.ends(table.top or _PAIRS_SHOWN)
        print_pairs(console, {"nearest": nearest, "farthest": farthest})
    elif table.row_names == [""] and len(table.columns) == 1:
        (number,) = table.numbers[0]
        console.print(shown(number, decimals_for([number])))
    else:
        print_heads(console, table)


def print_heads(console: Console, table: HeadTable) -> None:
    """A row a head, or a label; where the columns do not fit side by side they go on below, in another block."""
    decimals = decimals_for(number for row in table.numbers for number in row)
    cells = [[shown(number, decimals) for number in row] for row in table.numbers]
    names, title, labels = table.column_names, table.row_title, table.row_names
    widths = [max(cell_len(name), *(cell_len(row[c]) for row in cells), 1) for c, name in enumerate(names)]
    first = max(map(len, (title, *labels))) if labels else 0
    for number, block in enumerate(blocks(widths, console.width - first)):
        if number:
            console.print()
        rows = [[label, *(row[c] for c in block)] for label, row in zip(labels, cells, strict=True)]
        print_table(console, [title, *(names[c] for c in block)], rows)


def print_pairs(console: Console, groups: Mapping[str, Sequence[HeadPair]]) -> None:
    """A line a pair, under the title of its group."""
    decimals = decimals_for(pair.distance for pairs in groups.values() for pair in pairs)
    for title, pairs in groups.items():
        if pairs:
            console.print()
            rows = [[pair.head_a, pair.head_b, shown(pair.distance, decimals)] for pair in pairs]
            print_table(console, ["head", "and head", title], rows)


def print_words(console: Console, records: Iterable[Record]) -> None:
    """The heads of each name, a paragraph each."""
    by_name: dict[str, list[str]] = {}
    for record in records:
        by_name.setdefault(record["value"], []).append(f"{record['layer']}.{record['head']}")
    width = max(map(len, by_name), default=0)
    for name, heads in by_name.items():
        print_wrapped(console, f"{name:<{width}}  {len(heads):>4}  ", " ".join(heads))


def shown(number: Number, decimals: int) -> str:
    """`0.312 ± 0.004`; a count without decimals, without a standard error only the mean, `-` where there is nothing."""
    if isnan(number.mean):
        return "-"
    mean = f"{number.mean:,}" if isinstance(number.mean, int) else f"{number.mean:.{decimals}f}"
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
