"""Papers and ours on one page: a self-contained HTML file, or Markdown without pictures."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from headscope.atlas import replacing
from headscope.errors import OptionError
from headscope.facts.wording import printed
from headscope.report.document import document
from headscope.report.pictures import Picture, picture
from headscope.report.section import Chapter, Table
from headscope.report.section import Section as Told
from headscope_papers.reproduce import wording as words
from headscope_papers.reproduce.table import Drawing, Grid, Reproduction, Section

TITLE = "Published figures and ours"
ENDINGS = (".html", ".md")
LEAD = (
    "What papers on attention heads published, and beside it what the same analyses find in other models. A verdict "
    "says whether ours is the same kind of finding, by our intervals; it never compares decimals. Heads are written "
    "layer.head, both counted from 0."
)
_MARKUP = re.compile(r"([\\`*_\[\]<>|#])")
_SCROLLS_AT = 7.0
"""Inches; a wider drawing stays readable on a small screen and scrolls there."""


def write_page(results: Sequence[Reproduction], path: str | os.PathLike[str]) -> Path:
    """Write one page about some papers: HTML or Markdown, by the name's ending.

    It appears under its name only when it is whole.
    """
    target = Path(path)
    if target.suffix not in ENDINGS:
        raise OptionError(f"a page is written as {' or '.join(ENDINGS)}, not as {target.name!r}")
    if not results:
        raise OptionError("there is no paper to write a page about; give at least one reproduction")
    content = html(results) if target.suffix == ".html" else markdown(results)
    with replacing(target) as temporary:
        temporary.write_text(content, encoding="utf-8")
    return target


def html(results: Sequence[Reproduction]) -> str:
    """The page with its drawings."""
    summary = Told(
        "found", "What was found", "", tables=list(_summary(results)), facts=_models(results), is_open=True
    )
    return document(
        brand="headscope reproduce",
        title=TITLE,
        lead=LEAD,
        chapters=[
            Chapter("papers", [summary]),
            *(
                Chapter(
                    result.paper,
                    list(_sections(result, with_pictures=True)),
                    words.paper_name(result),
                    f"{result.citation}.",
                )
                for result in results
            ),
        ],
    )


def markdown(results: Sequence[Reproduction]) -> str:
    """The page without its drawings."""
    parts = [f"# {TITLE}", LEAD, *(f"- {name}: {value}" for name, value in _models(results).items())]
    parts += ["## What was found", *map(_table_markdown, _summary(results))]
    for result in results:
        parts += [f"## {words.paper_name(result)}", f"{result.citation}."]
        parts += [_section_markdown(section, level=3) for section in _sections(result, with_pictures=False)]
    return "\n\n".join(parts) + "\n"


def _section_markdown(section: Told, *, level: int) -> str:
    """A section under a heading of this level."""
    parts = [
        f"{'#' * level} {_plain(section.title)}",
        "\n".join(f"- {_plain(name)}: {_plain(value)}" for name, value in section.facts.items()),
        _plain(section.introduction),
        *map(_table_markdown, section.tables),
        "\n".join(f"- {_plain(note)}" for note in section.notes),
    ]
    return "\n\n".join(filter(None, parts))


def _table_markdown(table: Table) -> str:
    """A table below its caption."""
    lines = [_line(table.columns), _line("---" for _ in table.columns)]
    lines += [_line(map(_plain, row)) for row in table.rows]
    return "\n".join([f"*{_plain(table.caption)}*", "", *lines])


def _plain(text: str) -> str:
    """Any text as text: what Markdown would read as markup is escaped."""
    return _MARKUP.sub(r"\\\1", printed(" ".join(text.split())))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _models(results: Sequence[Reproduction]) -> dict[str, str]:
    """What was compared with the papers."""
    most = max(results, key=lambda result: len(result.others))
    facts = {"Model": str(most.atlas.provenance["model"])}
    if most.others:
        facts["Compared with it"] = ", ".join(str(atlas.provenance["model"]) for atlas in most.others)
    return facts | {"Papers": str(len(results))}


def _summary(results: Sequence[Reproduction]) -> Iterator[Table]:
    """How many comparisons of each paper agree, and every finding that was tested."""
    rows = []
    for result in results:
        verdicts = words.counted(result.sections)
        left_out = sum(bool(section.needs) for section in result.sections)
        counts = (sum(verdicts.values()), *verdicts.values(), left_out)
        rows.append((words.paper_name(result), *map(str, counts)))
    caption = "Is ours the same kind of finding? Comparisons, and sections left out for want of data"
    yield Table(caption, ("Paper", "Tested", "Same", "Different", "Unclear", "Left out"), tuple(rows))
    findings = [
        (tally.finding, tally.outcome, f"{words.paper_name(result)}; {section.title}")
        for result in results
        for section in result.sections
        for tally in words.tallies(section)
    ]
    if findings:
        yield Table("Every finding that was tested", ("Finding", "Ours", "Where"), tuple(findings))


def _sections(result: Reproduction, *, with_pictures: bool) -> Iterator[Told]:
    """A paper's sections, and at its end what none of them covers and what to keep in mind."""
    for section in result.sections:
        yield _told(section, with_pictures=with_pictures)
    notes = [f"{name}: {reason}." for name, reason in result.not_covered.items()]
    if notes:
        yield Told(
            "not-covered", "Not covered", "Tables and figures that no section shows, and why.", notes=notes
        )
    if result.notes:
        yield Told("remarks", "To keep in mind", "", notes=list(result.notes))


def _told(section: Section, *, with_pictures: bool) -> Told:
    facts = {"Published": words.origin(section.published)}
    if section.needs:
        return Told(section.key, section.title, f"Left out: {section.needs}.", facts=facts)
    if section.ours is not None:
        facts["Ours"] = words.origin(section.ours)
    tables = [_table(section)] if section.rows else []
    if section.grid is not None:
        tables.append(_counts(section.grid))
    tested = [f"{tally.finding}: {tally.outcome}" for tally in words.tallies(section)]
    return Told(
        section.key,
        section.title,
        f"Tested: {'; '.join(tested)}." if tested else "",
        [_picture(drawing) for drawing in section.drawings] if with_pictures else [],
        tables,
        [*(f"{row.quantity}: {row.note}" for row in section.rows if row.note), *section.notes],
        facts,
    )


def _table(section: Section) -> Table:
    """The rows; what a figure belongs to is put in brackets after it."""
    table: list[tuple[str, list[str]]] = []
    for title, cells in words.columns(section, verdicts="same kind of finding?"):
        if title:
            table.append((title, cells))
            continue
        figures = table[-1][1]
        figures[:] = [
            f"{cell} ({detail})" if detail else cell for cell, detail in zip(figures, cells, strict=True)
        ]
    titles, columns = zip(*table, strict=True)
    return Table("Published and ours", titles, tuple(zip(*columns, strict=True)))


def _counts(grid: Grid) -> Table:
    rows = tuple((name, *map(str, numbers)) for name, numbers in grid.lines.items())
    return Table(grid.title, (grid.title, *grid.columns), rows, is_figures=True)


def _picture(drawing: Drawing) -> Picture:
    return picture(
        drawing.draw,
        size=drawing.size,
        title=drawing.title,
        caption=drawing.caption,
        is_wide=drawing.is_wide,
        least=0.6 if drawing.size[0] > _SCROLLS_AT else 0.0,
    )
