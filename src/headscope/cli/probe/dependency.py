"""`headscope probe dependency`: which head finds which syntactic relation."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import headscope as hs
from headscope.cli.options import ModelName
from headscope.cli.probe.columns import count, percent, percent_interval, signed, words
from headscope.cli.probe.common import Common, with_common
from headscope.cli.probe.options import Annotate, FirstPiece, Output, treebank
from headscope.cli.probe.session import Session

if TYPE_CHECKING:
    from headscope.probes.result import ProbeResult

EXAMPLE = "Example: headscope probe dependency demo --treebank dev.conllu --select train.conllu -o atlas.nc"

COLUMNS = [
    words("relation", "relation"),
    count("cases", "cases"),
    words("best head", "head"),
    words("direction", "direction"),
    percent("right %", "accuracy"),
    percent_interval("95 % interval", "low", "high"),
    signed("best offset", "offset"),
    percent("right %", "offset_accuracy"),
    percent_interval("95 % interval", "offset_low", "offset_high"),
]


@with_common
def dependency(
    model: ModelName,
    *,
    treebank_files: Annotated[
        list[Path],
        typer.Option(
            "--treebank", metavar="FILE.conllu...", show_default=False, help="What heads are scored on."
        ),
    ],
    select: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.conllu...",
            help="What best heads and offsets are chosen on. Without it: half of the documents of --treebank.",
        ),
    ] = None,
    output: Output = None,
    base_relations: Annotated[
        bool,
        typer.Option("--base-relations", help="Count subtypes as their base relation: nmod:poss as nmod."),
    ] = False,
    annotate: Annotate = None,
    faithful: FirstPiece = False,
    common: Common,
) -> None:
    """Find which head tracks which relation.

    Every head guesses the syntactic head of every word, in both directions, beside fixed offsets.
    """
    session = Session(model, output, [*treebank_files, *(select or [])], common)

    def run(loaded: "hs.Model") -> "ProbeResult":
        probe = hs.DependencyProbe(
            loaded,
            base_relations=base_relations,
            faithful=faithful,
            **common.probe_options,
        )
        scored = treebank(treebank_files, annotate)
        if not select:
            return probe.fit_score(scored)
        return probe.fit(treebank(select, annotate)).score(scored)

    session.run(run, COLUMNS)
