"""Run the notebooks in examples/ and store their outputs, so that they can be read without being run.

    python tools/notebooks.py                      # all of them
    python tools/notebooks.py examples/first_atlas.ipynb

A view is stored as the HTML that shows it without a kernel; the live widget, which needs one, is left out. Nothing of
the machine is kept: no times, no paths, no state of widgets.
"""

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"
WIDGET = "application/vnd.jupyter.widget-view+json"
TIMEOUT = 900
"""Seconds for a cell, on a busy machine."""


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with all cells run, in an empty folder."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=TIMEOUT,
            resources={"metadata": {"path": folder}},
            store_widget_state=False,
            coalesce_streams=True,
        )
        client.execute()
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                output.get("data", {}).pop(WIDGET, None)
    return notebook


def main() -> None:
    """Run and store what is named, or all."""
    for path in map(Path, sys.argv[1:] or sorted(map(str, EXAMPLES.glob("*.ipynb")))):
        notebook = executed(path)
        nbformat.write(notebook, path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
