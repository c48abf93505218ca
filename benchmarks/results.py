"""What the benchmarks measured, and the pages that show it: benchmarks/RESULTS.md and the table in the README.

A benchmark calls `keep`, which writes `results/<kind>.json` and both pages anew; so a file that was measured elsewhere
(on a machine with a GPU) only has to be put there:

    python benchmarks/results.py            # write the pages from results/*.json
    python benchmarks/results.py --check    # exit with 1 where they are stale

Needs nothing but Python; what is not installed has no version.
"""

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE, README = FOLDER / "RESULTS.md", FOLDER.parent / "README.md"
KINDS = {"cpu": ("On a CPU", "make bench"), "gpu": ("On a GPU", "make bench-gpu")}
PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "numba", "triton", "transformer-lens", "bertviz")
BEGIN, END = "<!-- from benchmarks/RESULTS.md -->", "<!-- end -->"

Cell = float | str | None


@dataclass(frozen=True)
class Table:
    """Numbers with what they are."""

    title: str
    note: str
    columns: Sequence[str]
    """Of the numbers; the first column is what was run."""
    rows: Sequence[tuple[str, Sequence[Cell]]]
    quoted: bool = False
    """Whether the README shows it."""

    def markdown(self) -> str:
        lines = [
            ["", *self.columns],
            ["---"] * (1 + len(self.columns)),
            *([name, *map(_cell, cells)] for name, cells in self.rows),
        ]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def keep(kind: str, tables: Sequence[Table], *, machine: str | None = None, note: str = "") -> None:
    """Write what was measured on this machine, and the pages."""
    measured = {
        "machine": machine or machine_name(),
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions(),
        "note": note,
        "tables": [asdict(table) for table in tables],
    }
    path = FOLDER / "results" / f"{kind}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")


def machine_name() -> str:
    """The processor, and how many of its cores we may use."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{names[0] if names else platform.machine()}, {cores} cores, {platform.system()}"


def versions() -> dict[str, str]:
    """Of what the figures depend on."""
    known = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            known[package] = version(package)
        except PackageNotFoundError:
            continue
    return known


def pages() -> dict[Path, str]:
    """The pages as they must be, by their files."""
    readme = README.read_text(encoding="utf-8")
    begin, end = readme.index(BEGIN) + len(BEGIN), readme.index(END)
    return {PAGE: results_page(), README: f"{readme[:begin]}\n\n{quoted()}\n\n{readme[end:]}"}


def results_page() -> str:
    """All tables of all machines."""
    parts = [
        "# Results",
        "Written by the benchmarks themselves (`benchmarks/results.py`); do not edit. Ratios are medians over rounds "
        "of the time of a whole run to that of the plain forward pass (sdpa, no attention kept) on the same texts just "
        "before and after it.",
    ]
    for kind, (title, command) in KINDS.items():
        measured = _measured(kind)
        if measured is None:
            continue
        said = ", ".join(f"{name} {number}" for name, number in measured["versions"].items())
        parts.append(f"## {title}")
        parts.append(f"`{command}`, {measured['machine']}, {measured['date']}; {said}.")
        parts.extend([measured["note"]] if measured["note"] else [])
        for table in _tables(measured):
            parts += [f"### {table.title}", table.note, table.markdown()]
    return "\n\n".join(parts) + "\n"


def quoted() -> str:
    """The tables that the README shows."""
    parts = []
    for kind in KINDS:
        measured = _measured(kind)
        for table in _tables(measured) if measured else ():
            if table.quoted:
                where = f"{table.title}, {measured['machine']}, {measured['date']}"
                parts += [f"{where}. {measured['note']}".rstrip(), table.markdown()]
    return "\n\n".join(parts)


def _measured(kind: str) -> dict | None:
    path = FOLDER / "results" / f"{kind}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _tables(measured: dict) -> list[Table]:
    return [Table(**table) for table in measured["tables"]]


def _cell(cell: Cell) -> str:
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else f"{cell:.2f}" if cell < 10 else f"{cell:.0f}"


def main() -> None:
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.name} is stale; run python benchmarks/results.py")
        sys.exit(1 if stale else 0)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
