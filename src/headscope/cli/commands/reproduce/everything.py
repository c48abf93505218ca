"""`headscope reproduce all`: every paper, on one page."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import headscope as hs
from headscope.cli.commands.reproduce.options import (
    Against,
    Examples,
    Limit,
    ModelOrAtlas,
    Output,
    Seed,
    TaskData,
    TaskNames,
    Text,
)
from headscope.cli.commands.reproduce.session import Session
from headscope.cli.commands.reproduce.tasks import paired_tasks, task_files
from headscope.cli.console import (
    envelope,
    one_line,
    only_own_notes,
    print_json,
    print_notes,
    print_wrapped,
    stderr,
    stdout,
)
from headscope.cli.options import Common, batch_size_of, treebank, with_common
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.reproduce import Material, Reproduction

EXAMPLE = "Example: headscope reproduce all demo --against demo-mrpc --text corpus.txt --treebank dev.conllu"

Files = list[Path] | None


@with_common
def all_papers(
    model: ModelOrAtlas,
    *,
    against: Against = None,
    text: Text = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Text pairs for what fine-tuning changes; without --text for all papers."
        ),
    ] = None,
    treebank_files: Annotated[
        Files, typer.Option("--treebank", metavar="FILE.conllu...", help="Parsed sentences.")
    ] = None,
    choose: Annotated[
        Files, typer.Option(metavar="FILE.conllu...", help="What heads for --treebank are chosen on.")
    ] = None,
    coreference: Annotated[
        Files, typer.Option(metavar="FILE...", help="As headscope probe coreference takes them.")
    ] = None,
    train: Annotated[
        Files, typer.Option(metavar="FILE.conllu...", help="What the parsers of Clark's table 3 learn from.")
    ] = None,
    dev: Annotated[
        Files, typer.Option(metavar="FILE.conllu...", help="What decides when learning stops.")
    ] = None,
    test: Annotated[
        Files, typer.Option(metavar="FILE.conllu...", help="What these parsers are scored on.")
    ] = None,
    vectors: Annotated[
        str,
        typer.Option(metavar="FILE|model", help="Their word vectors, or the model's own input embeddings."),
    ] = "model",
    roles: Annotated[
        Files, typer.Option(metavar="FILE...", help="As headscope probe relations takes them.")
    ] = None,
    task: TaskNames = None,
    data: TaskData = None,
    limit: Limit = None,
    examples: Examples = None,
    seed: Seed = 0,
    output: Output = None,
    page: Annotated[
        Path,
        typer.Option("--page", metavar="PAGE.html", help="Where to write the page; as .md without drawings."),
    ] = Path("reproduction.html"),
    common: Common,
) -> None:
    """Compare heads with all papers and write one page.

    Each paper takes the data that it can use, and nothing is measured twice. Without any data the sample that comes
    with headscope is read. With --against, -o OUT.nc also writes OUT-against.nc, OUT-against-2.nc and so on.
    """
    files = {"text": text, "pairs": [pairs] if pairs else None, "treebank": treebank_files, "choose": choose}
    files |= {"coreference": coreference, "train": train, "dev": dev, "test": test, "roles": roles}
    inputs = [path for paths in (*files.values(), data) for path in paths or []]
    session = Session(model, output, inputs, common, against or (), page)
    _check(session, files)
    pairs_of = paired_tasks(task, data)
    read = {name: _READERS.get(name, _parsed)(paths) for name, paths in files.items() if paths}
    # Loads torch, which is too slow for --help.
    from headscope import reproduce

    material = reproduce.Material(
        **read,
        vectors=vectors if vectors == "model" else Path(vectors),
        tasks=task_files(pairs_of),
        limit=limit,
        examples=examples,
        seed=seed,
    )
    _run(session, material)


def _run(session: Session, material: "Material") -> None:
    """Compare with all papers, keep the atlases, write the page, print what was found."""
    from headscope.reproduce import reproduce_all

    common = session.common
    load: Callable[[str], Any] = hs.open if session.is_atlas else common.load
    with only_own_notes(debug=common.debug) as notes:
        if not session.is_atlas and material.is_empty:
            _tell(common)("no data were given: the sample that comes with headscope is read")
        results = reproduce_all(
            load(session.model),
            against=[load(name) for name in session.against],
            material=material,
            max_length=common.max_length,
            batch_size=batch_size_of(common.batch_size),
            progress=common.shown,
            tell=_tell(common),
        )
        most = max(results, key=lambda result: len(result.others))
        for place, atlas in zip(session.outputs, (most.atlas, *most.others), strict=False):
            atlas.save(place)
        session.write_page(results)
    kept = [str(place) for place in session.outputs]
    if common.json:
        papers = [result.facts() for result in results]
        facts = {"output_against": kept[1:], "page": str(session.page), "papers": papers}
        print_json(envelope(common.command, facts, output=session.output, notes=notes))
    elif common.shown:
        print_notes(notes)
        _print(results, session.page, kept)


def _check(session: Session, files: dict[str, Files]) -> None:
    """Refuse what cannot work, before anything slow begins."""
    if session.is_atlas and session.inputs:
        session.check()  # says what is wrong
    session.check_outputs()
    for name, other in (("train", "test"), ("test", "train"), ("dev", "train"), ("choose", "treebank")):
        if files[name] and not files[other]:
            raise OptionError(f"--{name} needs --{other} FILE too")


def _tell(common: Common) -> Callable[[str], None]:
    """A line on standard error for every step, where anything is shown."""
    console = stderr()

    def tell(step: str) -> None:
        if common.shown:
            console.print(one_line(step), soft_wrap=True)

    return tell


def _print(results: "Sequence[Reproduction]", page: Path | None, kept: Sequence[str]) -> None:
    """Each paper's verdicts in a few lines; the tables are on the page."""
    from headscope.reproduce import wording as words

    console = stdout()
    for result in results:
        console.print(words.paper_name(result), style="bold", soft_wrap=True)
        print_wrapped(console, "  ", words.summary(result))
        for section in result.sections:
            if section.needs:
                print_wrapped(console, "  left out: ", f"{section.title}: {section.needs}")
            for tally in words.tallies(section):
                print_wrapped(console, "  ", f"{tally.finding}: {tally.outcome}")
    console.print()
    if kept:
        console.print(f"our figures are kept in {', '.join(kept)}", soft_wrap=True)
    console.print(f"{page}: all tables and drawings; open it in a browser", soft_wrap=True)


def _parsed(paths: list[Path]) -> Any:
    return treebank(paths, None)


_READERS: dict[str, Callable[[list[Path]], Any]] = {
    "text": lambda paths: hs.read_text(*paths),
    "pairs": lambda paths: hs.read_pairs(paths[0]),
    "coreference": lambda paths: hs.read_coreference(*paths),
    "roles": lambda paths: hs.read_roles(*paths),
}
