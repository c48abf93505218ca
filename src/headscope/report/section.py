"""What a page is made of: chapters of sections, which are data; `templates/parts.html` is how all of them look."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from markupsafe import Markup

from headscope.facts.cells import table_cells
from headscope.facts.description import Column
from headscope.facts.findings import Finding
from headscope.report.links import HeadLinks
from headscope.report.pictures import Picture


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
    ) -> Self:
        """A table of numbers, as its columns say; `name` is for the first column, the labels."""
        headings, cells = table_cells(columns, rows, name=name)
        titles = tuple(f"{heading[:1].upper()}{heading[1:]}" for heading in headings)
        return cls(caption, titles, tuple(map(tuple, cells)), is_figures=True)


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
