"""A paper as its TOML file in `published/` tells it: sections, rows, published figures, findings, captions and notes.

What differs between a paper's rows is data there; code finds our figures. Words in braces are filled in
where they depend on our model: `to {sep}` is `to [SEP]` for BERT.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.facts.description import from_data
from headscope.figures import head_grid
from headscope.figures.grid import grid_size
from headscope_papers.reproduce.table import Drawing, Figure, Grid, Origin, Reproduction, Row, Section, Unit
from headscope_papers.reproduce.verdicts import RULES, holds


@dataclass(frozen=True)
class PublishedRow:
    """A row of a published table, and the finding that ours is tested for."""

    quantity: str
    unit: Unit = "share"
    figure: Figure | None = None
    note: str = ""
    finding: str = ""
    """As a short clause; empty where nothing is tested."""
    rule: str = "exceeds"
    """One of `verdicts.RULES`."""
    or_unclear: bool = False
    """Whether a finding that cannot be decided, for want of a figure of ours, is called unclear."""


@dataclass(frozen=True)
class PublishedDrawing:
    """What a drawing is called, and what it shows; `size` in inches where it does not depend on the data."""

    title: str
    caption: str
    size: Sequence[float] = (5.2, 3.4)
    is_wide: bool = False


@dataclass(frozen=True)
class PublishedSection:
    """A table, figure or section of a paper, to be filled with our figures."""

    key: str
    title: str
    published: Origin
    needs: str = ""
    """What is said where there are no data for it."""
    covers: tuple[str, ...] = ()
    heading: str = "quantity"
    interval: str = "95 % interval"
    notes: tuple[str, ...] = ()
    remarks: Mapping[str, str] = field(default_factory=dict)
    """Notes and other sentences for some cases only, by name."""
    rows: Mapping[str, PublishedRow] = field(default_factory=dict)
    drawings: Mapping[str, PublishedDrawing] = field(default_factory=dict)

    def left_out(self, needs: str = "") -> Section:
        """The section where there are no data for it."""
        return Section(self.key, self.title, self.published, needs=needs or self.needs, covers=self.covers)

    def filled(
        self,
        ours: Origin,
        rows: Iterable[Row] = (),
        *,
        remarks: Iterable[str] = (),
        drawings: Iterable[Drawing] = (),
        grid: Grid | None = None,
        **names: object,
    ) -> Section:
        """The section with our figures; `remarks` are put after the notes that always hold."""
        return Section(
            self.key,
            self.title.format(**names),
            self.published,
            ours,
            tuple(rows),
            self.heading,
            self.interval,
            grid,
            (*(note.format(**names) for note in self.notes), *remarks),
            drawings=tuple(drawings),
            covers=self.covers,
        )

    def row(
        self,
        key: str,
        ours: Figure | None,
        than: Figure | float | bool | tuple[float, float] | None = None,
        *,
        tested: Figure | None = None,
        published: Figure | None = None,
        unit: Unit | None = None,
        ending: str = "",
        **names: object,
    ) -> Row:
        """A row with our figure; its finding is tested by `than`, as its rule says, on `tested` where that is another.

        `published` and `unit` are there where they depend on the model or the task; `ending` tells rows of several
        models apart, and `names` fill what is in braces.
        """
        row = self.rows[key]
        finding = row.finding.format(**names)
        verdict = RULES[row.rule](tested or ours, than, finding) if finding else None
        if finding and verdict is None and row.or_unclear and ours is not None:
            verdict = holds(None, finding)
        quantity = f"{row.quantity.format(**names)}{ending}"
        return Row(quantity, unit or row.unit, published or row.figure, ours, row.note, verdict)

    def figure(self, key: str) -> Figure:
        """The published figure of a row."""
        figure = self.rows[key].figure
        assert figure is not None
        return figure

    def drawing(
        self,
        key: str,
        picture: Callable[..., Axes],
        *data: object,
        size: tuple[float, float] | None = None,
        names: Mapping[str, object] | None = None,
        **options: object,
    ) -> Drawing:
        """A picture of `headscope.figures` of our data and `options`; `names` fill what is in braces."""
        drawing, words = self.drawings[key], names or {}
        return Drawing(
            drawing.title.format(**words),
            drawing.caption.format(**words),
            size or (drawing.size[0], drawing.size[1]),
            lambda ax: picture(*data, ax=ax, **options),
            drawing.is_wide,
        )

    def head_grid(
        self,
        key: str,
        atlas: Atlas,
        stack: str,
        array: str,
        *,
        names: Mapping[str, object] | None = None,
        **options: object,
    ) -> Drawing:
        """A picture of an array that has a number a head."""
        sizes = atlas.stack(stack)[array].sizes
        size = grid_size(sizes["layer"], sizes["head"])
        return self.drawing(key, head_grid, atlas, array, stack=stack, size=size, names=names, **options)

    def remark(self, key: str, **names: object) -> str:
        """A sentence for some cases only."""
        return self.remarks[key].format(**names)


@dataclass(frozen=True)
class Published:
    """What a paper says of itself, its sections, and whatever else is in its file."""

    name: str
    citation: str
    model: str
    shape: tuple[int, int]
    """Layers, and heads in each."""
    nothing: str
    """The error where an atlas has nothing that the paper measured."""
    sections: Mapping[str, PublishedSection]
    not_covered: Mapping[str, str]
    """Tables and figures of the paper that no section shows, and why."""
    facts: Mapping[str, Any]
    """The paper's own tables and numbers that are more than a row of a section."""

    def beside(
        self, sections: Sequence[Section], atlases: Sequence[Atlas], *, notes: Iterable[str] = ()
    ) -> Reproduction:
        """The paper with our figures; raises OptionError where none of the sections is read from the atlases."""
        if not any(section.ours for section in sections if self.sections[section.key].needs):
            raise OptionError(self.nothing)
        first, *others = atlases
        shapes = (shape for atlas in atlases for stack in atlas.stacks if (shape := atlas.shape(stack)))
        shape = next(shapes, None)
        name = str(first.provenance["model"])
        note = [] if shape is None else [difference_note(self.shape, shape, name)]
        return Reproduction(
            self.name,
            self.citation,
            sections,
            (*note, *notes),
            first,
            tuple(others),
            dict(self.not_covered),
        )


@cache
def published(name: str) -> Published:
    """What the file of a paper says."""
    text = (
        files("headscope_papers.reproduce").joinpath("published", f"{name}.toml").read_text(encoding="utf-8")
    )
    contents = tomllib.loads(text)
    model = str(contents.pop("model"))
    return Published(
        name,
        contents.pop("citation"),
        model,
        tuple(contents.pop("shape")),
        contents.pop("nothing"),
        {key: _section(key, model, facts) for key, facts in _sections(contents.pop("sections")).items()},
        contents.pop("not_covered", {}),
        contents,
    )


def _sections(tables: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The sections of a file; one that is `like` another has what it does not say itself from that one."""
    sections: dict[str, dict[str, Any]] = {}
    for key, facts in tables.items():
        like = sections.get(facts.pop("like", ""), {"rows": {}, "drawings": {}})
        sections[key] = _merged(like, facts)
    return sections


def _merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Two tables in one, and so are the tables in them; the second one's values are taken."""
    tables = {
        key: _merged(first.get(key, {}), value) for key, value in second.items() if isinstance(value, dict)
    }
    return {**first, **second, **tables}


_ORIGIN = ("model", "data", "source")


def _section(key: str, model: str, facts: dict[str, Any]) -> PublishedSection:
    """A section of a file; where it has no model of its own it is the paper's."""
    origin = {"data": "", "model": model} | {name: facts[name] for name in _ORIGIN if name in facts}
    rows = {name: _row(row) for name, row in facts["rows"].items()}
    return from_data(PublishedSection, facts | {"key": key, "published": origin, "rows": rows})


def _row(facts: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a file: with a published figure where it has a value or words."""
    figure = {name: facts[name] for name in ("value", "low", "high", "detail", "words") if name in facts}
    return {**facts, "figure": {"value": None} | figure if figure else None}


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
