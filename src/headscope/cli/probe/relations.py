"""`headscope probe relations`: which head ties a predicate to its arguments."""

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
from headscope.cli.probe.columns import count, interval, number, words
from headscope.cli.probe.options import FirstPiece, MaxLength, Output
from headscope.cli.probe.session import Loading, Session

if TYPE_CHECKING:
    from headscope.probes.result import ProbeResult

EXAMPLE = "Example: headscope probe relations demo --data roles.jsonl -o atlas.nc"

COLUMNS = [
    words("role", "role"),
    count("cases", "cases"),
    words("best head", "head"),
    words("direction", "direction"),
    number("attention", "attention"),
    number("control", "control"),
    number("difference", "difference"),
    interval("95 % interval", "low", "high"),
]


def relations(
    model: ModelName,
    *,
    data: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE...",
            show_default=False,
            help="Semantic roles: PropBank-style .jsonl, or FrameNet 1.7 .xml files or a folder of them.",
        ),
    ],
    select: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE...", help="What best heads are chosen on. Without it: half of --data."),
    ] = None,
    output: Output = None,
    paper_filters: Annotated[
        bool,
        typer.Option(
            "--paper-filters",
            help="Only what Kovaleva et al. kept: sentences of at most 12 tokens, elements of at most 3, 2 apart.",
        ),
    ] = False,
    max_words: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="Leave out longer sentences.", show_default=False)
    ] = None,
    max_argument: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Leave out longer arguments.", show_default=False)
    ] = None,
    min_distance: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Leave out arguments nearer to the predicate.", show_default=False
        ),
    ] = None,
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
    """Compare the attention between predicates and their arguments with that of equally distant words."""
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
        probe = hs.RelationsProbe(
            loaded,
            paper_filters=paper_filters,
            max_words=max_words,
            max_argument=max_argument,
            min_distance=min_distance,
            max_length=max_length,
            batch_size=batch_size_of(batch_size),
            faithful=faithful,
            progress=session.shown,
        )
        scored = hs.read_roles(*data)
        if not select:
            return probe.fit_score(scored)
        return probe.fit(hs.read_roles(*select)).score(scored)

    session.run(run, COLUMNS)
