"""`headscope probe coreference`: which head finds what a mention refers to."""

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
from headscope.cli.probe.columns import count, percent, percent_interval, words
from headscope.cli.probe.options import FirstPiece, MaxLength, Output
from headscope.cli.probe.session import Loading, Session

if TYPE_CHECKING:
    from headscope.probes.result import ProbeResult

EXAMPLE = "Example: headscope probe coreference demo --data gum-dev.conllu -o atlas.nc"

COLUMNS = [
    words("mention", "mention_class"),
    count("cases", "cases"),
    words("best head", "head"),
    words("direction", "direction"),
    percent("right %", "accuracy"),
    percent_interval("95 % interval", "low", "high"),
    percent("nearest %", "nearest"),
    percent("head match %", "head_match"),
    percent("rules %", "rules"),
    percent_interval("95 % interval", "rules_low", "rules_high"),
]


def coreference(
    model: ModelName,
    *,
    data: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE...",
            show_default=False,
            help="CoNLL-U with Entity= (CorefUD, GUM), CoNLL-2012 columns, or LitBank's CoNLL; told by content.",
        ),
    ],
    select: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE...",
            help="What best heads are chosen on. Without it: half of the documents of --data.",
        ),
    ] = None,
    output: Output = None,
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
    """Find which head resolves coreference.

    Every head guesses the antecedent of every mention, beside rules that look at no attention.
    """
    session = Session(
        model,
        Loading(revision, device, dtype, allow_pickle),
        output,
        [*data, *(select or [])],
        quiet,
        json,
        debug,
    )

    def run(loaded: "hs.Model") -> "ProbeResult":
        probe = hs.CoreferenceProbe(
            loaded,
            max_length=max_length,
            batch_size=batch_size_of(batch_size),
            faithful=faithful,
            progress=session.shown,
        )
        scored = hs.read_coreference(*data)
        if not select:
            return probe.fit_score(scored)
        return probe.fit(hs.read_coreference(*select)).score(scored)

    session.run(run, COLUMNS)
