"""A run ends well where no distribution is installed: versions are looked up first, and a lookup cannot fail."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers.tiny import saved, tiny

import headscope as hs
from headscope import versions
from headscope.passes.provenance import PACKAGES
from headscope.versions import version_of

WITHOUT_METADATA = """
import importlib.metadata as metadata, sys
find = metadata.Distribution.from_name.__func__

def found(cls, name):
    if name.partition("-")[0].partition("_")[0] == "headscope":
        raise metadata.PackageNotFoundError(name)
    return find(cls, name)

metadata.Distribution.from_name = classmethod(found)
from headscope.cli.main import run
run()
"""
"""The command, as from a source tree on Python's path where headscope is not installed."""


@pytest.fixture
def nothing_cached() -> Iterator[None]:
    version_of.cache_clear()
    yield
    version_of.cache_clear()


def test_a_run_from_a_source_tree_ends_well(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("The cat sat on it. A dog saw it.")
    model, out = saved(tiny("bert"), tmp_path / "model"), tmp_path / "a.nc"
    words = ("analyze", model, "--text", tmp_path / "some.txt", "-o", out, "--max-length", 32)
    command = [sys.executable, "-c", WITHOUT_METADATA, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    known = hs.open(out).provenance["versions"]
    assert set(known) == {"python", *PACKAGES}
    assert known["headscope"].endswith("+source")
    report = [sys.executable, "-c", WITHOUT_METADATA, "report", str(out), "-o", str(tmp_path / "a.html")]
    done = subprocess.run(report, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_versions_are_those_of_the_start(nothing_cached: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "version", lambda name: "99.0")  # as after an update while a run is at work
    atlas = hs.analyze(tiny("bert"), ["the cat sat."], measures=["entropy"], max_length=32)
    assert "99.0" not in atlas.provenance["versions"].values()


def test_what_has_no_metadata_says_what_its_module_says(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(sys)("a_module_without_metadata")
    assert version_of("there_is_no_such_package") == "unknown"
    monkeypatch.setattr(module, "__version__", "1.2", raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert version_of(module.__name__) == "1.2"


@pytest.mark.parametrize(
    ("project", "expected"),
    [
        ('[project]\nname = "headscope"\nversion = "9.8"\n', "9.8+source"),
        ('[project]\nname = "another"\nversion = "3"\n', "unknown"),
        ("[project]\n", "unknown"),
        ("not [toml", "unknown"),
        (None, "unknown"),
    ],
)
def test_the_version_of_a_source_tree_is_that_of_its_project(
    project: str | None,
    expected: str,
    nothing_cached: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(name: str) -> str:
        raise versions.PackageNotFoundError(name)

    monkeypatch.setattr(versions, "version", absent)
    monkeypatch.setattr(versions, "__file__", str(tmp_path / "src" / "headscope" / "versions.py"))
    if project is not None:
        (tmp_path / "pyproject.toml").write_text(project)
    assert version_of("headscope") == expected
