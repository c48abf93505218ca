"""`headscope show`: an atlas as readable tables."""

from typing import TYPE_CHECKING

from rich.console import Console

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.cli.tables.overview import overview, print_overview
from headscope.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr

EXAMPLE = "Example: headscope show atlas.nc offset_attention --top 10 --by -1"

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
    """Print what an atlas holds, or one measure as a table of heads.

    Options:
        measure MEASURE: One of its measures, or STACK/MEASURE as in decoder/entropy. Without it: an overview.
        layer N>=0: Only heads of this layer, counted from 0.
        head HEAD: Only this head: 3.2; 3.* or --layer 3 for a layer; 2 for head 2 of every layer.
        top N>=1: Only the N highest heads; of head_distance, the N nearest and farthest pairs.
        by COLUMN: Rank heads by this column. With --top alone: by the one in which heads differ most.
        ascending: Rank from the lowest number up.
    """
    with session(common) as run:
        # Loads numpy, which --help does without.
        from headscope.cli.tables.heads import HeadTable, measure_table

        opened = hs.open(atlas)
        if measure is None:
            if any(option is not None for option in (layer, head, top, by, at, ascending or None)):
                raise OptionError(f"name a measure to look into; {atlas} has {', '.join(opened.measures)}")
            run.tell(opened, lambda opened: {"atlas": str(atlas), **overview(opened)}, print_overview)
            return
        choice, places = shared.head_choice(layer, head), shared.parse_at(at or [])
        found = _find(opened, measure, choice.stack)
        tables = {
            stack: measure_table(*arrays, choice=choice, at=places, by=by, top=top, ascending=ascending)
            for stack, arrays in found.items()
        }
        about = next(iter(found.values()))[0]
        facts = {
            "atlas": str(atlas),
            "measure": str(about.name),
            "description": about.attrs.get("long_name", ""),
            "units": about.attrs.get("units", ""),
            "rows": [{"stack": stack, **row} for stack, table in tables.items() for row in table.records()],
        }

        def show(console: Console, facts: object) -> None:
            for number, (stack, table) in enumerate(tables.items()):
                order = f"; {table.order}" if isinstance(table, HeadTable) and table.order else ""
                start = "\n" if number else ""
                console.print(f"{start}{_title(stack, *found[stack])}{order}", style="bold")
                table.print(console)

        run.tell(facts, dict, show)


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
