"""What every probe command does around its probe: load, run, write into the atlas, print its table."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

import headscope as hs
from headscope.cli.options import Common
from headscope.cli.session import session
from headscope.cli.tables.columns import Column, print_rows

if TYPE_CHECKING:
    from headscope.probes.result import ProbeResult


def run_probe(
    probe: Callable[["hs.Model"], "ProbeResult"],
    columns: Sequence[Column],
    *,
    model: str,
    output: Path | None,
    inputs: Sequence[Path],
    common: Common,
) -> None:
    """Run a probe on the model, write what it found, and print its table."""
    with session(common, output, inputs=inputs) as run:
        result = probe(run.load(model))
        run.keep(result, notes=result.source.notes)
        run.tell(result, _facts, lambda console, result: _print(console, result, columns))


def scored(
    probe: Any, read: Callable[[list[Path]], Any], data: list[Path], select: list[Path] | None
) -> "ProbeResult":
    """What the probe scores on the data; best heads are chosen on --select, or on one half for the other."""
    texts = read(data)
    result: ProbeResult = probe.fit(read(select)).score(texts) if select else probe.fit_score(texts)
    return result


def _print(console: Console, result: "ProbeResult", columns: Sequence[Column]) -> None:
    source = result.source
    console.print(
        f"{result.model.name} on {source.data}: {source.texts:,} texts, {source.tokens:,} tokens, "
        f"{source.duration:.1f} s",
        soft_wrap=True,
    )
    if chosen := source.options.get("chosen_on"):
        console.print(f"best heads chosen on {chosen}", soft_wrap=True)
    if source.annotator:
        console.print(f"annotated automatically by {source.annotator}", soft_wrap=True)
    stacks = list(result.arrays())
    for stack in stacks:
        console.print()
        if len(stacks) > 1:
            console.print(stack, style="bold")
        print_rows(console, columns, result.table(stack=stack))


def _facts(result: "ProbeResult") -> dict[str, Any]:
    """What a script wants to know about a probe."""
    source = result.source
    return {
        "model": result.model.name,
        "probe": result.probe,
        "data": source.data,
        "annotated_by": source.annotator or "the files",
        "texts": source.texts,
        "documents": source.documents,
        "tokens": source.tokens,
        "texts_cut": source.texts_cut,
        "skipped": source.skipped,
        "options": dict(source.options),
        "duration": source.duration,
        "rows": [{"stack": stack, **row} for stack in result.arrays() for row in result.table(stack=stack)],
    }
