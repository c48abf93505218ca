"""`headscope probe dependency`: which head finds which syntactic relation."""

from pathlib import Path
from typing import Annotated

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.commands.probe.run import scored, tell
from headscope.cli.session import session

EXAMPLE = "Example: headscope probe dependency demo --treebank dev.conllu --select train.conllu -o atlas.nc"


@shared.with_common
def dependency(
    model: shared.ModelName,
    *,
    treebank_files: Annotated[
        list[Path], shared.option("What heads are scored on.", "FILE.conllu...", "--treebank")
    ],
    select: Annotated[
        list[Path] | None,
        shared.option(
            "What best heads and offsets are chosen on. Without it: half of the documents of --treebank.",
            "FILE.conllu...",
        ),
    ] = None,
    output: shared.Output = None,
    base_relations: Annotated[
        bool,
        shared.option("Count subtypes as their base relation: nmod:poss as nmod.", None, "--base-relations"),
    ] = False,
    annotate: shared.Annotate = None,
    faithful: shared.FirstPiece = False,
    common: shared.Common,
) -> None:
    """Find which head tracks which relation.

    Every head guesses the syntactic head of every word, in both directions, beside fixed offsets.
    """
    with session(common, output, inputs=[*treebank_files, *(select or [])]) as run:
        probe = hs.DependencyProbe(
            run.load(model), base_relations=base_relations, faithful=faithful, **common.probe_options
        )
        result = scored(probe, lambda paths: shared.treebank(paths, annotate), treebank_files, select)
        tell(run, result)
