"""The commands that pages offer work where they are typed: in the folder of the page."""

import shlex
from pathlib import Path

import pytest
from tests.helpers.atlases import random_atlas
from tests.helpers.pages import embedded_data
from tests.helpers.tasks import headed
from tests.helpers.tiny import saved

from headscope.atlas import Atlas, open_atlas
from headscope.pages.atlas import write_atlas_view
from headscope.pages.commands import explore_command
from headscope.report import page, write_report
from headscope.server.catalogue import Catalogue


def opened_by(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    """What the explorer offers when the command is typed in a folder."""
    program, subcommand, *sources = shlex.split(command)
    assert (program, subcommand) == ("headscope", "explore")
    monkeypatch.chdir(folder)
    return Catalogue(sources)


def offered_command(written: Path) -> str:
    return str(embedded_data(written.read_text(encoding="utf-8"))["atlas"]["command"])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a model and two folders; the atlas is of the model as it is named there."""
    saved(headed("bert", "mlm"), tmp_path / "models" / "mine")
    for name in ("my atlases", "pages"):
        (tmp_path / name).mkdir()
    random_atlas(1, 2, model="models/mine").save(tmp_path / "my atlases" / "all.nc")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("place", ["report.html", "pages/report.html", "my atlases/report.html"])
@pytest.mark.parametrize("is_named", [True, False])
def test_the_command_of_a_report_opens_its_atlas_and_model(
    place: str, is_named: bool, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path("my atlases/all.nc")
    write_report(open_atlas(file), place, **({"atlas_file": file} if is_named else {}))
    catalogue = opened_by(offered_command(project / place), (project / place).parent, monkeypatch)
    [(name, model)] = catalogue.models.items()
    assert Path(model.source).resolve() == project / "models" / "mine"
    [info] = catalogue.about("1", 64).atlases
    assert (info.name, info.model) == ("all.nc", name), "heads can be switched off in this model"


def test_the_command_of_a_written_view(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_atlas_view("pages/view.html", open_atlas("my atlases/all.nc"))
    catalogue = opened_by(offered_command(project / "pages" / "view.html"), project / "pages", monkeypatch)
    assert (len(catalogue.models), len(catalogue.atlases)) == (1, 1)


def test_a_demo_model_is_no_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`headscope demo` makes a folder demo, with the atlas of demo and its report."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    random_atlas(1, 2, model="demo").save("demo/demo.nc")
    for place, command in (
        ("demo/report.html", "headscope explore demo demo.nc"),
        ("report.html", "headscope explore demo demo/demo.nc"),
    ):
        write_report(open_atlas("demo/demo.nc"), place, atlas_file="demo/demo.nc")
        assert offered_command(tmp_path / place) == command


@pytest.mark.parametrize(
    ("atlas", "file", "command"),
    [
        (random_atlas(1, 2, model="demo"), None, "headscope explore demo"),
        (random_atlas(1, 2, model="google/bert"), "a b.nc", "headscope explore google/bert 'a b.nc'"),
        (random_atlas(1, 2, model="/gone/mine"), "x/a.nc", "headscope explore path/to/mine x/a.nc"),
        (
            random_atlas(1, 2, model="demo"),
            Path("hf://me/atlases/a.nc"),
            "headscope explore demo hf://me/atlases/a.nc",
        ),
    ],
)
def test_what_is_in_no_file_and_what_is_nowhere(atlas: Atlas, file: str | None, command: str) -> None:
    assert explore_command(atlas, file) == command


def test_the_next_commands_are_typed_there_too(project: Path) -> None:
    text = page.render(open_atlas("my atlases/all.nc"), "pages/of all.html")
    assert "headscope types &#39;../my atlases/all.nc&#39;" in text
    assert "headscope probe dependency ../models/mine --treebank" in text
    assert "headscope report &#39;../my atlases/all.nc&#39; -o &#39;of all.html&#39;" in text
