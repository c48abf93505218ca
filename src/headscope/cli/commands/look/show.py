"""`headscope show`: an atlas as readable tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import Session, session
from headscope.cli.tables.overview import overview, print_overview, source_of
from headscope.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr

    from headscope.cli.page import Page
    from headscope.facts.findings import Finding
    from headscope.types import HeadChoice

MOST_ROWS = 20
"""Heads from which on a table is ranked, so that its first rows say most."""

Arrays = tuple["xr.DataArray", "xr.DataArray | None"]
"""A measure and its standard error."""


@shared.with_common(without=(*shared.LOADING, "quiet"))
def show(
    atlas: shared.AtlasFile,
    measure: str | None = None,
    *,
    layer: int | None = None,
    head: str | None = None,
    top: int | None = None,
    by: str | None = None,
    ascending: bool = False,
    at: shared.At = None,
    common: shared.Common,
) -> None:
    """Print what an atlas shows, or one measure as a table of heads."""
    with session(common) as run:
        opened = hs.open(atlas)
        if measure is None:
            if any(option is not None for option in (layer, head, top, by, at, ascending or None)):
                raise OptionError(f"these options need a measure; {atlas} has {', '.join(opened.measures)}")
            found = hs.findings(opened)
            run.tell(
                opened,
                lambda opened: {"atlas": str(atlas), "findings": _records(found), **overview(opened)},
                lambda page, opened: _print(page, opened, found),
                ending=_more(atlas, opened, found),
            )
            return
        choice = shared.head_choice(layer, head)
        ranking = {"at": shared.parse_at(at or []), "by": by, "top": top, "ascending": ascending}
        _tell_measure(run, atlas, _find(opened, measure, choice.stack), choice, ranking)


def _tell_measure(
    run: Session, atlas: Path, arrays_of: dict[str, Arrays], choice: "HeadChoice", ranking: dict[str, Any]
) -> None:
    """One measure of the chosen heads, a table a stack; `ranking` is how heads are narrowed and ordered."""
    from headscope.cli.tables.heads import HeadTable, measure_table  # loads numpy, which --help does without

    tables = {stack: measure_table(*arrays, choice=choice, **ranking) for stack, arrays in arrays_of.items()}
    about = next(iter(arrays_of.values()))[0]
    facts = {
        "atlas": str(atlas),
        "measure": str(about.name),
        "description": about.attrs.get("long_name", ""),
        "units": about.attrs.get("units", ""),
        "rows": [{"stack": stack, **row} for stack, table in tables.items() for row in table.records()],
    }

    def show(page: "Page", facts: object) -> None:
        page.full |= ranking["top"] is not None
        for number, (stack, whole) in enumerate(tables.items()):
            table = whole
            if isinstance(whole, HeadTable) and not page.full and len(whole.rows) > MOST_ROWS:
                table = whole.ranked(by=ranking["by"], top=None, ascending=ranking["ascending"])
            order = f"; {table.order}" if isinstance(table, HeadTable) and table.order else ""
            title = f"{chr(10) if number else ''}{_title(stack, *arrays_of[stack])}{order}"
            with page.block(can_cut=True) as console:
                console.print(title, style="bold", soft_wrap=True)
                table.print(console)

    run.tell(facts, dict, show)


def _print(page: "Page", atlas: "hs.Atlas", found: "list[Finding]") -> None:
    """The findings that say most; with --full all of them, and what the atlas holds."""
    from headscope.facts.headlines import leading

    page.say(source_of(atlas))
    first = leading(found)
    several = len(atlas.stacks) > 1
    for finding in [*first, *(other for other in found if other not in first)]:
        stack = f"{finding.stack}: " if several else ""
        page.wrapped("- ", f"{stack}{finding.text}", detail=finding not in first)
    if not found:
        page.say("It has no measure or probe to make findings from.")
    if page.full:  # reads every array, which findings do not need
        with page.block() as console:
            console.print()
            print_overview(console, atlas)


def _records(found: "list[Finding]") -> list[dict[str, str | None]]:
    return [
        {"stack": finding.stack, "topic": finding.topic, "text": finding.text, "verdict": finding.verdict}
        for finding in found
    ]


def _more(path: Path, atlas: "hs.Atlas", found: "list[Finding]") -> list[str]:
    """What to type to see more of it."""
    from headscope.facts.headlines import leading

    measure = next((name for name in ("offset_attention", *atlas.measures) if name in atlas.measures), None)
    head = next((finding.heads[0] for finding in leading(found) if finding.heads), None)
    commands = {
        f"headscope show {path} {measure}": "one measure, head by head",
        f"headscope head {path} {head}": "what one head does",
        f"headscope show {path} --full": "all findings, and what the atlas holds",
        f"headscope report {path}": "everything, as a page",
    }
    width = max(map(len, commands))
    return [f"{command:<{width}}  {does}" for command, does in commands.items() if "None" not in command]


def _find(atlas: "hs.Atlas", measure: str, named: str | None) -> dict[str, Arrays]:
    """The measure in every stack that has it, or in the one that was named."""
    if named is not None and "/" not in measure:
        measure = f"{named}/{measure}"
    name = str(atlas[measure].name)  # raises the error that lists what there is
    stack, _, _ = measure.rpartition("/")
    if named not in (None, stack):
        raise OptionError(f"{measure} is in the {stack}, and --head names the {named}; leave one of them out")
    stacks = {candidate: atlas.stack(candidate) for candidate in ([stack] if stack else atlas.stacks)}
    return {
        candidate: (arrays[name], arrays.get(f"{name}_stderr"))
        for candidate, arrays in stacks.items()
        if name in arrays
    }


def _title(stack: str, array: "xr.DataArray", stderr: "xr.DataArray | None") -> str:
    units = array.attrs.get("units", "1")
    unit = "" if units == "1" else f" in {units}"
    error = "" if stderr is None else ", ± standard error over texts"
    return f"{array.name} ({stack}): {array.attrs.get('long_name', '')}{unit}{error}"
