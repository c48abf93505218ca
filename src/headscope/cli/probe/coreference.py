"""`headscope probe coreference`: which head finds what a mention refers to."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import headscope as hs
from headscope.cli.options import ModelName
from headscope.cli.probe.columns import count, percent, percent_interval, words
from headscope.cli.probe.common import Common, with_common
from headscope.cli.probe.options import FirstPiece, Output
from headscope.cli.probe.session import Session

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


@with_common
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
    faithful: FirstPiece = False,
    common: Common,
) -> None:
    """Find which head resolves coreference.

    Every head guesses the antecedent of every mention, beside rules that look at no attention.
    """
    session = Session(model, output, [*data, *(select or [])], common)

    def run(loaded: "hs.Model") -> "ProbeResult":
        probe = hs.CoreferenceProbe(
            loaded,
            faithful=faithful,
            **common.probe_options,
        )
        scored = hs.read_coreference(*data)
        if not select:
            return probe.fit_score(scored)
        return probe.fit(hs.read_coreference(*select)).score(scored)

    session.run(run, COLUMNS)
