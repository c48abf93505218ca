"""A paper's figures and ours as tables on the terminal."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console

from headscope.cli.console import print_wrapped
from headscope.cli.page import Page
from headscope.cli.tables.text import blocks, print_table
from headscope_papers.reproduce import Grid, Reproduction, Section
from headscope_papers.reproduce import wording as words

GAP = 2


def print_reproduction(page: Page, result: Reproduction) -> None:
    """The verdict on every finding; with --full every section with its origins, table and notes."""
    _print_verdicts(page, result, detail=False)
    page.say("", detail=True)
    page.wrapped("", result.citation, detail=True)
    for section in result.sections:
        page.say(f"\n{section.title}", bold=True, detail=True)
        with page.block(detail=True) as console:
            if section.needs:
                print_wrapped(console, "  left out: ", section.needs)
            else:
                _print_section(console, section)
    with page.block(detail=True) as console:
        console.print()
        for name, reason in result.not_covered.items():
            print_wrapped(console, "not covered: ", f"{name}: {reason}")
        for note in result.notes:
            print_wrapped(console, "note: ", note)


def print_papers(page: Page, results: Sequence[Reproduction]) -> None:
    """How many findings of each paper are the same; with --full the verdict on each."""
    for result in results:
        _print_verdicts(page, result, detail=True)


def _print_verdicts(page: Page, result: Reproduction, *, detail: bool) -> None:
    """The paper and how many of its findings are the same, then, as a `detail`, the verdict on each."""
    page.wrapped("", f"{words.paper_name(result)}: {words.summary(result)}")
    for section in result.sections:
        for tally in words.tallies(section):
            page.wrapped("  ", f"{tally.finding}: {tally.outcome}", detail=detail)
    for section in result.sections:
        if section.needs:
            page.wrapped("  left out: ", f"{section.title}: {section.needs}", detail=detail)


def _print_section(console: Console, section: Section) -> None:
    print_wrapped(console, "  published: ", words.origin(section.published))
    if section.ours is not None:
        print_wrapped(console, "  ours:      ", words.origin(section.ours))
    if section.rows:
        _print_rows(console, section)
    if section.grid is not None:
        _print_grid(console, section.grid)
    for tally in words.tallies(section):
        print_wrapped(console, "  finding: ", f"{tally.finding}: {tally.outcome}")
    for row in section.rows:
        if row.note:
            print_wrapped(console, f"  {row.quantity}: ", row.note)
    for note in section.notes:
        print_wrapped(console, "  ", note)


def _print_rows(console: Console, section: Section) -> None:
    """The table; where it is too wide, what its figures belong to goes below it."""
    columns = [[title, *cells] for title, cells in words.columns(section, verdicts="same?")]
    is_narrow = sum(max(map(cell_len, column)) + GAP for column in columns) - GAP <= console.width
    header, *rows = zip(*(column for column in columns if column[0] or is_narrow), strict=True)
    print_table(console, header, rows)
    for row in () if is_narrow else section.rows:
        ends = [("published", row.published), ("ours", row.ours)]
        details = [f"{name} {figure.detail}" for name, figure in ends if figure is not None and figure.detail]
        if details:
            print_wrapped(console, f"  {row.quantity}: ", "; ".join(details))


def _print_grid(console: Console, grid: Grid) -> None:
    """The counts; where the columns do not fit side by side they go on below."""
    first = max(map(cell_len, [grid.title, *grid.lines])) + GAP
    for block in blocks([max(cell_len(name), 2) for name in grid.columns], console.width - first):
        lines = [[name, *(str(numbers[c]) for c in block)] for name, numbers in grid.lines.items()]
        print_table(console, [grid.title, *(grid.columns[c] for c in block)], lines)
