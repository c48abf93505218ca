"""`headscope probe examples`: a head at work, sentence by sentence."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import headscope as hs
from headscope.cli.console import only_own_notes, print_json, stdout
from headscope.cli.options import (
    AllowPickle,
    BatchSize,
    Debug,
    Device,
    Dtype,
    Json,
    ModelName,
    Revision,
    batch_size_of,
)
from headscope.cli.probe.options import Annotate, FirstPiece, MaxLength, treebank
from headscope.cli.probe.session import Loading
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.atlas import Example
    from headscope.probes.at_work import AtWork

EXAMPLE = "Example: headscope probe examples demo --treebank dev.conllu --relation obj --head 7.4 --most 3"


def examples(
    model: ModelName,
    *,
    treebank_files: Annotated[
        list[Path] | None,
        typer.Option("--treebank", metavar="FILE.conllu...", help="Look at syntactic relations."),
    ] = None,
    coreference: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE...", help="Look at mentions and their antecedents instead."),
    ] = None,
    roles: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE...", help="Look at predicates and their arguments instead."),
    ] = None,
    relation: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The relation (det), mention class (pronoun) or role (ARG1); all is any of them.",
        ),
    ] = "all",
    head: Annotated[
        str | None,
        typer.Option(
            metavar="L.H", help="The head, as in 7.4. Without it: the one that is best on these files."
        ),
    ] = None,
    direction: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="dependent_to_head, head_to_dependent …; without it the better one."
        ),
    ] = None,
    most: Annotated[int, typer.Option(min=1, metavar="N", help="Sentences of each kind.")] = 5,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Also draw them, as .svg, .pdf or .png."),
    ] = None,
    annotate: Annotate = None,
    max_length: MaxLength = None,
    faithful: FirstPiece = False,
    batch_size: BatchSize = "auto",
    device: Device = "auto",
    dtype: Dtype = "auto",
    revision: Revision = None,
    allow_pickle: AllowPickle = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Print the sentences where a head is most sure and right, and most sure and wrong."""
    if sum(map(bool, (treebank_files, coreference, roles))) != 1:
        raise OptionError("give one of --treebank FILE, --coreference FILE and --roles FILE")
    shared: dict[str, Any] = {
        "max_length": max_length,
        "batch_size": batch_size_of(batch_size),
        "faithful": faithful,
        "progress": not json,
    }
    with only_own_notes(debug=debug) as notes:
        loaded = Loading(revision, device, dtype, allow_pickle).load(model, shown=not json)
        probe: Any
        if treebank_files:
            probe, data = hs.DependencyProbe(loaded, **shared), treebank(treebank_files, annotate)
        elif coreference:
            probe, data = hs.CoreferenceProbe(loaded, **shared), hs.read_coreference(*coreference)
        else:
            probe, data = hs.RelationsProbe(loaded, **shared), hs.read_roles(*(roles or []))
        found = probe.examples(data, relation, head=head, direction=direction, most=most)
        if picture is not None:
            hs.figures.save(hs.figures.heads_at_work([*found.right, *found.wrong]), picture)
    if json:
        records = {"right": list(map(_record, found.right)), "wrong": list(map(_record, found.wrong))}
        print_json({"model": model, "picture": picture and str(picture), **records, "warnings": notes})
        return
    _print(stdout(), found)


def _print(console: Console, found: "AtWork") -> None:
    first = (found.right or found.wrong)[0]
    console.print(f"head {first.head}, {first.label}, {first.direction}", style="bold", soft_wrap=True)
    console.print("[asking word]  {right word}  <chosen, wrong>", soft_wrap=True)
    for title, group in (("most sure and right", found.right), ("most sure and wrong", found.wrong)):
        console.print()
        console.print(title if group else f"{title}: none", style="bold")
        for example in group:
            console.print(f"  {example.confidence:.2f}  {_marked(example)}", soft_wrap=True)


def _marked(example: "Example") -> str:
    """The sentence with the words that matter in brackets of their own."""
    words = list(example.words)
    words[example.asking] = f"[{words[example.asking]}]"
    for word in example.right:
        words[word] = f"{{{words[word]}}}"
    if not example.is_right:
        words[example.guess] = f"<{words[example.guess]}>"
    return " ".join(words)


def _record(example: "Example") -> dict[str, Any]:
    return {
        "relation": example.label,
        "head": str(example.head),
        "direction": example.direction,
        "sentence": example.name,
        "words": list(example.words),
        "asking": example.asking,
        "right": list(example.right),
        "guess": example.guess,
        "weights": list(example.weights),
    }
