"""Options that the commands for all papers share."""

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options import parse_task
from headscope.registry import BUILT_IN

ModelOrAtlas = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        show_default=False,
        help="As for headscope analyze; or an .nc file that it wrote, and then no data are given.",
    ),
]
Text = Annotated[
    list[Path] | None,
    typer.Option(
        "--text",
        metavar="FILE...",
        help="What heads are observed on, in segments of at most 128 tokens or --max-length.",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Stop after N segments of --text; all are read without it."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="OUT.nc", help="Keep the atlas of our figures under this new name."
    ),
]
Page = Annotated[
    Path | None,
    typer.Option(
        "--page",
        metavar="PAGE.html",
        help="Also write tables, verdicts and drawings as one page; as .md without drawings.",
    ),
]
Pairs = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Text pairs in place of --text, as headscope compare takes them."),
]
Against = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FINE_TUNED...",
        help="The model after fine-tuning, or several; .nc files where MODEL is one.",
    ),
]


TaskNames = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        metavar="NAME...",
        parser=parse_task,
        help=f"What heads are edited for: {', '.join(BUILT_IN['task'])}, as for headscope ablate; with "
        "--data. Each is for the first model that can do it and has none yet, fine-tuned ones first.",
    ),
]
TaskData = Annotated[
    list[Path] | None,
    typer.Option(
        "--data",
        metavar="FILE...",
        help="Examples of --task, as headscope ablate takes them; for several tasks one file each, in their order.",
    ),
]
Examples = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Take N examples of --data only, spread evenly over it."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Where chance starts from.")]
