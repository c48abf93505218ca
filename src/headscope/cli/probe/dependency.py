"""`headscope probe dependency`: which head finds which syntactic relation."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import headscope as hs
from headscope.cli.options import (
    AllowPickle,
    BatchSize,
    Debug,
    Device,
    Dtype,
    Json,
    ModelName,
    Quiet,
    Revision,
    batch_size_of,
)
from headscope.cli.probe.columns import count, percent, percent_interval, signed, words
from headscope.cli.probe.options import Annotate, FirstPiece, MaxLength, Output, treebank
from headscope.cli.probe.session import Loading, Session

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
    max_length: MaxLength = None,
    faithful: FirstPiece = False,
    batch_size: BatchSize = "auto",
    device: Device = "auto",
    dtype: Dtype = "auto",
    revision: Revision = None,
    allow_pickle: AllowPickle = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Find which head tracks which relation.

    Every head guesses the syntactic head of every word, in both directions, beside fixed offsets.
    """
    session = Session(
        model,
        Loading(revision, device, dtype, allow_pickle),
        output,
        [*treebank_files, *(select or [])],
        quiet,
        json,
        debug,
    )

    def run(loaded: "hs.Model") -> "ProbeResult":
        probe = hs.DependencyProbe(
            loaded,
            base_relations=base_relations,
            max_length=max_length,
            batch_size=batch_size_of(batch_size),
            faithful=faithful,
            progress=session.shown,
        )
        scored = treebank(treebank_files, annotate)
        if not select:
            return probe.fit_score(scored)
        return probe.fit(treebank(select, annotate)).score(scored)

    session.run(run, COLUMNS)
