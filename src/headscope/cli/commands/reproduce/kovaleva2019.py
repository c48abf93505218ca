"""`headscope reproduce kovaleva2019`: patterns, fine-tuning and disabled heads beside the published ones."""

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
    Page,
    Pairs,
    Seed,
    TaskData,
    TaskNames,
    Text,
)
from headscope.cli.commands.reproduce.session import Session
from headscope.cli.commands.reproduce.tasks import paired_tasks, task_files
from headscope.cli.options import Common, batch_size_of, treebank, with_common
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.reproduce import Reproduction

EXAMPLE = (
    "Example: headscope reproduce kovaleva2019 demo --against demo-mrpc demo-qa --task classification qa --data "
    "mrpc-dev.tsv questions.json"
)


@with_common
def kovaleva2019(
    model: ModelOrAtlas,
    *,
    against: Against = None,
    text: Text = None,
    pairs: Pairs = None,
    limit: Limit = None,
    treebank_files: Annotated[
        list[Path] | None,
        typer.Option("--treebank", metavar="FILE.conllu...", help="For figures 6 and 7: parsed sentences."),
    ] = None,
    roles: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE...", help="For figure 3: as headscope probe relations takes them."),
    ] = None,
    task: TaskNames = None,
    data: TaskData = None,
    examples: Examples = None,
    seed: Seed = 0,
    output: Output = None,
    page: Page = None,
    common: Common,
) -> None:
    """Compare heads with Kovaleva et al. 2019.

    Patterns of attention maps, heads for semantic roles, what fine-tuning changes, attention to kinds of words, and
    disabled heads and layers, beside those of bert-base. What no data were given for is left out, with a line that says
    what it needs. With --against, -o OUT.nc also writes OUT-against.nc, of the fine-tuned model; of a second one
    OUT-against-2.nc, and so on.
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
    session = Session(model, output, files, common, against or (), page)
    session.check()
    tasks = paired_tasks(task, data, examples)
    given: dict[str, Any] = {
        "text": hs.read_pairs(pairs) if pairs else hs.read_text(*text) if text else None,
        "treebank": treebank(treebank_files, None) if treebank_files else None,
        "roles": hs.read_roles(*roles) if roles else None,
    }

    def compare(first: "hs.Model | hs.Atlas", *others: "hs.Model | hs.Atlas") -> "Reproduction":
        # Loads torch, which is too slow for --help.
        from headscope.reproduce.kovaleva2019 import kovaleva2019 as compared

        return compared(
            first,
            against=others,
            **given,
            task=task_files(tasks),
            limit=limit,
            examples=examples,
            max_length=common.max_length,
            batch_size=batch_size_of(common.batch_size),
            seed=seed,
            progress=common.shown,
        )

    session.run(compare)
