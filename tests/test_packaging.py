"""What is said of the release in several places is the same everywhere."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def project(folder: str = ".") -> dict[str, Any]:
    return dict(tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"])


def test_the_version_is_the_same_everywhere() -> None:
    version = project()["version"]
    said = {
        "models": project("models")["version"],
        "papers": project("papers")["version"],
        "CITATION.cff": _found("CITATION.cff", r"^version: (\S+)$"),
        "README.md": _found("README.md", r"^Version (\S+), alpha\."),
        "CHANGELOG.md": _found("CHANGELOG.md", r"^## \[(.*?)\]"),
    }
    assert said == dict.fromkeys(said, version)
    (models,) = project()["optional-dependencies"]["demo"]
    assert models == f"headscope-models>={version.rpartition('.')[0]}"
    assert project("papers")["dependencies"] == [f"headscope=={version}"]


def test_every_extra_is_documented() -> None:
    extras = set(project()["optional-dependencies"]) - {"dev"}
    pages = "\n".join(
        path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    )
    named = {name for names in re.findall(r"headscope\[([\w,]+)\]", pages) for name in names.split(",")}
    assert extras - named == set()


def test_nothing_that_imports_headscope_needs_an_extra() -> None:
    needed = {re.split(r"[>=<\[]", requirement)[0] for requirement in project()["dependencies"]}
    optional = {
        re.split(r"[>=<\[]", requirement)[0]
        for extra, requirements in project()["optional-dependencies"].items()
        if extra != "dev"
        for requirement in requirements
    }
    assert needed.isdisjoint(optional)


def _found(name: str, pattern: str) -> str:
    match = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert match is not None, f"{name} does not say it"
    return match[1]
