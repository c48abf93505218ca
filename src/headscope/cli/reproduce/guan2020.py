"""`headscope reproduce guan2020`: kinds of heads beside the published ones."""

from typing import TYPE_CHECKING, Annotated

import typer

import headscope as hs
from headscope.cli.options import Common, batch_size_of, with_common
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

EXAMPLE = "Example: headscope reproduce guan2020 demo --text corpus.txt"


@with_common
def guan2020(
    model: ModelOrAtlas,
    *,
    text: Text = None,
    limit: Limit = None,
    k: Annotated[int, typer.Option("--k", min=2, metavar="N", help="How many kinds.")] = 4,
    seed: Seed = 0,
    task: TaskName = None,
    data: TaskData = None,
    examples: Examples = None,
    output: Output = None,
    common: Common,
) -> None:
    """Compare kinds of heads with Guan et al. 2020.

    Shares of the kinds, their stability, how many there are and in which layers, beside those of BERT-large; with
    --task and --data also what a task loses when each kind is pruned or made to look evenly.
    """
    session = Session(model, output, [*(text or []), *(data or [])], common)
    session.check()
    check_task(task, data, examples)
    if data and not text:
        raise OptionError("--task needs --text FILE too, to sort heads into kinds")
    corpus = hs.read_text(*text) if text else None

    def compare(given: "hs.Model | hs.Atlas") -> "Reproduction":
        # Loads torch, which is too slow for --help.
        from headscope.reproduce import guan2020 as compared

        made = None
        if task is not None and data and not isinstance(given, hs.Atlas):
            made = hs.task_for(task, list(data), given)
        return compared(
            given,
            text=corpus,
            limit=limit,
            k=k,
            seed=seed,
            task=made,
            examples=examples,
            max_length=common.max_length,
            batch_size=batch_size_of(common.batch_size),
            progress=common.shown,
        )

    session.run(compare)
