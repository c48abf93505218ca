"""The notebooks run, their stored outputs are those of today, and a reader without a kernel sees the views."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")

Outputs = list[list[tuple[str, tuple[str, ...], str]]]


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def shape(path: Path) -> Outputs:
    """What each cell shows: kinds of output, and its words without the numbers, which differ between machines."""
    return [
        [
            (
                output.output_type,
                tuple(sorted(output.get("data", {}))),
                NUMBER.sub("#", output.get("text") or output.data["text/plain"]),
            )
            for output in cell.outputs
        ]
        for cell in code_cells(path)
    ]


def view(path: Path) -> str:
    """The HTML of the notebook's view."""
    [html] = [
        output.data["text/html"]
        for cell in code_cells(path)
        for output in cell.outputs
        if "TextView" in output.get("data", {}).get("text/plain", "")
    ]
    return str(html)


def test_there_are_two() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first_atlas", "induction_head"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_stored_is_what_running_it_gives(path: Path, tmp_path: Path) -> None:
    again = tmp_path / path.name
    again.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    tool = ROOT / "tools" / "notebooks.py"
    done = subprocess.run([sys.executable, tool, again], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert shape(path) == shape(again), "stale: run python tools/notebooks.py"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_page_without_a_kernel_shows_the_view(path: Path) -> None:
    shown = view(path)
    assert '<iframe srcdoc="&lt;!doctype html&gt;' in shown
    assert '<img src="data:image/png;base64,' in shown
    assert "http" not in re.sub(r"http://www\.w3\.org/\S+", "", shown.split("<iframe")[0])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_ready_for_colab_and_small(path: Path) -> None:
    [first, *_] = code_cells(path)
    assert "%pip install" in first.source
    assert "OWNER is a placeholder" in first.source
    assert path.stat().st_size < 1_000_000


def stored(name: str) -> str:
    return "\n".join(
        output.get("text") or output.data["text/plain"]
        for cell in code_cells(ROOT / "examples" / f"{name}.ipynb")
        for output in cell.outputs
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_table_is_empty(path: Path) -> None:
    assert "Empty DataFrame" not in stored(path.stem)


def test_the_findings_that_the_words_around_them_name() -> None:
    first, induction = stored("first_atlas"), stored("induction_head")
    assert "Head 2.6 is the strongest previous-token head" in first
    assert re.search(r"Finds the verb of an object.*: 87\.5%", first)
    assert re.search(r"^0 +4\.2 +0\.65", induction, re.MULTILINE)
    assert "all heads:  letter" in induction
    assert "without 3.0, 3.1, 4.0, 4.1, 4.7:  letter" in induction
    assert "without 4.2, 4.3, 4.4, 4.5, 4.6:  letter" not in induction
    [sweep] = re.findall(r"(?:^\d+\.\d loss .* True\n){6}", induction, re.MULTILINE)
    assert {"3.3", "3.2", "4.2", "4.5", "4.6"} <= set(re.findall(r"^\d+\.\d", sweep, re.MULTILINE))
