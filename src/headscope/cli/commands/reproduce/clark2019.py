"""`headscope reproduce clark2019`: surface patterns and probes beside the published ones."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import headscope as hs
from headscope.cli.commands.reproduce.options import Limit, ModelOrAtlas, Output, Page, Seed, Text
from headscope.cli.commands.reproduce.session import Session
from headscope.cli.options import Common, batch_size_of, treebank, with_common
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.reproduce import Reproduction

EXAMPLE = "Example: headscope reproduce clark2019 demo --text corpus.txt --treebank dev.conllu"

Files = list[Path] | None


@with_common
def clark2019(
    model: ModelOrAtlas,
    *,
    text: Text = None,
    limit: Limit = None,
    examples: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="For figure 3: the gradient is that of N segments of --text; 100 without it.",
        ),
    ] = None,
    treebank_files: Annotated[
        Files,
        typer.Option("--treebank", metavar="FILE.conllu...", help="For table 1: what heads are scored on."),
    ] = None,
    choose: Annotated[
        Files,
        typer.Option(
            metavar="FILE.conllu...",
            help="What heads for table 1 are chosen on. Without it: half of the documents of --treebank.",
        ),
    ] = None,
    coreference: Annotated[
        Files, typer.Option(metavar="FILE...", help="For table 2: as headscope probe coreference takes them.")
    ] = None,
    train: Annotated[
        Files, typer.Option(metavar="FILE.conllu...", help="For table 3: what the parsers learn from.")
    ] = None,
    dev: Annotated[
        Files,
        typer.Option(
            metavar="FILE.conllu...",
            help="What decides when learning stops. Without it: every tenth document of --train, held out.",
        ),
    ] = None,
    test: Annotated[
        Files, typer.Option(metavar="FILE.conllu...", help="For table 3: what the parsers are scored on.")
    ] = None,
    vectors: Annotated[
        str,
        typer.Option(
            metavar="FILE|model",
            help="Word vectors for table 3: a GloVe or word2vec text file, or the model's own input embeddings.",
        ),
    ] = "model",
    seed: Seed = 0,
    faithful: Annotated[
        bool, typer.Option("--faithful", help="Compute what the authors' code does, quirks included.")
    ] = False,
    output: Output = None,
    page: Page = None,
    common: Common,
) -> None:
    """Compare heads with Clark et al. 2019.

    Its figures 1 to 6 and tables 1 to 3: surface patterns, the gradient by what is looked at, dependency and
    coreference heads, all heads as a parser, and distances between heads, beside those of bert-base. What no data were
    given for is left out, with a line that says what it needs.
    """
    files = {"text": text, "treebank": treebank_files, "choose": choose, "coreference": coreference}
    files |= {"train": train, "dev": dev, "test": test}
    session = Session(
        model, output, [path for paths in files.values() for path in paths or []], common, page=page
    )
    session.check()
    _check_pairs(files)
    data = {name: _READERS.get(name, _parsed)(paths) for name, paths in files.items() if paths}

    def compare(given: "hs.Model | hs.Atlas") -> "Reproduction":
        # Loads torch, which is too slow for --help.
        from headscope.reproduce import clark2019 as compared

        return compared(
            given,
            **data,
            vectors=vectors if vectors == "model" else Path(vectors),
            limit=limit,
            examples=examples,
            max_length=common.max_length,
            batch_size=batch_size_of(common.batch_size),
            seed=seed,
            faithful=faithful,
            progress=common.shown,
        )

    session.run(compare)


def _check_pairs(files: Mapping[str, Files]) -> None:
    """Refuse an option that means nothing without another."""
    for name, other in (("train", "test"), ("test", "train"), ("dev", "train"), ("choose", "treebank")):
        if files[name] and not files[other]:
            raise OptionError(f"--{name} needs --{other} FILE too")


def _parsed(paths: list[Path]) -> Any:
    return treebank(paths, None)


_READERS: dict[str, Callable[[list[Path]], Any]] = {
    "text": lambda paths: hs.read_text(*paths),
    "coreference": lambda paths: hs.read_coreference(*paths),
}
