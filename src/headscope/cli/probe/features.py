"""`headscope probe features`: attention to nouns, verbs, subjects, negation and special tokens."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import headscope as hs
from headscope.cli.options import ModelName
from headscope.cli.probe.columns import Column, count, number, words
from headscope.cli.probe.common import Common, with_common
from headscope.cli.probe.options import Annotate, Output, treebank
from headscope.cli.probe.session import Session

if TYPE_CHECKING:
    from headscope.probes.result import ProbeResult

EXAMPLE = "Example: headscope probe features demo --treebank dev.conllu --against demo-mrpc -o atlas.nc"

COLUMNS = [
    words("feature", "feature"),
    words("queries", "queries"),
    count("texts", "texts"),
    words("most: head", "head"),
    number("attention", "attention"),
    number("control", "control"),
    words("most preferred: head", "preference_head"),
    number("preference", "preference", decimals=2),
    words("against: head", "head_against"),
    number("attention", "attention_against"),
    words("head", "preference_head_against"),
    number("preference", "preference_against", decimals=2),
    words("changed most: head", "change_head"),
    Column("change", "change", lambda row: f"{row['change']:+.4f}{' *' if row['change_sure'] else ''}"),
]


@with_common
def features(
    model: ModelName,
    *,
    treebank_files: Annotated[
        list[Path],
        typer.Option("--treebank", metavar="FILE.conllu...", show_default=False, help="Parsed sentences."),
    ],
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL_B",
            help="A second model of the same shape, such as a fine-tuned one, side by side.",
        ),
    ] = None,
    output: Output = None,
    annotate: Annotate = None,
    common: Common,
) -> None:
    """Measure attention to kinds of words.

    Nouns, verbs, pronouns, subjects, objects, negation, [CLS] and [SEP]; from all tokens and from [CLS] alone. A star
    marks a change that is sure after correction for the many heads and classes looked at.
    """
    session = Session(model, output, treebank_files, common)

    def run(loaded: "hs.Model") -> "ProbeResult":
        probe = hs.FeaturesProbe(
            loaded,
            against=None if against is None else common.load(against),
            **common.probe_options,
        )
        return probe.score(treebank(treebank_files, annotate))

    session.run(run, COLUMNS)
