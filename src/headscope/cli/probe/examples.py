"""`headscope probe examples`: a head at work, sentence by sentence."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import headscope as hs
from headscope.cli.console import only_own_notes, print_json, print_notes, stdout
from headscope.cli.options import ModelName
from headscope.cli.probe.common import Common, with_common
from headscope.cli.probe.options import Annotate, FirstPiece, Stack, treebank
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.atlas import Example
    from headscope.probes.at_work import AtWork

EXAMPLE = "Example: headscope probe examples demo --treebank dev.conllu --relation obj --head 7.4 --most 3"

PICTURES = (".svg", ".pdf", ".png")


@with_common
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
    stack: Stack = None,
    most: Annotated[int, typer.Option(min=1, metavar="N", help="Sentences of each kind.")] = 5,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Also draw them, as .svg, .pdf or .png."),
    ] = None,
    annotate: Annotate = None,
    faithful: FirstPiece = False,
    common: Common,
) -> None:
    """Show a head at work on sentences.

    The sentences where it is most sure and right, and most sure and wrong.
    """
    if sum(map(bool, (treebank_files, coreference, roles))) != 1:
        raise OptionError("give one of --treebank FILE, --coreference FILE and --roles FILE")
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise OptionError(f"--picture {picture}: pictures are saved as {', '.join(PICTURES)}")
    shared = common.probe_options | {"faithful": faithful}
    with only_own_notes(debug=common.debug) as notes:
        loaded = common.load(model)
        probe: Any
        data: Any
        if treebank_files:
            probe, data = hs.DependencyProbe(loaded, **shared), treebank(treebank_files, annotate)
        elif coreference:
            probe, data = hs.CoreferenceProbe(loaded, **shared), hs.read_coreference(*coreference)
        else:
            probe, data = hs.RelationsProbe(loaded, **shared), hs.read_roles(*(roles or []))
        found = probe.examples(data, relation, head=head, direction=direction, stack=stack, most=most)
        if skipped := data.skipped.note():
            notes.append(skipped)
        if picture is not None:
            hs.figures.save(hs.figures.heads_at_work([*found.right, *found.wrong]), picture)
    if common.json:
        records = {"right": list(map(_record, found.right)), "wrong": list(map(_record, found.wrong))}
        print_json({"model": model, "picture": picture and str(picture), **records, "notes": notes})
    elif common.shown:
        print_notes(notes)
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
