"""Options that the commands for all papers share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

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
TaskName = Annotated[
    Literal["qa", "classification", "regression", "mlm", "lm"] | None,
    typer.Option("--task", help="What heads are edited for, as for headscope ablate; with --data."),
]
TaskData = Annotated[
    list[Path] | None,
    typer.Option("--data", metavar="FILE...", help="Examples of --task: as headscope ablate takes them."),
]
Examples = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Take N examples of --data only, spread evenly over it."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Where chance starts from.")]
