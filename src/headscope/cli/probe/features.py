"""`headscope probe features`: attention to nouns, verbs, subjects, negation and special tokens."""

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
from headscope.cli.probe.columns import Column, count, number, words
from headscope.cli.probe.options import Annotate, MaxLength, Output, treebank
from headscope.cli.probe.session import Loading, Session

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
    max_length: MaxLength = None,
    batch_size: BatchSize = "auto",
    device: Device = "auto",
    dtype: Dtype = "auto",
    revision: Revision = None,
    allow_pickle: AllowPickle = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Measure attention to kinds of words.

    Nouns, verbs, pronouns, subjects, objects, negation, [CLS] and [SEP]; from all tokens and from [CLS] alone. A star
    marks a change that is sure after correction for the many heads and classes looked at.
    """
    loading = Loading(revision, device, dtype, allow_pickle)
    session = Session(model, loading, output, treebank_files, quiet, json, debug)

    def run(loaded: "hs.Model") -> "ProbeResult":
        probe = hs.FeaturesProbe(
            loaded,
            against=None if against is None else loading.load(against, shown=session.shown),
            max_length=max_length,
            batch_size=batch_size_of(batch_size),
            progress=session.shown,
        )
        return probe.score(treebank(treebank_files, annotate))

    session.run(run, COLUMNS)
