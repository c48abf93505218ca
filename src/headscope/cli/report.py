"""`headscope report`: one self-contained HTML page about an atlas."""

from pathlib import Path
from typing import Annotated

import typer

import headscope as hs
from headscope.cli.analyze import run_facts
from headscope.cli.console import only_own_notes, print_json, print_notes, status, stdout
from headscope.cli.options import ATLAS, REPORT, Debug, Json, Quiet, check_output
from headscope.errors import OptionError

EXAMPLE = "Example: headscope report atlas.nc -o report.html"


def report(
    atlas: Annotated[
        Path | None,
        typer.Argument(
            metavar="ATLAS",
            show_default=False,
            help="A file that headscope analyze wrote. Without it: the demo model on the sample corpus.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.html",
            help="Where to write the page. Its folder must be there; a file of that name is replaced.",
        ),
    ] = Path("report.html"),
    save_atlas: Annotated[
        Path | None,
        typer.Option(metavar="OUT.nc", help="Without ATLAS: also keep the demo's atlas, under this name."),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write an HTML page about what the heads of an atlas do."""
    if atlas is not None and save_atlas is not None:
        raise OptionError(f"--save-atlas keeps the demo's atlas, and {atlas} is already one; leave it out")
    if save_atlas is not None and save_atlas.absolute() == output.absolute():
        raise OptionError(f"-o and --save-atlas are both {output}; give them different names")
    check_output(output, option="-o", kind=REPORT, inputs=[atlas] if atlas else [])
    if save_atlas is not None:
        check_output(save_atlas, option="--save-atlas", kind=ATLAS, inputs=[])
    shown = not (quiet or json)
    with only_own_notes(debug=debug) as notes:
        opened = hs.open(atlas) if atlas else _demo_atlas(shown=shown)
        with status(f"writing {output}", shown=shown):
            hs.write_report(opened, output)
        if save_atlas is not None:
            opened.save(save_atlas)
    if json:
        print_json({"output": str(output), **run_facts(opened), "warnings": notes})
    elif shown:
        print_notes(notes)
        kept = f" (its atlas: {save_atlas})" if save_atlas else ""
        stdout().print(
            f"{output}: report on {opened.provenance['model']}{kept}; open it in a browser", soft_wrap=True
        )


def _demo_atlas(*, shown: bool) -> "hs.Atlas":
    with status("loading demo", shown=shown):
        model = hs.load("demo")
    return hs.analyze(model, hs.read_text(hs.sample_path("articles")), progress=shown)
