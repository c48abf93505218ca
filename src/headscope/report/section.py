"""What a section of the page is made of."""

from dataclasses import dataclass, field

from headscope.report.pictures import Picture


@dataclass(frozen=True)
class Table:
    """A table of the page; the first cell of a row is its heading."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_figures: bool = False
    """Whether its cells are numbers and short words, which are not broken into lines."""


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
    """One subject: what it is, and its pictures."""

    key: str
    title: str
    introduction: str
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    """Where its numbers come from, when that differs from the rest of the page."""
    parts: list[Part] = field(default_factory=list)
