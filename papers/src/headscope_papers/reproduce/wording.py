"""Figures, origins and verdicts as readers see them, on the terminal and on pages."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headscope.facts.wording import count
from headscope_papers.reproduce.table import Agreement, Figure, Origin, Reproduction, Row, Section

_WRITTEN: dict[str, Callable[[float], str]] = {
    "share": lambda value: f"{100 * value:.1f} %",
    "points": lambda value: f"{100 * value:+z.1f} points",
    "cosine": lambda value: f"{value:.3f}",
    "nats": lambda value: f"{_plain(value)} nats",
    "heads": lambda value: f"{value:.0f} head{'' if value == 1 else 's'}",
    "neurons": lambda value: f"{value:.0f} neuron{'' if value == 1 else 's'}",
    "kinds": lambda value: f"{value:.0f}",
    "silhouette": lambda value: f"{value:.2f}",
    "p-value": lambda value: f"p = {value:.2g}",
}


def _plain(value: float) -> str:
    """Two or three decimals; two digits for the small numbers that gradients are."""
    if 0 < abs(value) < 0.01:
        return f"{value:.2g}"
    return f"{value:.{2 if abs(value) >= 1 else 3}f}"


SAME_KIND: dict[Agreement, str] = {"same": "yes", "different": "no", "unclear": "unclear"}
"""Whether ours is the same kind of finding, in a table."""
_MOST_NAMED = 6
"""Of so many rows at most that disagree, each is named below a table."""


def our_figure(figure: Figure | None, unit: str) -> str:
    """A number with its unit, the words in its place, or a dash for none."""
    if figure is None:
        return "-"
    return figure.words if figure.value is None else _WRITTEN[unit](figure.value)


def published_figure(figure: Figure | None, unit: str) -> str:
    """The same; a share with as many decimals as were published, at most two."""
    if figure is None or figure.value is None or unit not in ("share", "points"):
        return our_figure(figure, unit)
    sign, word = ("+", "points") if unit == "points" else ("", "%")
    return f"{100 * figure.value:{sign}.2f}".rstrip("0").rstrip(".") + f" {word}"


def interval(figure: Figure | None, unit: str) -> str:
    """Both ends, without their unit; nothing where there are none."""
    if figure is None or figure.low is None or figure.high is None:
        return ""
    low, high = _WRITTEN[unit](figure.low), _WRITTEN[unit](figure.high)
    return f"{low.partition(' ')[0]} to {high.partition(' ')[0]}"


def columns(section: Section, *, verdicts: str) -> list[tuple[str, list[str]]]:
    """The table of a section: titles and cells, without columns that are empty everywhere.

    What a figure belongs to stands in a column without a title after it. `verdicts` is the title of the last one.
    """
    rows = section.rows
    table = [
        (section.heading, [row.quantity for row in rows]),
        ("published", [published_figure(row.published, row.unit) for row in rows]),
        ("", ["" if row.published is None else row.published.detail for row in rows]),
        ("ours", [our_figure(row.ours, row.unit) for row in rows]),
        ("", ["" if row.ours is None else row.ours.detail for row in rows]),
        (section.interval, [interval(row.ours, row.unit) for row in rows]),
        ("cases", [f"{row.ours.cases:,}" if row.ours and row.ours.cases is not None else "" for row in rows]),
        (verdicts, [SAME_KIND[row.verdict.agreement] if row.verdict else "" for row in rows]),
    ]
    return [(title, cells) for title, cells in table if any(cell not in ("", "-") for cell in cells)]


def origin(where: Origin) -> str:
    """Model, data and place in the paper."""
    words = "; ".join(filter(None, (where.model, where.data)))
    return f"{words} ({where.source})" if where.source else words


@dataclass(frozen=True)
class Tally:
    """One finding of a paper, and in which rows ours is the same kind of finding."""

    finding: str
    rows: tuple[Row, ...]

    def having(self, agreement: Agreement) -> tuple[str, ...]:
        """The quantities of the rows with this verdict."""
        return tuple(row.quantity for row in self.rows if row.verdict and row.verdict.agreement == agreement)

    @property
    def outcome(self) -> str:
        """`same`, or for several rows `12 of 14 the same, 2 unclear (nsubj, iobj)`."""
        if len(self.rows) == 1:
            return next(agreement for agreement in SAME_KIND if self.having(agreement))
        counts = [f"{len(self.having('same'))} of {len(self.rows)} the same"]
        others: tuple[Agreement, ...] = ("different", "unclear")
        for agreement in others:
            if names := self.having(agreement):
                listed = f" ({'; '.join(names)})" if len(names) <= _MOST_NAMED else ""
                counts.append(f"{len(names)} {agreement}{listed}")
        return ", ".join(counts)


def tallies(section: Section) -> list[Tally]:
    """The findings that a section tests, each once, in the order of its rows."""
    rows_by_finding: dict[str, list[Row]] = {}
    for row in section.rows:
        if row.verdict is not None:
            rows_by_finding.setdefault(row.verdict.finding, []).append(row)
    return [Tally(finding, tuple(rows)) for finding, rows in rows_by_finding.items()]


def counted(sections: Iterable[Section]) -> dict[Agreement, int]:
    """How many rows have each verdict."""
    verdicts = [row.verdict.agreement for section in sections for row in section.rows if row.verdict]
    return {agreement: verdicts.count(agreement) for agreement in SAME_KIND}


def summary(result: Reproduction) -> str:
    """A paper's verdicts in a line."""
    counts = counted(result.sections)
    total = sum(counts.values())
    if not total:
        return "nothing was tested"
    told_apart = f"{counts['same']} the same, {counts['different']} different, {counts['unclear']} unclear"
    return f"{count(total, 'comparison')} tested: {told_apart}"


def paper_name(result: Reproduction) -> str:
    """`Clark, Khandelwal, Levy and Manning 2019`: the citation up to its title."""
    return result.citation.partition(":")[0]
