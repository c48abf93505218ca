"""Sections, tables and pictures as HTML; every text that comes from outside is escaped here."""

import re
from collections.abc import Mapping
from html import escape
from itertools import zip_longest

from headscope.facts.wording import printed
from headscope.report.links import HeadLinks
from headscope.report.pictures import Picture
from headscope.report.section import Part, Section, Table

_NO_LINKS = HeadLinks()
_MINUS = re.compile(r"(?<![\w.,)\]-])-(?=\d)")
"""A hyphen before a number; not one between two of them, as dates have it."""


def section_html(stack: str, section: Section, *, level: int, links: HeadLinks = _NO_LINKS) -> str:
    """A section under a heading of this level; `links` go from heads that it names to their pages."""
    key = written(f"{stack}-{section.key}")
    return "".join(
        [
            f'<section aria-labelledby="{key}"><h{level} id="{key}">{written(section.title)}</h{level}>',
            f"<p>{links.linked(kept_together(section.introduction))}</p>" if section.introduction else "",
            facts_html(section.facts, kind="facts small") if section.facts else "",
            *(table_html(table, links) for table in section.tables),
            _pictures(section.pictures, links, level=level + 1),
            *(_part(part, links, level=level + 1) for part in section.parts),
            f'<ul class="notes">{"".join(f"<li>{links.linked(written(note))}</li>" for note in section.notes)}</ul>'
            if section.notes
            else "",
            "</section>",
        ]
    )


def facts_html(facts: Mapping[str, str], *, kind: str) -> str:
    """Names and values side by side."""
    rows = "".join(
        f"<div><dt>{written(name)}</dt><dd>{written(value)}</dd></div>" for name, value in facts.items()
    )
    return f'<dl class="{kind}">{rows}</dl>'


def _part(part: Part, links: HeadLinks, *, level: int) -> str:
    inner = "".join(
        [
            f"<p>{links.linked(kept_together(part.introduction))}</p>" if part.introduction else "",
            *(table_html(table, links) for table in part.tables),
            _pictures(part.pictures, links, level=level + 1),
        ]
    )
    if part.is_folded:
        return f"<details><summary>{written(part.title)}</summary>{inner}</details>"
    return f"<h{level}>{written(part.title)}</h{level}>{inner}"


def _pictures(pictures: list[Picture], links: HeadLinks, *, level: int) -> str:
    shown = "".join(_figure(one, links, level) for one in pictures)
    return f'<div class="pictures">{shown}</div>' if pictures else ""


def _figure(one: Picture, links: HeadLinks, level: int) -> str:
    kind = ' class="wide"' if one.is_wide else ""
    caption = links.linked(kept_together(one.caption))
    return (
        f"<figure{kind}><h{level}>{written(one.title)}</h{level}>"
        f'<div class="scroll">{one.svg}</div><figcaption>{caption}</figcaption></figure>'
    )


def table_html(table: Table, links: HeadLinks = _NO_LINKS) -> str:
    """A table that scrolls where it does not fit."""
    head = "".join(f'<th scope="col">{written(name)}</th>' for name in table.columns)
    rows = "".join(row_html(*row, columns=table.columns, links=links) for row in table.rows)
    kind = ' class="figures"' if table.is_figures else ""
    return (
        f'<div class="scroll"><table{kind}><caption>{written(table.caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def row_html(heading: str, *cells: str, columns: tuple[str, ...] = (), links: HeadLinks = _NO_LINKS) -> str:
    """A row whose first cell says what it is about."""
    first, *others = [
        links.cell(kept_together(cell), column)
        for cell, column in zip_longest((heading, *cells), columns[: 1 + len(cells)], fillvalue="")
    ]
    return f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in others)}</tr>'


def written(text: str, *, is_whole: bool = True) -> str:
    """Any text, as text: nothing in it is markup, and nothing turns the page around it.

    The text of a piece that is not whole keeps the blanks at its ends.
    """
    blanks = ("", "") if is_whole else (text[: text[:1].isspace()], text[len(text.rstrip()) :][:1])
    return escape(printed(f"{blanks[0]}{' '.join(text.split())}{blanks[1]}"))


def kept_together(text: str, *, is_whole: bool = True) -> str:
    """The same, with a number and its error on one line, and a minus for a minus."""
    return (
        _MINUS.sub("\N{MINUS SIGN}", written(text, is_whole=is_whole))
        .replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")
        .replace("(± ", "(±\N{NO-BREAK SPACE}")
    )
