"""What every probe command does with its probe: score, write into the atlas, print its table."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from headscope.cli.session import Session
from headscope.cli.tables.columns import Column, print_rows
from headscope.cli.tables.source import source_facts, source_line, stack_rows

if TYPE_CHECKING:
    from headscope.probes.result import ProbeResult


def scored(
    probe: Any, read: Callable[..., Any], data: list[Path], select: list[Path] | None
) -> "ProbeResult":
    """What the probe scores on the data; best heads are chosen on --select, or on one half for the other."""
    texts = read(data)
    result: ProbeResult = probe.fit(read(select)).score(texts) if select else probe.fit_score(texts)
    return result


def tell(run: Session, result: "ProbeResult", columns: Sequence[Column]) -> None:
    """Write what a probe found, and print its table."""
    run.keep(result, notes=result.source.notes)
    run.tell(result, _facts, lambda console, result: _print(console, result, columns))


def _print(console: Console, result: "ProbeResult", columns: Sequence[Column]) -> None:
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
        print_rows(console, columns, result.table(stack=stack))


def _facts(result: "ProbeResult") -> dict[str, Any]:
    return {
        "model": result.model.name,
        "probe": result.probe,
        "annotated_by": result.source.annotator or "the files",
        **source_facts(result.source),
        "intervals": result.intervals(),
        "rows": stack_rows(result, result.table),
    }
