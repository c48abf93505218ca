"""A paper's figures beside ours, as data: rows of a quantity, what was published, what we found, and the verdict."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from matplotlib.axes import Axes

from headscope.atlas import Atlas

Unit = Literal["share", "points", "cosine", "nats", "heads", "kinds", "silhouette", "p-value", "neurons"]
"""What a figure counts; shares are between 0 and 1, and so are points, the differences of shares."""

Agreement = Literal["same", "different", "unclear"]
"""Whether a finding of a paper holds for our model; unclear where our interval allows both."""


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

    def __neg__(self) -> "Figure":
        """The figure with the other sign, its interval turned round."""
        value, low, high = (None if end is None else -end for end in (self.value, self.high, self.low))
        return replace(self, value=value, low=low, high=high)


@dataclass(frozen=True)
class Verdict:
    """Whether ours is the same kind of finding as the published one."""

    agreement: Agreement
    finding: str
    """The paper's finding that ours was tested against, as a short clause: `a head beats every fixed offset`."""


@dataclass(frozen=True)
class Row:
    """One quantity in both columns; None in the one that does not have it."""

    quantity: str
    unit: Unit
    published: Figure | None
    ours: Figure | None
    note: str = ""
    """Why the two are not the same thing, where they are not."""
    verdict: Verdict | None = None
    """In every row that has both columns, unless a neighbouring row carries the verdict on both."""


@dataclass(frozen=True)
class Origin:
    """Where the numbers of a column come from."""

    model: str
    data: str
    source: str = ""
    """The place in the paper: `table 2`, `section 4.1`; empty for ours."""


@dataclass(frozen=True)
class Grid:
    """Counts that a paper shows as a picture only: a line a name, a number a column."""

    title: str
    columns: tuple[str, ...]
    lines: dict[str, list[int]]


@dataclass(frozen=True)
class Drawing:
    """A figure of the paper made from our data; drawn only when a page is written."""

    title: str
    caption: str
    size: tuple[float, float]
    """Inches."""
    draw: Callable[[Axes], object]
    is_wide: bool = False


@dataclass(frozen=True)
class Section:
    """One table, figure or section of a paper."""

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
    drawings: tuple[Drawing, ...] = ()
    covers: tuple[str, ...] = ()
    """Which tables and figures of the paper this is: `table 1`, `figure 6`."""

    def facts(self) -> dict[str, Any]:
        """The section as plain data; of its drawings only what they show."""
        drawings = [{"title": drawing.title, "caption": drawing.caption} for drawing in self.drawings]
        return {**asdict(replace(self, drawings=())), "drawings": drawings}


@dataclass(frozen=True)
class Reproduction:
    """A paper's figures and ours."""

    paper: str
    citation: str
    sections: Sequence[Section]
    notes: tuple[str, ...]
    """What to keep in mind about all sections."""
    atlas: Atlas
    """What our figures were read from; of the pre-trained model where there are several."""
    others: tuple[Atlas, ...] = ()
    """The same for each model that was compared with it."""
    not_covered: dict[str, str] = field(default_factory=dict)
    """Tables and figures of the paper that no section shows, and why."""

    @property
    def against(self) -> Atlas | None:
        """The atlas of the first model that was compared with the pre-trained one."""
        return self.others[0] if self.others else None

    def section(self, key: str) -> Section:
        """The section of this key."""
        return next(section for section in self.sections if section.key == key)

    def facts(self) -> dict[str, Any]:
        """Everything but the atlases as plain data."""
        return {
            "paper": self.paper,
            "citation": self.citation,
            "model": self.atlas.provenance["model"],
            "against": [atlas.provenance["model"] for atlas in self.others],
            "sections": [section.facts() for section in self.sections],
            "not_covered": dict(self.not_covered),
            "notes": list(self.notes),
        }
