"""A paper's figures beside ours, as data: rows of a quantity, what was published and what we found."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from headscope.atlas import Atlas

Unit = Literal["share", "points", "cosine", "nats", "heads", "kinds", "silhouette", "p-value"]
"""What a figure counts; shares are between 0 and 1, and so are points, the differences of shares."""


@dataclass(frozen=True)
class Figure:
    """One number, how sure it is, and what it belongs to."""

    value: float | None
    """None where a paper gives no number but says something in words."""
    low: float | None = None
    high: float | None = None
    detail: str = ""
    """Which head, offset or layers."""
    cases: int | None = None
    words: str = ""


@dataclass(frozen=True)
class Row:
    """One quantity in both columns; None in the one that does not have it."""

    quantity: str
    unit: Unit
    published: Figure | None
    ours: Figure | None
    note: str = ""
    """Why the two are not the same thing, where they are not."""


@dataclass(frozen=True)
class Origin:
    """Where the numbers of a column come from."""

    model: str
    data: str


@dataclass(frozen=True)
class Grid:
    """Counts that a paper shows as a picture only: a line a name, a number a column."""

    title: str
    columns: tuple[str, ...]
    lines: dict[str, list[int]]


@dataclass(frozen=True)
class Section:
    """One table or section of a paper."""

    key: str
    title: str
    published: Origin
    ours: Origin | None = None
    """None where the section was left out."""
    rows: tuple[Row, ...] = ()
    heading: str = "quantity"
    """What the first column holds."""
    interval: str = "95 % interval"
    """What the low and the high end of our figures are."""
    grid: Grid | None = None
    notes: tuple[str, ...] = ()
    needs: str = ""
    """What the section was left out for, and how to have it; empty where it is there."""


@dataclass(frozen=True)
class Reproduction:
    """A paper's figures and ours."""

    paper: str
    citation: str
    sections: Sequence[Section]
    notes: tuple[str, ...]
    """What to keep in mind about all sections."""
    atlas: Atlas
    """What our figures were read from."""

    def section(self, key: str) -> Section:
        """The section of this key."""
        return next(section for section in self.sections if section.key == key)

    def facts(self) -> dict[str, Any]:
        """Everything but the atlas as plain data."""
        return {
            "paper": self.paper,
            "citation": self.citation,
            "model": self.atlas.provenance["model"],
            "sections": [asdict(section) for section in self.sections],
            "notes": list(self.notes),
        }


def size(layers: int, heads: int) -> str:
    """The shape of a model in words."""
    return f"{layers} layer{'' if layers == 1 else 's'} x {heads} head{'' if heads == 1 else 's'}"


def difference_note(published: tuple[int, int], ours: tuple[int, int], name: str) -> str:
    """What a difference between the columns means, and what it does not."""
    if published == ours:
        return (
            "The published and the measured model have the same shape; figures can still differ by weights, texts and "
            "the corrections that headscope makes by default."
        )
    return (
        f"The published model has {size(*published)}, {name} has {size(*ours)}: another model on other data. A "
        "difference between the columns is a difference between the models, not a failure to reproduce the paper; "
        "compare kinds of findings, not decimals."
    )
