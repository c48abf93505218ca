"""Tables as text: they fit the terminal, and take the width they need in a file or a pipe."""

from collections.abc import Iterable, Sequence
from math import floor, isfinite, isnan, log10
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headscope.cli.console import printable

_GAP = 2
_FEWEST_DECIMALS, _MOST_DECIMALS = 3, 4


def shown(mean: float, stderr: float, decimals: int) -> str:
    """`0.312 ± 0.004`; a count without decimals, without a standard error only the mean, `-` where there is nothing."""
    if isnan(mean):
        return "-"
    text = f"{mean:,}" if isinstance(mean, int) else f"{mean:.{decimals}f}"
    return text if isnan(stderr) else f"{text} ± {stderr:.{decimals}f}"


def decimals_for(errors: Iterable[float]) -> int:
    """As many decimals as show the first digit of the typical standard error."""
    known = [error for error in errors if isfinite(error) and error > 0]
    if not known:
        return _FEWEST_DECIMALS
    return min(_MOST_DECIMALS, max(_FEWEST_DECIMALS, -floor(log10(median(known)))))


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


class SafeConsole(Console):
    """A console that shows control characters instead of obeying them: an atlas or a file name can hold any."""

    def render_str(self, text: str, **options: Any) -> Text:
        """As Rich does, with what could steer the terminal escaped."""
        return super().render_str(printable(text), **options)
