"""Options that the probe commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import headscope as hs
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.text.annotated.treebank import Treebank

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT.nc",
        help="Write the result into this atlas. An atlas of the same model that is there keeps its other results.",
    ),
]
MaxLength = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        show_default=False,
        help="Most tokens in one text; by default what the model takes, of running text 128. Longer "
        "ones are cut after a whole word.",
    ),
]
Stack = Annotated[
    Literal["encoder", "decoder"] | None,
    typer.Option(help="Which part of an encoder-decoder; without it the encoder.", show_default=False),
]
Annotate = Annotated[
    str | None,
    typer.Option(
        metavar="spacy:NAME",
        help="The files are raw text: annotate them with this spaCy pipeline, which must be installed.",
    ),
]
FirstPiece = Annotated[
    bool,
    typer.Option(
        "--faithful",
        help="Take attention from a split word's first piece, as the code of Clark et al. does, not the mean.",
    ),
]


def treebank(paths: list[Path], annotate: str | None) -> "Treebank":
    """The parsed sentences of the files, annotated just now if asked for."""
    if annotate is not None:
        return hs.annotate(paths, annotate)
    for path in paths:
        name = path.name.lower().removesuffix(".gz")
        if name.endswith((".txt", ".jsonl", ".tsv")):
            raise OptionError(
                f"{path} is no treebank by its name; give a CoNLL-U file, or --annotate spacy:NAME for raw text"
            )
    return hs.read_treebank(*paths)
