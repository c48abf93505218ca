"""`headscope reproduce guan2020`: kinds of heads beside the published ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import headscope as hs
from headscope.cli.options import ATLAS, batch_size_of, check_output
from headscope.cli.probe.common import Common, with_common
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
from headscope.errors import ModelError, OptionError

if TYPE_CHECKING:
    from headscope.reproduce import Reproduction
    from headscope.tasks import Task

EXAMPLE = "Example: headscope reproduce guan2020 demo --against demo-qa --text corpus.txt"


@with_common
def guan2020(
    model: ModelOrAtlas,
    *,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FINE_TUNED...",
            help="The model after fine-tuning, or several; .nc files where MODEL is one.",
        ),
    ] = None,
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

    Shares of the kinds, their stability, how many there are and in which layers, beside those of BERT-large, for MODEL
    and each model --against it; with --task and --data also what a task loses when each kind is pruned, made to look
    evenly or masked. With --against, -o OUT.nc also writes OUT-against.nc; of a second one OUT-against-2.nc, and so on.
    """
    others = against or []
    session = Session(model, output, [*(text or []), *(data or [])], common)
    session.check()
    for other in others:
        if session.is_atlas != (Path(other).suffix == ".nc"):
            raise OptionError(f"{model} and --against {other} must both be models, or both be .nc files")
    outputs = _outputs(output, len(others))
    check_task(task, data, examples)
    if data and not text:
        raise OptionError("--task needs --text FILE too, to sort heads into kinds")
    corpus = hs.read_text(*text) if text else None

    def compare(given: "hs.Model | hs.Atlas") -> "Reproduction":
        # Loads torch, which is too slow for --help.
        from headscope.reproduce import guan2020 as compared

        read = hs.open if session.is_atlas else common.load
        models = [given, *(read(other) for other in others)]
        result = compared(
            given,
            against=models[1:],
            text=corpus,
            limit=limit,
            k=k,
            seed=seed,
            task=_task(task, data, models) if task is not None and data else None,
            examples=examples,
            max_length=common.max_length,
            batch_size=batch_size_of(common.batch_size),
            progress=common.shown,
        )
        for path, atlas in zip(outputs, result.others, strict=False):
            atlas.save(path)
        return result

    session.run(compare)


def _outputs(output: Path | None, others: int) -> list[Path]:
    """Where the atlases of the other models are kept: OUT-against.nc, OUT-against-2.nc and so on."""
    if output is None:
        return []
    endings = [f"-against{'' if number == 1 else f'-{number}'}" for number in range(1, others + 1)]
    paths = [output.with_stem(f"{output.stem}{ending}") for ending in endings]
    for path in paths:
        check_output(path, option="-o", kind=ATLAS, inputs=[])
        if path.is_file() and path.stat().st_size:
            raise OptionError(f"-o {path} is there already; choose a new name, or remove it first")
    return paths


def _task(name: str, data: list[Path], models: "list[hs.Model | hs.Atlas]") -> "Task":
    """The task for the first model that it fits, fine-tuned ones before the pre-trained one."""
    # Loads torch, which is too slow for --help.
    from headscope.tasks.base import TASKS

    reason: ModelError | None = None
    for model in (*models[1:], models[0]):
        assert not isinstance(model, hs.Atlas)
        try:
            return hs.task_for(name, list(data), hs.with_head(model, TASKS.get(name).head))
        except ModelError as error:
            reason = error
    assert reason is not None
    raise reason
