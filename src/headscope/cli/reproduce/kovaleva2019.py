"""`headscope reproduce kovaleva2019`: patterns, fine-tuning and disabled heads beside the published ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import headscope as hs
from headscope.cli.options import Common, batch_size_of, treebank, with_common
from headscope.cli.reproduce.options import (
    Examples,
    Limit,
    ModelOrAtlas,
    Output,
    Seed,
    TaskData,
    TaskName,
    Text,
)
from headscope.cli.reproduce.session import Session, check_task
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.reproduce import Reproduction

EXAMPLE = "Example: headscope reproduce kovaleva2019 demo --against demo-mrpc --pairs pairs.tsv"


@with_common
def kovaleva2019(
    model: ModelOrAtlas,
    *,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FINE_TUNED", help="The model after fine-tuning; an .nc file where MODEL is one."
        ),
    ] = None,
    text: Text = None,
    pairs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Text pairs in place of --text, as headscope compare takes them."),
    ] = None,
    limit: Limit = None,
    treebank_files: Annotated[
        list[Path] | None,
        typer.Option("--treebank", metavar="FILE.conllu...", help="For figure 6: parsed sentences."),
    ] = None,
    roles: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE...", help="For figure 3: as headscope probe relations takes them."),
    ] = None,
    task: TaskName = None,
    data: TaskData = None,
    examples: Examples = None,
    seed: Seed = 0,
    output: Output = None,
    common: Common,
) -> None:
    """Compare heads with Kovaleva et al. 2019.

    Patterns of attention maps, heads for semantic roles, what fine-tuning changes, attention to kinds of words, and
    disabled heads and layers, beside those of bert-base. What no data were given for is left out, with a line that says
    what it needs. With --against, -o OUT.nc also writes OUT-against.nc, of the fine-tuned model.
    """
    if text and pairs is not None:
        raise OptionError("give the texts either as --text FILE... or as --pairs FILE, one of the two")
    files = [
        *(text or []),
        *([pairs] if pairs else []),
        *(treebank_files or []),
        *(roles or []),
        *(data or []),
    ]
    second = None if output is None or against is None else output.with_stem(f"{output.stem}-against")
    session = Session(model, output, files, common, second)
    session.check()
    check_task(task, data, examples)
    if against is not None and session.is_atlas != (Path(against).suffix == ".nc"):
        raise OptionError(f"{model} and --against {against} must both be models, or both be .nc files")
    given: dict[str, Any] = {
        "text": hs.read_pairs(pairs) if pairs else hs.read_text(*text) if text else None,
        "treebank": treebank(treebank_files, None) if treebank_files else None,
        "roles": hs.read_roles(*roles) if roles else None,
    }

    def compare(first: "hs.Model | hs.Atlas") -> "Reproduction":
        # Loads torch, which is too slow for --help.
        from headscope.reproduce.kovaleva2019 import kovaleva2019 as compared

        read = hs.open if session.is_atlas else common.load
        other = None if against is None else read(against)
        target = first if other is None else other
        made = None
        if task is not None and data and not isinstance(target, hs.Atlas):
            made = hs.task_for(task, list(data), target)
        return compared(
            first,
            against=other,
            **given,
            task=made,
            limit=limit,
            examples=examples,
            max_length=common.max_length,
            batch_size=batch_size_of(common.batch_size),
            seed=seed,
            progress=common.shown,
        )

    session.run(compare)
