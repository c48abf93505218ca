"""`headscope probe relations`: which head ties a predicate to its arguments."""

from pathlib import Path
from typing import Annotated

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.commands.probe.run import scored, tell
from headscope.cli.session import session

EXAMPLE = "Example: headscope probe relations demo --data roles.jsonl -o atlas.nc"


@shared.with_common
def relations(
    model: shared.ModelName,
    *,
    data: Annotated[
        list[Path],
        shared.option(
            "Semantic roles: PropBank-style .jsonl, or FrameNet 1.7 .xml files or a folder of them.",
            "FILE...",
        ),
    ],
    select: Annotated[
        list[Path] | None,
        shared.option("What best heads are chosen on. Without it: half of --data.", "FILE..."),
    ] = None,
    output: shared.Output = None,
    paper_filters: Annotated[
        bool,
        shared.option(
            "Only what Kovaleva et al. kept: sentences of at most 12 tokens, elements of at most 3, 2 apart.",
            None,
            "--paper-filters",
        ),
    ] = False,
    max_words: Annotated[
        int | None, shared.option("Leave out longer sentences.", "N", least=2, shown=False)
    ] = None,
    max_argument: Annotated[
        int | None, shared.option("Leave out longer arguments.", "N", least=1, shown=False)
    ] = None,
    min_distance: Annotated[
        int | None, shared.option("Leave out arguments nearer to the predicate.", "N", least=1, shown=False)
    ] = None,
    modifiers: Annotated[
        bool,
        shared.option(
            "Also count modifiers: PropBank's ARGM, FrameNet's non-core elements.", None, "--modifiers"
        ),
    ] = False,
    faithful: shared.FirstPiece = False,
    common: shared.Common,
) -> None:
    """Find which head ties predicates to roles.

    Attention between predicates and their arguments, against words at the same distance in the same sentence.
    """
    with session(common, output, inputs=[*data, *(select or [])]) as run:
        probe = hs.RelationsProbe(
            run.load(model),
            paper_filters=paper_filters,
            max_words=max_words,
            max_argument=max_argument,
            min_distance=min_distance,
            core_only=not modifiers,
            faithful=faithful,
            **common.probe_options,
        )
        tell(run, scored(probe, lambda paths: hs.read_roles(*paths), data, select))
