"""What a page is made of: chapters of sections, which are data, and texts whose heads lead to their pages.

`templates/parts.html` is how all of them look.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlencode

from markupsafe import Markup, escape

from headscope.facts.cells import table_cells
from headscope.facts.description import Column
from headscope.facts.findings import Finding
from headscope.facts.wording import Part as Piece
from headscope.facts.wording import capital
from headscope.html import shown
from headscope.report.pictures import Picture
from headscope.types import HeadId

_NAMED = re.compile(r"\b([Hh]eads? )(\d+\.\d+(?:(?:, | and | to )\d+\.\d+)*)(?![\d.]*\d|%)")
_HEAD = re.compile(r"\d+\.\d+")
_LEADING = re.compile(r"^\d+\.\d+(?=$|: )")
_MINUS = re.compile(r"(?<![\w.,)\]-])-(?=\d)")
"""A hyphen before a number; not one between two of them, as dates have it."""


@dataclass(frozen=True)
class HeadLinks:
    """Turns the texts of a stack's part of the page into HTML, with links to the pages of heads that they name."""

    stack: str = ""
    shape: tuple[int, int] | None = None
    """Layers and heads; None where there are no pages to link to."""

    def prose(self, text: str | Iterable[Piece]) -> Markup:
        """Heads become links: those among the parts of a sentence, or in a text those that follow the word head."""
        if isinstance(text, str):
            return Markup(
                _NAMED.sub(lambda match: match[1] + _HEAD.sub(self._link, match[2]), _together(text))
            )
        return Markup().join(self.to(part) if isinstance(part, HeadId) else _together(part) for part in text)

    def cell(self, text: str, column: str) -> Markup:
        """The same in a cell of a table, where a head may stand by itself below that word, or before a colon."""
        html = _together(text)
        alone = ("head" in column.lower() or ": " in html) and _LEADING.match(html)
        return Markup(_LEADING.sub(self._link, html)) if alone else self.prose(text)

    def to(self, head: HeadId) -> Markup:
        """The head as a link."""
        if self.shape is None or head.layer >= self.shape[0] or head.head >= self.shape[1]:
            return Markup(head)
        where = urlencode({"view": "atlas", "stack": self.stack, "layer": head.layer, "heads": head.head})
        return Markup('<a class="head" href="#{}">{}</a>').format(where, str(head))

    def _link(self, match: re.Match[str]) -> str:
        head = HeadId.parse(match[0])
        return self.to(head) if str(head) == match[0] else match[0]  # 1.00 is a number


def _together(text: str) -> Markup:
    """A text with a number and its error on one line, and a minus for a minus."""
    text = _MINUS.sub("\N{MINUS SIGN}", shown(text)).replace("(± ", "(±\N{NO-BREAK SPACE}")
    return escape(text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"))


@dataclass(frozen=True)
class Table:
    """A table of the page; the first cell of a row is its heading."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_figures: bool = False
    """Whether its cells are numbers and short words, which are not broken into lines."""

    @classmethod
    def described(
        cls,
        caption: str,
        columns: Sequence[Column],
        rows: Sequence[Mapping[str, Any]],
        *,
        name: Callable[[str], str] = str,
        is_figures: bool = True,
    ) -> Self:
        """A table as its columns say; `name` is for the first column, the labels."""
        headings, cells = table_cells(columns, rows, name=name)
        return cls(caption, tuple(map(capital, headings)), tuple(map(tuple, cells)), is_figures)


@dataclass(frozen=True)
class Part:
    """A part of a section with a heading of its own."""

    title: str
    introduction: str = ""
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    is_folded: bool = False
    """Whether only the title is seen until a reader asks for more."""


@dataclass(frozen=True)
class Section:
    """One question: what was found, how to read it, a picture, tables; everything further is folded away in it."""

    key: str
    title: str
    introduction: str
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    """Where its numbers come from, when that differs from the rest of the page."""
    parts: list[Part] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    """What to type, a line each."""
    html: Markup = field(default_factory=Markup)
    """What none of the others can hold."""
    is_open: bool = False
    """Whether it is seen at once; the others show their title, and what is in them when it is clicked."""


@dataclass(frozen=True)
class Chapter:
    """Sections that belong together: a stack, a paper. Without a title they stand by themselves."""

    key: str
    """Begins the ids of the sections."""
    sections: list[Section]
    title: str = ""
    introduction: str = ""
    links: HeadLinks = field(default_factory=HeadLinks)
