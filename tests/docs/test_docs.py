"""The docs cannot drift: what is registered, public or linked must be there, and be findable."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are not among what the project installs
from markdown.extensions.toc import slugify  # type: ignore[import-untyped]  # likewise

import headscope as hs
from headscope.facts.description import PROBES
from headscope.measures import Measure
from headscope.types import HeadGrid

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CARDS = sorted((ROOT / "models").rglob("README.md"))
PAPERS = ROOT / "papers" / "README.md"
OTHERS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", PAPERS, *CARDS]

GRID = HeadGrid("encoder", layers=1, heads=1, causal=False)
MODEL_DIMS = {"layer", "head", "head_a", "head_b"}  # their labels depend on the model
COUNTED_DIMS = {"fold", "row", "column"}  # their labels are mere numbers

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def own_measures() -> dict[str, type[Measure]]:
    """Those that come with headscope: other packages document their own."""
    found = {name: hs.MEASURES.get(name) for name in hs.MEASURES.names()}
    return {name: kind for name, kind in found.items() if kind.__module__.startswith("headscope.")}


def prose(path: Path) -> str:
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def code_blocks(path: Path, language: str) -> list[str]:
    return [code for _, found, code in FENCE.findall(path.read_text(encoding="utf-8")) if found == language]


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ +(.+?) *$", prose(path), re.MULTILINE)
    return {slugify(heading.replace("`", ""), "-") for heading in headings}


@pytest.mark.parametrize("name", own_measures())
def test_every_measure_has_a_page_with_its_dims_and_labels(name: str) -> None:
    page = (DOCS / "measures" / f"{name}.md").read_text(encoding="utf-8")
    for array, labelled in own_measures()[name].empty(GRID).result().items():
        assert f"`{array}`" in page
        for dim in labelled.dims:
            assert f"`{dim}`" in page, f"{name}.md does not name the dimension {dim}"
            if dim in MODEL_DIMS | COUNTED_DIMS:
                continue
            listed = page[page.index(f"`{dim}`") :]
            for label in labelled.coords[dim]:
                written = f"`{label}`" if isinstance(label, str) else f" {label}"
                assert written in listed, f"{name}.md does not name {dim} {label}"


def test_every_measure_page_has_a_measure() -> None:
    pages = {page.stem for page in (DOCS / "measures").glob("*.md")} - {"index"}
    assert pages == set(own_measures())


def test_the_first_page_names_every_command() -> None:
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    commands = set(
        re.findall(r"^## headscope (\w+)$", (DOCS / "cli.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert commands >= {"analyze", "probe", "ablate", "explore"}  # the reference was understood
    missing = {name for name in commands if f"`headscope {name}`" not in page}
    assert not missing, f"docs/index.md does not name {missing}"


def test_the_first_page_says_which_runs_cannot_be_resumed() -> None:
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = page.split("## What is not there yet")[1].split(" run in one process")[0]
    _, *sections = re.split(
        r"^#{2,3} headscope ", (DOCS / "cli.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    running = [section for section in sections if "--batch-size" in section]
    assert sum("--checkpoint" in section for section in running) > 8
    others = [section.splitlines()[0] for section in running if "--checkpoint" not in section]
    others = ["reproduce" if name.startswith("reproduce ") else name for name in others]
    assert re.findall("`(.+?)`", listed) == list(dict.fromkeys(others))


@pytest.mark.parametrize("path", [ROOT / "README.md", DOCS / "measures" / "index.md"], ids=shown)
def test_tables_of_measures_are_complete(path: Path) -> None:
    for name in own_measures():
        assert f"{name}.md)" in path.read_text(encoding="utf-8")


def test_every_probe_has_a_page_and_every_page_a_probe() -> None:
    probes = {name for name in PROBES.names() if PROBES.get(name).__module__.startswith("headscope.")}
    pages = {page.stem for page in (DOCS / "probes").glob("*.md")} - {"index"}
    assert pages == probes | {"parser"}  # which comes with headscope-papers
    index = (DOCS / "probes" / "index.md").read_text(encoding="utf-8")
    assert all(f"]({name}.md)" in index for name in probes)


@pytest.mark.parametrize("name", [*hs.__all__])
def test_every_public_name_is_explained(name: str) -> None:
    guide = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "guide").glob("*.md"))
    assert re.search(rf"\bhs\.{name}\b", guide)


def test_every_figure_is_explained() -> None:
    page = (DOCS / "guide" / "figures.md").read_text(encoding="utf-8")
    for name in hs.figures.__all__:
        assert f"`{name}(" in page


def nav_pages(entries: list[object]) -> Iterator[str]:
    for entry in entries:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(value, list):
            yield from nav_pages(value)
        else:
            yield str(value)


def test_every_page_is_in_the_navigation_once() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(nav_pages(settings["nav"])) == [page.relative_to(DOCS).as_posix() for page in PAGES]


def test_every_decision_is_in_the_list_of_decisions() -> None:
    listed = (DOCS / "design" / "index.md").read_text(encoding="utf-8")
    for page in (DOCS / "design").glob("0*.md"):
        assert f"({page.name})" in listed


@pytest.mark.parametrize("path", [*PAGES, *OTHERS], ids=shown)
def test_links_resolve(path: Path) -> None:
    for link in LINK.findall(prose(path)):
        if link.startswith(("https://", "http://")):
            continue
        target, _, anchor = link.partition("#")
        page = path.parent / target if target else path
        assert page.exists(), f"{shown(path)} links to {link}, which is not there"
        if anchor:
            assert anchor in anchors(page), f"{shown(path)} links to {link}, which has no such heading"


def test_make_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in [*PAGES, *OTHERS]:
        for target in re.findall(r"(?:^|`)make ([\w-]+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found = re.search(rf"^{target}:", makefile, re.MULTILINE)
            assert found, f"{shown(path)} names `make {target}`, which the Makefile does not have"


def test_readme_has_its_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {"demo", "test"} <= set(re.findall(r"^make (\w+)", text, re.MULTILINE))


@pytest.mark.parametrize("path", [*PAGES, *OTHERS], ids=shown)
def test_commands_and_options_exist(path: Path) -> None:
    reference = (DOCS / "cli.md").read_text(encoding="utf-8")
    blocks = "".join(code for _, _, code in FENCE.findall(path.read_text(encoding="utf-8")))
    declared = re.findall(r'\."headscope\.commands"\]\n(\w+) = ', blocks)
    for command, rest in re.findall(r"^headscope (\w+)(.*)$", blocks, re.MULTILINE):
        if command in declared:  # a command that the page itself makes up
            continue
        assert f"headscope {command}" in reference
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in reference, f"{shown(path)} uses {option}, which docs/cli.md does not have"


@pytest.mark.parametrize("path", [*PAGES, *OTHERS], ids=shown)
def test_python_blocks_are_python(path: Path) -> None:
    for code in code_blocks(path, "python"):
        ast.parse(code)


@pytest.mark.parametrize("path", [*PAGES, *OTHERS], ids=shown)
def test_no_machine_paths(path: Path) -> None:
    assert not re.search(r"(?<!\w)/(?:home|work|tmp|root|Users)/", path.read_text(encoding="utf-8"))


AVOIDED = re.compile(r"\b(told|tells|habits?|asking (?:word|token)|in force)\b", re.IGNORECASE)
"""What the glossary has other words for: recognised or named, separates, pattern, query, edited."""


@pytest.mark.parametrize("path", [page for page in PAGES if page.parent.name != "design"], ids=shown)
def test_pages_use_the_words_of_the_glossary(path: Path) -> None:
    if path.name in ("cli.md", "cli-json.md", "api.md", "results-papers.md"):
        pytest.skip("written from the code")
    words = [found[0] for found in AVOIDED.finditer(prose(path))]
    assert not words, f"{shown(path)} says {words}"


def test_the_glossary_is_in_order_and_has_each_word_once() -> None:
    words = re.findall(r'^\*\*"?([^*"]+)', (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    lower = [word.lower() for word in words]
    assert lower == sorted(set(lower))


def test_every_picture_is_shown_made_by_the_tool_and_small() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in [*PAGES, ROOT / "README.md"])
    tool = (ROOT / "tools" / "screenshots.py").read_text(encoding="utf-8")
    for picture in (DOCS / "images").iterdir():
        assert f"images/{picture.name})" in pages, f"no page shows {picture.name}"
        assert picture.stat().st_size < 200_000
        if picture.suffix == ".png":
            assert f'"{picture.stem}": Picture(' in tool, f"tools/screenshots.py does not make {picture.name}"
