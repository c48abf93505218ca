"""What every probe command does with its probe: score, write into the atlas, print its table."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from headscope.cli.session import Session
from headscope.cli.tables.source import source_facts, source_line, stack_rows
from headscope.cli.tables.text import print_table

if TYPE_CHECKING:
    from headscope.probes.result import ProbeResult


def scored(
    probe: Any, read: Callable[..., Any], data: list[Path], select: list[Path] | None
) -> "ProbeResult":
    """What the probe scores on the data; best heads are chosen on --select, or on one half for the other."""
    texts = read(data)
    result: ProbeResult = probe.fit(read(select)).score(texts) if select else probe.fit_score(texts)
    return result


def tell(run: Session, result: "ProbeResult") -> None:
    """Write what a probe found, and print its table."""
    run.keep(result, notes=result.source.notes)
    run.tell(result, _facts, _print)


def _print(console: Console, result: "ProbeResult") -> None:
    source = result.source
    console.print(f"{result.model.name} on {source_line(source)}", soft_wrap=True)
    if chosen := source.options.get("chosen_on"):
        console.print(f"best heads chosen on {chosen}", soft_wrap=True)
    if over := result.intervals():
        console.print(f"95 % intervals {over}", soft_wrap=True)
    if source.annotator:
        console.print(f"annotated automatically by {source.annotator}", soft_wrap=True)
    stacks = list(result.arrays())
    for stack in stacks:
        console.print()
        if len(stacks) > 1:
            console.print(stack, style="bold")
        print_tables(console, result, stack)


def print_tables(console: Console, result: "ProbeResult", stack: str) -> None:
    """The tables that the probe describes, or its rows as they stand."""
    from headscope.facts.cells import plain_columns, table_cells  # loads torch, which --help does without

    rows = result.rows(stack=stack)
    described = result.description
    tables = [(table, table.rows_of(rows)) for table in described.tables] if described else []
    shown = [(table.caption, table_cells(table.columns, own, nothing="-")) for table, own in tables if own]
    for number, (caption, cells) in enumerate(
        shown or [("", table_cells(plain_columns(rows), rows, nothing="-"))]
    ):
        if len(shown) > 1:
            console.print(caption if not number else f"\n{caption}", style="bold", soft_wrap=True)
        print_table(console, *cells)


def _facts(result: "ProbeResult") -> dict[str, Any]:
    return {
        "model": result.model.name,
        "probe": result.probe,
        "annotated_by": result.source.annotator or "the files",
        **source_facts(result.source),
        "intervals": result.intervals(),
        "rows": stack_rows(result, result.rows),
    }
