"""The examples run as they are, on the demo model."""

import re
import runpy
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.programs import start

import headscope as hs

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A script as Python runs it, and what it prints; in this process, which has loaded torch already."""

    def called(script: Path, *arguments: str) -> str:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [str(script), *arguments])
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # a script's warnings are no errors
            runpy.run_path(str(script), run_name="__main__")
        return capsys.readouterr().out

    return called


@pytest.fixture
def few_words(tmp_path: Path) -> Path:
    """A short text, so that an example that takes one is quick."""
    path = tmp_path / "few.txt"
    articles = hs.sample_path("articles").read_text(encoding="utf-8")
    path.write_text("\n\n".join(articles.split("\n\n")[:2]) + "\n", encoding="utf-8")
    return path


def test_analyze_text(run: Run, tmp_path: Path, few_words: Path) -> None:
    printed = run(EXAMPLES / "analyze_text.py", str(few_words), "few.nc")
    assert "previous token: head 2.6" in printed
    assert "next token: head 2.5" in printed
    assert hs.open(tmp_path / "few.nc").provenance["corpus"] == "few.txt"


def test_compare_layers(run: Run, tmp_path: Path) -> None:
    printed = run(EXAMPLES / "compare_layers.py", "demo", str(tmp_path))
    for line in printed.splitlines():
        assert Path(line).read_text(encoding="utf-8").startswith("<?xml")
    assert (tmp_path / "demo-heads.svg").exists()


def test_own_measure(tmp_path: Path) -> None:
    """In a process of its own: other tests must not meet what it adds to headscope."""
    program = start((EXAMPLES / "own_measure.py").read_text(encoding="utf-8"), folder=tmp_path)
    assert program.ended() == 0, program.err
    assert "the sharpest head is 2.5" in program.out


def test_python_guide(run: Run, tmp_path: Path) -> None:
    """The blocks of `Python by example`, one after another, as a reader would type them."""
    page = (ROOT / "docs" / "guide" / "python.md").read_text(encoding="utf-8")
    script = tmp_path / "guide.py"
    script.write_text("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), encoding="utf-8")
    printed = run(script)
    assert printed.startswith("2.6: 0.98")
    assert "is not a demo model" in printed
    assert (tmp_path / "roles.csv").exists()


def test_readme_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    # Fewer texts and no head distances: the example's point is that it works, not how long it takes.
    quick = code.replace("limit=64", 'limit=8, measures=["offset_attention"]')
    assert quick != code
    exec(quick, {})
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["0", "2.6"]
    assert (tmp_path / "first.nc").exists()
