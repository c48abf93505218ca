"""`headscope patterns`: which of five patterns the attention maps of a model show."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.cli.tables import print_table
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.probes.patterns import PatternsResult

EXAMPLE = "Example: headscope patterns demo demo-mrpc --text articles.txt news.txt"

MODELS = shared.argument(
    "MODEL...",
    "One or more: demo, demo-mrpc, demo-qa, a folder that save_pretrained wrote, or a name on the hub.",
)
TEXT = shared.option(
    "One or more files, each a data set of its own: plain text, .jsonl, .tsv pairs or .conllu.",
    "FILE...",
    "--text",
)
OUTPUT = shared.output(
    "Write pattern_share of every head here, or add it to the atlas of the same model that is there. For one model and "
    "one file."
)


@shared.with_common
def patterns(
    models: Annotated[list[str], MODELS],
    *,
    text: Annotated[list[Path], TEXT],
    output: Annotated[Path | None, OUTPUT] = None,
    max_length: shared.MaxLength = 128,
    limit: Annotated[int | None, shared.limit("texts of each file")] = None,
    common: shared.Common,
) -> None:
    """Sort every attention map into five patterns; print shares.

    Vertical, diagonal, both, block (within one's own text of two) and heterogeneous, told by small networks that
    come with the package. With several models or files, one table for all.
    """
    if output is not None and (len(models) > 1 or len(text) > 1):
        raise OptionError("-o takes what was found in one model on one file; leave it out for several")
    with session(common, output, inputs=text) as run:
        corpora = [hs.read_text(file) for file in text]
        found = [
            hs.find_patterns(loaded, corpus, max_length=max_length, limit=limit, **common.run_options)
            for loaded in map(run.load, models)
            for corpus in corpora
        ]
        run.keep(found[0])
        entries = [_Entry(result, stack) for result in found for stack in result.arrays()]
        run.tell(entries, _facts, _print)


def _facts(entries: "Sequence[_Entry]") -> dict[str, Any]:
    return {"results": [entry.facts() for entry in entries]}


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
