"""The pages that show what the benchmarks measured say what was measured."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_results", FOLDER / "results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "benchmark_results", module)
    spec.loader.exec_module(module)
    return module


def test_results_and_readme_are_those_of_the_last_runs(results: ModuleType) -> None:
    for path, text in results.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python benchmarks/results.py"


def test_every_figure_of_the_readme_stands_in_the_results(results: ModuleType) -> None:
    page = results.PAGE.read_text(encoding="utf-8")
    rows = [line for line in results.quoted().splitlines() if line.startswith("|")]
    assert len(rows) > 4
    assert all(row in page for row in rows)


def test_what_was_measured_elsewhere_is_shown_when_its_file_is_put_there(
    results: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"Before.\n{results.BEGIN}\nold\n{results.END}\nAfter.\n")
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(results, "PAGE", tmp_path / "RESULTS.md")
    monkeypatch.setattr(results, "README", readme)
    table = results.Table(
        "Cost", "Of a run.", ["demo"], [("all", [1.234]), ("slow", [25.6]), ("not run", [None])], True
    )
    results.keep("gpu", [table], machine="a GPU")
    measured = json.loads((tmp_path / "results" / "gpu.json").read_text())
    assert measured["machine"] == "a GPU"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", measured["date"])
    assert "python" in measured["versions"]
    page = (tmp_path / "RESULTS.md").read_text()
    assert "## On a GPU" in page
    assert "| all | 1.23 |\n| slow | 26 |\n| not run |  |" in page
    assert "old" not in readme.read_text()
    assert readme.read_text().startswith("Before.\n")
    assert "| all | 1.23 |" in readme.read_text()
    assert readme.read_text().endswith(f"{results.END}\nAfter.\n")
