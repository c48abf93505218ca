"""Tables of probes whose columns are not known beforehand."""

from collections.abc import Mapping, Sequence
from typing import Any

from headscope.facts.scores import number
from headscope.report.section import Table

Row = Mapping[str, Any]

_AROUND = ("_stderr", "_low", "_high")
"""How the names of columns end that belong to another one."""


def plain_table(rows: Sequence[Row], caption: str) -> Table | None:
    """Rows as they stand, a column a key; errors and intervals go with the number they are of. None without rows."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    if not keys:
        return None
    shown = [key for key in keys if not _belongs(key, keys)]
    return Table(
        caption,
        tuple(_title(key) for key in shown),
        tuple(tuple(_cell(row, key) for key in shown) for row in rows),
    )


def _belongs(key: str, keys: Sequence[str]) -> bool:
    """Whether a column only says how sure another one is."""
    return any(key.endswith(ending) and key.removesuffix(ending) in keys for ending in _AROUND)


def _title(key: str) -> str:
    words = key.replace("_", " ")
    return f"{words[:1].upper()}{words[1:]}"


def _cell(row: Row, key: str) -> str:
    value = row.get(key)
    error = number(row.get(f"{key}_stderr"))
    low, high = number(row.get(f"{key}_low")), number(row.get(f"{key}_high"))
    text = plain(value)
    if number(value) is not None and error is not None:
        text += f" ± {error:.3f}"
    if number(value) is not None and low is not None and high is not None:
        text += f" ({plain(low)} to {plain(high)})"
    return text


def plain(value: object) -> str:
    """Any value in a cell; a dash where there is none."""
    if value is None or (isinstance(value, float) and number(value) is None):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
