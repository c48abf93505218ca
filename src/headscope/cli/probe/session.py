"""What every probe command does around its probe: load, run, write into the atlas, print."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headscope as hs
from headscope.cli.console import only_own_notes, print_json, print_notes, stdout
from headscope.cli.options import ATLAS, check_output, existing_atlas
from headscope.cli.probe.columns import Column
from headscope.cli.probe.common import Common
from headscope.cli.tables import print_table

if TYPE_CHECKING:
    from headscope.probes.result import ProbeResult


@dataclass(frozen=True)
class Session:
    """One run of a probe command."""

    model: str
    output: Path | None
    inputs: Sequence[Path]
    common: Common

    def run(self, probe: Callable[["hs.Model"], "ProbeResult"], columns: Sequence[Column]) -> None:
        """Run a probe on the model, write what it found, and print its table."""
        if self.output is not None:
            check_output(self.output, option="-o", kind=ATLAS, inputs=self.inputs)
        with only_own_notes(debug=self.common.debug) as notes:
            existing = existing_atlas(self.output)
            model = self.common.load(self.model)
            if existing is not None:
                existing.check_model(model.name, model.weights_hash)
            result = probe(model)
            if self.output is not None:
                result.to_atlas(existing).save(self.output)
        notes = [*notes, *result.source.notes]
        if self.common.json:
            print_json(
                {
                    "output": None if self.output is None else str(self.output),
                    **_facts(result),
                    "notes": notes,
                }
            )
        elif self.common.shown:
            print_notes(notes)
            self._print(result, columns, added=existing is not None)

    def _print(self, result: "ProbeResult", columns: Sequence[Column], *, added: bool) -> None:
        console = stdout()
        source = result.source
        console.print(
            f"{result.model.name} on {source.data}: {source.texts:,} texts, {source.tokens:,} tokens, "
            f"{source.duration:.1f} s",
            soft_wrap=True,
        )
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
            rows = result.table(stack=stack)
            used = [column for column in columns if column.is_used(rows)]
            print_table(
                console,
                [column.title for column in used],
                [[column.text(row) for column in used] for row in rows],
            )
        if self.output is not None:
            console.print()
            done = "added to" if added else "written to"
            console.print(f"{done} {self.output}; next: headscope report {self.output}", soft_wrap=True)


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
        "intervals": result.intervals(),
        "options": dict(source.options),
        "duration": source.duration,
        "rows": [{"stack": stack, **row} for stack in result.arrays() for row in result.table(stack=stack)],
    }
