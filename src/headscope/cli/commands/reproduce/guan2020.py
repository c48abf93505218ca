"""`headscope reproduce guan2020`: kinds of heads beside the published ones."""

from typing import TYPE_CHECKING, Annotated

import typer

import headscope as hs
from headscope.cli.commands.reproduce.options import (
    Against,
    Examples,
    Limit,
    ModelOrAtlas,
    Output,
    Page,
    Seed,
    TaskData,
    TaskNames,
    Text,
)
from headscope.cli.commands.reproduce.session import Session
from headscope.cli.commands.reproduce.tasks import paired_tasks, task_files
from headscope.cli.options import Common, batch_size_of, with_common
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.reproduce import Reproduction

EXAMPLE = "Example: headscope reproduce guan2020 demo --against demo-qa --text corpus.txt"


@with_common
def guan2020(
    model: ModelOrAtlas,
    *,
    against: Against = None,
    text: Text = None,
    limit: Limit = None,
    k: Annotated[int, typer.Option("--k", min=2, metavar="N", help="How many kinds.")] = 4,
    seed: Seed = 0,
    task: TaskNames = None,
    data: TaskData = None,
    examples: Examples = None,
    output: Output = None,
    page: Page = None,
    common: Common,
) -> None:
    """Compare kinds of heads with Guan et al. 2020.

    Shares of the kinds, their stability, how many there are and in which layers, beside those of BERT-large, for MODEL
    and each model --against it; with --task and --data also what a task loses when each kind is pruned, made to look
    evenly or masked. With --against, -o OUT.nc also writes OUT-against.nc; of a second one OUT-against-2.nc, and so on.
    """
    session = Session(model, output, [*(text or []), *(data or [])], common, against or (), page)
    session.check()
    tasks = paired_tasks(task, data, examples)
    if data and not text:
        raise OptionError("--task needs --text FILE too, to sort heads into kinds")
    corpus = hs.read_text(*text) if text else None

    def compare(first: "hs.Model | hs.Atlas", *others: "hs.Model | hs.Atlas") -> "Reproduction":
        # Loads torch, which is too slow for --help.
        from headscope.reproduce import guan2020 as compared

        return compared(
            first,
            against=others,
            text=corpus,
            limit=limit,
            k=k,
            seed=seed,
            task=task_files(tasks),
            examples=examples,
            max_length=common.max_length,
            batch_size=batch_size_of(common.batch_size),
            progress=common.shown,
        )

    session.run(compare)
