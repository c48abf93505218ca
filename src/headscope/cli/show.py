"""`headscope show`: an atlas as readable tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import headscope as hs
from headscope.cli.console import only_own_notes, print_json, stdout
from headscope.cli.head_table import HeadTable, head_table
from headscope.cli.options import Debug, parse_at
from headscope.cli.overview import overview, print_overview
from headscope.cli.pair_table import PAIR_DIMS, HeadPair, ends, head_pairs
from headscope.cli.tables import blocks, decimals_for, print_heads, print_pairs, print_table, shown
from headscope.cli.word_table import is_words, print_words, word_records
from headscope.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr

EXAMPLE = "Example: headscope show atlas.nc offset_attention --top 10 --by -1"

_PAIRS_SHOWN = 10
Arrays = tuple["xr.DataArray", "xr.DataArray | None"]
"""A measure and its standard error."""


def show(
    atlas: Annotated[
        Path, typer.Argument(metavar="ATLAS", show_default=False, help="A file that headscope analyze wrote.")
    ],
    measure: Annotated[
        str | None,
        typer.Argument(
            metavar="MEASURE",
            show_default=False,
            help="One of its measures, or STACK/MEASURE as in decoder/entropy. Without it: an overview.",
        ),
    ] = None,
    *,
    layer: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only heads of this layer, counted from 0.")
    ] = None,
    head: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only heads of this number, counted from 0.")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Only the N highest heads; of head_distance, the N nearest and farthest pairs.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Rank heads by this column. With --top alone: by the one in which heads differ most.",
        ),
    ] = None,
    ascending: Annotated[bool, typer.Option("--ascending", help="Rank from the lowest number up.")] = False,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIM=LABEL",
            help="Only this part of another dimension, such as query_role=sep; can be given several times.",
        ),
    ] = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON object with full precision; on failure it has an 'error'."
        ),
    ] = False,
    debug: Debug = False,
) -> None:
    """Print what an atlas holds, or one measure as a table of heads."""
    with only_own_notes(debug=debug):
        opened = hs.open(atlas)
        narrowing = (layer, head, top, by, at, ascending or None)
        if measure is None:
            if any(option is not None for option in narrowing):
                raise OptionError(f"name a measure to look into; {atlas} has {', '.join(opened.measures)}")
            if json:
                print_json({"atlas": str(atlas), **overview(opened)})
            else:
                print_overview(stdout(), opened)
            return
        found = _find(opened, measure)
        if is_words(next(iter(found.values()))[0]):
            if any(option is not None for option in (top, by, at, ascending or None)):
                raise OptionError(f"{measure} gives heads a name, not a number: it takes --layer and --head")
            _show_words(str(atlas), found, layer, head, json=json)
            return
        chosen = parse_at(at or [])
        tables = {
            stack: _pairs(arrays, layer, head, by=by, at=chosen, ascending=ascending)
            if arrays[0].dims == PAIR_DIMS
            else _heads(arrays, layer, head, at=chosen, top=top, by=by, ascending=ascending)
            for stack, arrays in found.items()
        }
        if json:
            print_json(_as_data(str(atlas), found, tables, top))
        else:
            _print_tables(stdout(), found, tables, top)


def _show_words(
    atlas: str, found: Mapping[str, Arrays], layer: int | None, head: int | None, *, json: bool
) -> None:
    named = {stack: word_records(array, layer=layer, head=head) for stack, (array, _) in found.items()}
    if json:
        rows = [{"stack": stack, **record} for stack, records in named.items() for record in records]
        print_json({"atlas": atlas, **_about(found), "rows": rows})
        return
    for stack, records in named.items():
        stdout().print(_title(stack, *found[stack]), style="bold")
        print_words(stdout(), records)


def _about(found: Mapping[str, Arrays]) -> dict[str, str]:
    about = next(iter(found.values()))[0]
    return {
        "measure": str(about.name),
        "description": about.attrs.get("long_name", ""),
        "units": about.attrs.get("units", ""),
    }


def _find(atlas: "hs.Atlas", measure: str) -> dict[str, Arrays]:
    """The measure in every stack that has it."""
    name = str(atlas[measure].name)  # raises the error that lists what there is
    stack, _, _ = measure.rpartition("/")
    stacks = {candidate: atlas.stack(candidate) for candidate in ([stack] if stack else atlas.stacks)}
    return {
        candidate: (arrays[name], arrays.get(f"{name}_stderr"))
        for candidate, arrays in stacks.items()
        if name in arrays
    }


def _heads(
    arrays: Arrays,
    layer: int | None,
    head: int | None,
    *,
    at: Mapping[str, str],
    top: int | None,
    by: str | None,
    ascending: bool,
) -> HeadTable:
    table = head_table(*arrays, at=at, layer=layer, head=head)
    if top is None and by is None and not ascending:
        return table
    return table.ranked(by=by, top=top, ascending=ascending)


def _pairs(
    arrays: Arrays,
    layer: int | None,
    head: int | None,
    *,
    by: str | None,
    at: Mapping[str, str],
    ascending: bool,
) -> list[HeadPair]:
    if by is not None or at or ascending:
        raise OptionError(f"{arrays[0].name} is about pairs of heads: it takes --layer, --head and --top")
    return head_pairs(*arrays, layer=layer, head=head)


def _as_data(
    atlas: str, found: Mapping[str, Arrays], tables: Mapping[str, HeadTable | list[HeadPair]], top: int | None
) -> dict[str, Any]:
    records = []
    for stack, table in tables.items():
        if isinstance(table, HeadTable):
            rows = table.records()
        else:
            nearest, farthest = ends(table, top or len(table))
            rows = [pair.record() for pair in (*nearest, *farthest)]
        records += [{"stack": stack, **row} for row in rows]
    return {"atlas": atlas, **_about(found), "rows": records}


def _print_tables(
    console: Console,
    found: Mapping[str, Arrays],
    tables: Mapping[str, HeadTable | list[HeadPair]],
    top: int | None,
) -> None:
    for number, (stack, table) in enumerate(tables.items()):
        array, stderr = found[stack]
        if number:
            console.print()
        if isinstance(table, HeadTable):
            order = f"; {table.order}" if table.order else ""
            _print_heads(console, _title(stack, array, stderr) + order, table)
            continue
        console.print(_title(stack, array, stderr), style="bold")
        nearest, farthest = ends(table, top or _PAIRS_SHOWN)
        print_pairs(console, {"nearest": nearest, "farthest": farthest})


def _print_heads(console: Console, title: str, table: HeadTable) -> None:
    console.print(title, style="bold")
    if table.row_names == [""] and len(table.columns) == 1:
        number = table.numbers[0][0]
        console.print(shown(number, decimals_for([number])))
    elif table.row_title == "head":
        print_heads(console, table)
    else:
        _print_plain(console, table)


def _print_plain(console: Console, table: HeadTable) -> None:
    """A row a label, for what is not about heads; counts without decimals."""
    decimals = decimals_for(number for row in table.numbers for number in row)
    cells = [
        [f"{number.mean:,}" if isinstance(number.mean, int) else shown(number, decimals) for number in row]
        for row in table.numbers
    ]
    names = table.column_names
    widths = [max(map(len, (name, *(row[c] for row in cells)))) for c, name in enumerate(names)]
    first = max(map(len, (table.row_title, *table.row_names)))
    for number, block in enumerate(blocks(widths, console.width - first)):
        if number:
            console.print()
        rows = [[label, *(row[c] for c in block)] for label, row in zip(table.row_names, cells, strict=True)]
        print_table(console, [table.row_title, *(names[c] for c in block)], rows)


def _title(stack: str, array: "xr.DataArray", stderr: "xr.DataArray | None") -> str:
    units = array.attrs.get("units", "1")
    unit = "" if units == "1" else f" in {units}"
    error = "" if stderr is None else ", ± standard error over texts"
    return f"{array.name} ({stack}): {array.attrs.get('long_name', '')}{unit}{error}"
