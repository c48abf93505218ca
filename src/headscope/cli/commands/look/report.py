"""`headscope report`: one self-contained HTML page about an atlas."""

from pathlib import Path
from typing import TYPE_CHECKING

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.commands.analyze import run_facts
from headscope.cli.session import ATLAS, REPORT, Session, check_output, session
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.cli.page import Page


@shared.with_common(without=(*shared.LOADING, "full"))
def report(
    atlas: Path | None = None,
    *,
    output: Path = Path("report.html"),
    save_atlas: Path | None = None,
    common: shared.Common,
) -> None:
    """Write an HTML page about what the heads of an atlas do."""
    if atlas is not None and save_atlas is not None:
        raise OptionError(f"--save-atlas keeps the demo's atlas, and {atlas} is already one; leave it out")
    if save_atlas is not None and save_atlas.absolute() == output.absolute():
        raise OptionError(f"-o and --save-atlas are both {output}; give them different names")
    if save_atlas is not None:
        check_output(save_atlas, option="--save-atlas", kind=ATLAS, inputs=[])
    with session(common, output, inputs=[atlas] if atlas else [], kind=REPORT) as run:
        opened = hs.open(atlas) if atlas else _demo_atlas(run)
        with run.status(f"writing {output}"):
            hs.write_report(opened, output, atlas_file=atlas or save_atlas)
        if save_atlas is not None:
            opened.save(save_atlas)

        def show(page: "Page", opened: "hs.Atlas") -> None:
            kept = f" (its atlas: {save_atlas})" if save_atlas else ""
            about = f"report on {opened.provenance['model']}{kept}; open it in a browser"
            page.say(f"{output}: {about}")

        run.tell(opened, run_facts, show, then=None)


def _demo_atlas(run: Session) -> "hs.Atlas":
    corpus = hs.read_text(hs.sample_path("articles"))
    return hs.analyze(run.load("demo"), corpus, progress=run.common.shown)
