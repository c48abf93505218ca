"""Sections and tables of a page as Markdown, for documentation; without pictures."""

import re
from collections.abc import Iterable

from headscope.facts.wording import printed
from headscope.report.section import Section, Table

_MARKUP = re.compile(r"([\\`*_\[\]<>|#])")


def section_markdown(section: Section, *, level: int) -> str:
    """A section under a heading of this level."""
    parts = [
        f"{'#' * level} {plain(section.title)}",
        "\n".join(f"- {plain(name)}: {plain(value)}" for name, value in section.facts.items()),
        plain(section.introduction),
        *map(table_markdown, section.tables),
        "\n".join(f"- {plain(note)}" for note in section.notes),
    ]
    return "\n\n".join(filter(None, parts))


def table_markdown(table: Table) -> str:
    """A table below its caption."""
    lines = [_line(table.columns), _line("---" for _ in table.columns)]
    lines += [_line(map(plain, row)) for row in table.rows]
    return "\n".join([f"*{plain(table.caption)}*", "", *lines])


def plain(text: str) -> str:
    """Any text as text: what Markdown would read as markup is escaped."""
    return _MARKUP.sub(r"\\\1", printed(" ".join(text.split())))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
