"""Options that the commands for all papers share."""

from pathlib import Path
from typing import Annotated

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
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Where chance starts from.")]
