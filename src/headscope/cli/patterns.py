"""`headscope patterns`: which of five patterns the attention maps of a model show."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import headscope as hs
from headscope.cli.console import only_own_notes, print_json, print_notes, status, stdout
from headscope.cli.many_values import ManyValuesCommand
from headscope.cli.options import (
    ATLAS,
    AllowPickle,
    BatchSize,
    Debug,
    Device,
    Dtype,
    Json,
    Quiet,
    Revision,
    batch_size_of,
    check_output,
    existing_atlas,
)
from headscope.cli.tables import print_table
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.probes.patterns import PatternsResult

EXAMPLE = "Example: headscope patterns demo demo-mrpc --text articles.txt news.txt"


class PatternsCommand(ManyValuesCommand):
    """A command that says in which order it is typed."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What is needed, in order, for the usage line."""
        return ["MODEL...", "--text FILE...", "[OPTIONS]"]


def patterns(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            show_default=False,
            help="One or more: demo, demo-mrpc, demo-qa, a folder that save_pretrained wrote, or a name on the hub.",
        ),
    ],
    *,
    text: Annotated[
        list[Path],
        typer.Option(
            "--text",
            metavar="FILE...",
            show_default=False,
            help="One or more files, each a data set of its own: plain text, .jsonl, .tsv pairs or .conllu.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT.nc",
            help="Write pattern_share of every head here, or add it to the atlas of the same model that is there. "
            "For one model and one file.",
        ),
    ] = None,
    max_length: Annotated[int, typer.Option(min=1, metavar="N", help="Most tokens in one text.")] = 128,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Stop after N texts of each file.")
    ] = None,
    batch_size: BatchSize = "auto",
    device: Device = "auto",
    dtype: Dtype = "auto",
    revision: Revision = None,
    allow_pickle: AllowPickle = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Sort every attention map into five patterns; print shares.

    Vertical, diagonal, both, block (within one's own text of two) and heterogeneous, told by small networks that
    come with the package. With several models or files, one table for all.
    """
    if output is not None and (len(models) > 1 or len(text) > 1):
        raise OptionError("-o takes what was found in one model on one file; leave it out for several")
    if output is not None:
        check_output(output, option="-o", kind=ATLAS, inputs=text)
    shown = not (quiet or json)
    with only_own_notes(debug=debug) as notes:
        existing = existing_atlas(output)
        corpora = [hs.read_text(file) for file in text]
        found = []
        for name in models:
            with status(f"loading {name}", shown=shown):
                model = hs.load(
                    name, revision=revision, device=device, dtype=dtype, allow_pickle=allow_pickle
                )
            if existing is not None:
                existing.check_model(model.name, model.weights_hash)
            found += [
                hs.find_patterns(
                    model,
                    corpus,
                    max_length=max_length,
                    limit=limit,
                    batch_size=batch_size_of(batch_size),
                    progress=shown,
                )
                for corpus in corpora
            ]
        if output is not None:
            found[0].to_atlas(existing).save(output)
    entries = [_Entry(result, stack) for result in found for stack in result.arrays()]
    if json:
        facts = {"output": None if output is None else str(output), "warnings": notes}
        print_json({**facts, "results": [entry.facts() for entry in entries]})
    elif shown:
        print_notes(notes)
        _print(stdout(), entries)
        if output is not None:
            done = "written" if existing is None else "added"
            stdout().print(f"\n{done} to {output}; next: headscope report {output}", soft_wrap=True)


@dataclass(frozen=True)
class _Entry:
    """One model on one file, in one of its stacks."""

    result: "PatternsResult"
    stack: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.result.table(stack=self.stack)

    @property
    def patterns(self) -> list[str]:
        return [name for name in self.rows[0] if name != "layer"]

    def facts(self) -> dict[str, Any]:
        source = self.result.source
        whole, *layers = self.rows
        return {
            "model": self.result.model.name,
            "data": source.data,
            "stack": self.stack,
            "texts": source.texts,
            "tokens": source.tokens,
            "shares": {name: whole[name]["share"] for name in self.patterns},
            "stderr": {name: whole[name]["stderr"] for name in self.patterns},
            "layers": layers,
        }


def _print(console: Console, entries: Sequence[_Entry]) -> None:
    """One table for all, then, for a single entry, one by layer."""
    several_stacks = any(entry.stack != entries[0].stack for entry in entries)
    header = ["model", *(["stack"] if several_stacks else []), "data", "texts", *entries[0].patterns]
    rows = [
        [
            entry.result.model.name,
            *([entry.stack] if several_stacks else []),
            entry.result.source.data,
            f"{entry.result.source.texts:,}",
            *_shares(entry.rows[0], entry.patterns),
        ]
        for entry in entries
    ]
    console.print("share of attention maps in %, ± standard error over texts", style="bold", soft_wrap=True)
    print_table(console, header, rows)
    if len(entries) == 1:
        (entry,) = entries
        console.print()
        by_layer = [[str(row["layer"]), *_shares(row, entry.patterns)] for row in entry.rows[1:]]
        print_table(console, ["layer", *entry.patterns], by_layer)


def _shares(row: dict[str, Any], patterns: Sequence[str]) -> list[str]:
    return [f"{100 * row[name]['share']:.1f} ± {100 * row[name]['stderr']:.1f}" for name in patterns]
