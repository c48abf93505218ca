"""The guide's task, word by word: registered from another package it is in every command and every medium."""

import json
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.docs.test_docs import DOCS, FENCE
from tests.helpers.tasks import headed
from tests.helpers.tiny import saved
from typer.testing import CliRunner, Result

import headscope as hs
from headscope import registry
from headscope.cli.main import app
from headscope.pages.head.page import head_page
from headscope.tasks import TASKS

LINES = [
    ("the cat [MASK] on the mat .", "sat"),
    ("a dog saw the [MASK] house", "red"),
    ("it was [MASK] , and the dog was red .", "blue"),
]


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The code under "A task" as a module, and its entry point; taken back at the end."""
    section = (DOCS / "guide/extending.md").read_text().partition("\n## A task\n")[2].partition("\n## ")[0]
    blocks = {language: code for _, language, code in FENCE.findall(section)}
    module = ModuleType("my_package.cloze")
    exec(compile(blocks["python"], "extending.md", "exec"), vars(module))
    name, _, value = blocks["toml"].strip().splitlines()[-1].partition(" = ")
    monkeypatch.setitem(sys.modules, value.strip('"').partition(":")[0], module)
    point = EntryPoint(name, value.strip('"'), "headscope.tasks")
    own = registry.entry_points

    def entry_points(*, group: str) -> list[EntryPoint]:
        return [point] if group == "headscope.tasks" else list(own(group=group))

    monkeypatch.setattr(registry, "entry_points", entry_points)
    yield
    TASKS._found.pop(name)
    TASKS._entry_points_loaded = False


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = headed("bert", "mlm")
    saved(model, tmp_path / "model")
    (tmp_path / "lines.tsv").write_text("".join(f"{line}\t{word}\n" for line, word in LINES))
    return tmp_path


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], prog_name="headscope")


@pytest.mark.slow
@pytest.mark.usefixtures("package")
def test_a_task_of_another_package_is_in_every_command_and_medium(folder: Path) -> None:
    asked: tuple[Any, ...] = (folder / "model", "--task", "cloze", "--data", folder / "lines.tsv")
    out = folder / "atlas.nc"
    for sweep in ("heads", "layers"):
        result = run("ablate", *asked, "--sweep", sweep, "-o", out, "--json")
        assert result.exit_code == 0, result.stdout
        told = json.loads(result.stdout)
        assert (told["task"], told["does"], told["examples"]) == ("cloze", "finding hidden words", 3)
        assert set(told["metrics"]) == {"loss", "accuracy"}
    result = run("importance", *asked, "-o", out)
    assert "cloze on lines.tsv: 3 texts" in result.stdout
    atlas = hs.open(out)
    assert any("finding hidden words" in finding.text for finding in hs.findings(atlas))
    assert run("report", out, "-o", folder / "report.html").exit_code == 0
    page = (folder / "report.html").read_text()
    assert "the loss of finding hidden words" in page
    assert "3 independent texts), finding hidden words" in page
    sections = {section.key: section for section in head_page(atlas, "encoder", 1, 2).sections}
    assert {bar.label for chart in sections["ablation"].charts for bar in chart.bars} == {
        "loss (lower is better)",
        "accuracy",
    }


@pytest.mark.usefixtures("package")
def test_its_numbers(folder: Path) -> None:
    model = headed("bert", "mlm")
    task = hs.task_for("cloze", folder / "lines.tsv", model, max_length=20)
    result = task.evaluate(model)
    assert (len(result), result.records["tokens"].tolist()) == (3, [1, 1, 1])
    with pytest.raises(hs.HeadscopeError, match=r"choose from max_length$"):
        hs.task_for("cloze", folder / "lines.tsv", model, colour=1)
