"""The guide to extending headscope, word by word: its code as a package, its commands, and what they promise."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from tests.cli.conftest import CORPUS
from tests.helpers.pages import embedded_data
from tests.helpers.programs import start

import headscope as hs
from headscope.atlas import Atlas
from headscope.pages.head.page import head_page

pytestmark = pytest.mark.slow

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "extending.md"
FILE = re.compile(r"All of `(my_package/\w+\.py)`:\n\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
ENTRY_POINTS = re.compile(r"whose `pyproject.toml` declares\n\n```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)

RUN = """
import os, shlex, sys
from headscope.cli.main import app
installed, here, *commands = sys.argv[1:]
sys.path.insert(0, installed)
os.chdir(here)
for line in commands:
    print("$", line, flush=True)
    app(shlex.split(line)[1:], standalone_mode=False)
"""
"""Where a package is installed, and the commands to run in a folder, all in one process."""


def write_package(folder: Path, guide: str) -> None:
    """The guide's files as an installed package: its modules, and what an installer makes of the entry points."""
    (folder / "my_package").mkdir()
    for name, code in FILE.findall(guide):
        (folder / name).write_text(code, encoding="utf-8")
    about = folder / "my_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: my_package\nVersion: 1.0\n", encoding="utf-8"
    )
    [declared] = ENTRY_POINTS.findall(guide)
    groups = tomllib.loads(declared)["project"]["entry-points"]
    lines = [
        line
        for group, points in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()), "")
    ]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What every command of the guide prints, by the command; run where its files are."""
    guide = GUIDE.read_text(encoding="utf-8")
    installed, here = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("here")
    write_package(installed, guide)
    (here / "corpus.txt").write_text(CORPUS, encoding="utf-8")
    treebank = hs.sample_path("treebank").read_text(encoding="utf-8")
    (here / "dev.conllu").write_text(treebank, encoding="utf-8")
    commands = [line for block in COMMANDS.findall(guide) for line in block.splitlines()]
    program = start(RUN, installed, here, *commands, folder=installed)
    assert program.ended() == 0, program.err
    printed = re.split(r"^\$ .*\n", program.out, flags=re.MULTILINE)[1:]
    return {"here": str(here), **dict(zip(commands, printed, strict=True))}


def printed_by(told: dict[str, str], start: str) -> str:
    [text] = [text for command, text in told.items() if command.startswith(start)]
    return text


@pytest.fixture(scope="module")
def atlas(told: dict[str, str]) -> Atlas:
    """The atlas that the commands leave; opened here, where the package is not installed."""
    return hs.open(Path(told["here"]) / "atlas.nc")


def test_the_measure_is_in_the_atlas_and_in_show(told: dict[str, str], atlas: Atlas) -> None:
    assert {"peak_attention", "entropy"} <= set(atlas.measures)
    shown = printed_by(told, "headscope show atlas.nc peak_attention")
    assert "mean of a query's largest attention weight" in shown
    assert len(shown.splitlines()) == 5  # a title, the heads of columns, three heads


def test_the_probe_prints_its_table_with_baseline_and_verdict(told: dict[str, str]) -> None:
    lines = printed_by(told, "headscope probe agreement demo --data dev.conllu -o").splitlines()
    [heading] = [line for line in lines if line.startswith("between")]
    assert re.split(r"\s{2,}", heading)[:7] == [
        "between", "cases", "best head", "direction", "right", "95% interval", "nearest noun",
    ]  # fmt: skip
    rows = {line.split()[0]: line for line in lines[lines.index(heading) + 1 :] if line[:1].isalpha()}
    assert "100.0%" in rows["nothing"]  # the nearest noun
    assert re.search(r"verb to subject|subject to verb", rows["nothing"])


def test_the_probe_has_json_with_its_options_and_a_limit(told: dict[str, str]) -> None:
    found = json.loads(printed_by(told, "headscope probe agreement demo --data dev.conllu --limit"))
    assert (found["command"], found["probe"], found["texts"]) == ("probe agreement", "agreement", 20)
    assert {"between", "cases", "head", "accuracy", "nearest", "verdict"} <= set(found["rows"][0])


def test_the_report_has_a_section_a_map_and_the_measure(told: dict[str, str]) -> None:
    html = (Path(told["here"]) / "report.html").read_text(encoding="utf-8")
    assert "Agreement: which head finds the subject of a verb" in html
    assert "Finding the subject of verbs with no noun between" in json.dumps(embedded_data(html))
    assert "another noun between" in html
    assert "Peak attention" in html


def test_the_head_page_says_what_the_head_finds(atlas: Atlas) -> None:
    """In an atlas that was passed on: the package of the probe is not there, its description is."""
    best = next(row for row in atlas.table("agreement") if row["between"] == "noun")
    layer, head = map(int, best["head"].split("."))
    sections = {section.key: section for section in head_page(atlas, "encoder", layer, head).sections}
    section = sections["relations"]  # of few cases, so that nothing is clear
    bars = [bar for chart in (*section.charts, *section.folded) for bar in chart.bars]
    [bar] = [bar for bar in bars if bar.label.startswith("another noun between")]
    assert (bar.mark_name, bar.mark) == ("nearest noun", 0.0)
    assert "agreement" in bar.note


def test_the_view_is_in_the_file(told: dict[str, str]) -> None:
    """What it shows, in all three hosts: tests/pages/test_views.py and tests/browser."""
    html = (Path(told["here"]) / "view.html").read_text(encoding="utf-8")
    assert '"name":"most_read","title":"Most read"' in html
    assert 'data-chunk="view/most_read"' in html
    assert '["most_read"] = (() => {' in html


def test_the_command_prints_the_sharpest_heads(told: dict[str, str], atlas: Atlas) -> None:
    lines = printed_by(told, "headscope sharpest").splitlines()
    assert lines == str(atlas.top("entropy", n=2, lowest=True)).splitlines()
    assert len(lines) == 3  # the names of columns, two heads
