"""`headscope probe features`: attention to nouns, verbs, subjects, negation and special tokens."""

from pathlib import Path
from typing import Annotated

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.commands.probe.run import tell
from headscope.cli.session import session

EXAMPLE = "Example: headscope probe features demo --treebank dev.conllu --against demo-mrpc -o atlas.nc"


@shared.with_common
def features(
    model: shared.ModelName,
    *,
    treebank_files: Annotated[list[Path], shared.option("Parsed sentences.", "FILE.conllu...", "--treebank")],
    against: Annotated[
        str | None,
        shared.option("A second model of the same shape, such as a fine-tuned one, side by side.", "MODEL_B"),
    ] = None,
    output: shared.Output = None,
    annotate: shared.Annotate = None,
    common: shared.Common,
) -> None:
    """Measure attention to kinds of words.

    Nouns, verbs, pronouns, subjects, objects, negation, [CLS] and [SEP]; from all tokens and from [CLS] alone. A star
    marks a change that is sure after correction for the many heads and classes looked at.
    """
    with session(common, output, inputs=treebank_files) as run:
        loaded, other = run.load(model), None if against is None else common.load(against)
        probe = hs.FeaturesProbe(loaded, against=other, **common.probe_options)
        tell(run, probe.score(shared.treebank(treebank_files, annotate)))
