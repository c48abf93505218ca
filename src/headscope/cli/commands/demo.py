"""`headscope demo`: a whole study of the demo model, each step as one would type it.

All in one process: to load torch and transformers takes longer than most of the steps.
"""

import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import REPORT, session
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.cli.page import Page

STEPS = (
    "analyze MODEL --text ARTICLES --distances exact -o ATLAS",
    "probe dependency MODEL --treebank TREEBANK -o ATLAS",
    "probe coreference MODEL --data TREEBANK -o ATLAS",
    "probe relations MODEL --data ROLES -o ATLAS",
    "probe features MODEL --treebank TREEBANK -o ATLAS",
    "patterns MODEL --text ARTICLES --limit 40 -o ATLAS",
    "types ATLAS",
    "importance MODEL --task mlm --data ARTICLES --limit 40 -o ATLAS",
    "ablate MODEL --task mlm --data ARTICLES --sweep heads --limit 48 -o ATLAS",
    "ablate MODEL --task mlm --data ARTICLES --sweep layers --limit 40 -o ATLAS",
    "explain MODEL --head 0.2 2.5 2.6 3.0 7.4 --text ARTICLES --limit 12 -o ATLAS",
    "report ATLAS -o REPORT",
)
"""The commands, in order; words in capitals stand for the model and for files."""
COPY = Path("models/src/headscope_models/demo")
"""The model in a copy of the project, for whoever runs the command from there without the distribution of models."""


@shared.with_common(without=(*shared.LOADING, "full"))
def demo(*, output: Path = Path("demo"), common: shared.Common) -> None:
    """Study the demo model on the sample texts.

    Runs the commands that a study takes, one after the other, and prints each as you would type it. Leaves an atlas,
    demo.nc, and a page to open in a browser, report.html. Takes a few minutes. Needs the demo models:
    pip install 'headscope[demo]'.
    """
    atlas, page = output / "demo.nc", output / "report.html"
    _make_folder(output)
    for command in commands(atlas, page):
        if common.shown:
            print(f"headscope {shlex.join(command)}", flush=True)
        _run(command, common)
    with session(common, output, kind=REPORT, checks=False) as run:
        run.tell({"atlas": str(atlas), "report": str(page)}, dict, _print, then=None)


def commands(atlas: Path, page: Path) -> list[list[str]]:
    """The steps with the files that they read and write, as words."""
    samples = {name.upper(): _short(hs.sample_path(name)) for name in ("articles", "treebank", "roles")}
    model = str(COPY) if find_spec("headscope_models") is None and COPY.is_dir() else "demo"
    places = {**samples, "MODEL": model, "ATLAS": str(atlas), "REPORT": str(page)}
    return [[places.get(word, word) for word in step.split()] for step in STEPS]


def _make_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"-o {folder} is a file; give the name of a folder")
    if not folder.parent.is_dir():
        raise OptionError(
            f"-o {folder}: there is no folder {folder.parent}; make it with: mkdir -p {folder.parent}"
        )
    folder.mkdir(exist_ok=True)


def _run(command: list[str], common: shared.Common) -> None:
    """A command in this process; the first that fails ends the study, with its own message and exit code."""
    root: Any = common.context.find_root().command
    code = root.main([*command, *([] if common.shown else ["--quiet"])], "headscope", standalone_mode=False)
    if code:
        common.context.exit(code)


def _short(path: Path) -> str:
    """The path as one would type it here: from this folder, where it is in it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _print(page: "Page", places: dict[str, str]) -> None:
    page.say(
        f"The report:  {places['report']}  (open it in a browser)",
        f"The atlas:   {places['atlas']}  (look at it with: headscope explore {places['atlas']})",
    )
