"""`headscope probe coreference`: which head finds what a mention refers to."""

from pathlib import Path
from typing import Annotated

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.commands.probe.run import scored, tell
from headscope.cli.session import session

EXAMPLE = "Example: headscope probe coreference demo --data gum-dev.conllu -o atlas.nc"


@shared.with_common
def coreference(
    model: shared.ModelName,
    *,
    data: Annotated[
        list[Path],
        shared.option(
            "CoNLL-U with Entity= (CorefUD, GUM), CoNLL-2012 columns, or LitBank's CoNLL; told by content.",
            "FILE...",
        ),
    ],
    select: Annotated[
        list[Path] | None,
        shared.option(
            "What best heads are chosen on. Without it: half of the documents of --data.", "FILE..."
        ),
    ] = None,
    output: shared.Output = None,
    faithful: shared.FirstPiece = False,
    common: shared.Common,
) -> None:
    """Find which head resolves coreference.

    Every head guesses the antecedent of every mention, beside rules that look at no attention.
    """
    with session(common, output, inputs=[*data, *(select or [])]) as run:
        probe = hs.CoreferenceProbe(run.load(model), faithful=faithful, **common.probe_options)
        tell(run, scored(probe, lambda paths: hs.read_coreference(*paths), data, select))
