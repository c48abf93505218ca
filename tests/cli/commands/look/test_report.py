import json
from pathlib import Path

import pytest
from tests.cli.conftest import CORPUS, Run

import headscope as hs


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[hs.Atlas]:
    """The atlases a page was asked for; the page itself has its own tests."""
    asked: list[hs.Atlas] = []

    def write(atlas: hs.Atlas, path: Path, *, atlas_file: Path | str) -> Path:
        assert Path(atlas_file).suffix == ".nc"
        asked.append(atlas)
        path.write_text("<html></html>", encoding="utf-8")
        return path

    monkeypatch.setattr(hs, "write_report", write, raising=False)
    return asked


def test_writes_a_page_about_the_atlas(
    run: Run, atlas_path: Path, tmp_path: Path, pages: list[hs.Atlas]
) -> None:
    out = tmp_path / "page.html"
    result = run("report", atlas_path, "-o", out)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{out}: report on tiny-bert; open it in a browser\n"
    assert [atlas.provenance["model"] for atlas in pages] == ["tiny-bert"]
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_the_page_is_called_report_html(
    run: Run, atlas_path: Path, tmp_path: Path, pages: list[hs.Atlas], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("report", atlas_path, "--quiet").output == ""
    assert (tmp_path / "report.html").is_file()


def test_without_an_atlas_it_is_about_the_demo(
    run: Run, tmp_path: Path, pages: list[hs.Atlas], monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = tmp_path / "sample.txt"
    sample.write_text(CORPUS, encoding="utf-8")
    monkeypatch.setattr(hs, "sample_path", lambda name: sample if name == "articles" else pytest.fail(name))
    atlas = tmp_path / "demo.nc"
    result = run("report", "-o", tmp_path / "page.html", "--save-atlas", atlas, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    assert (told["output"], told["model"]) == (str(tmp_path / "page.html"), "demo")
    assert pages[0].provenance["corpus"] == "sample.txt"
    assert pages[0].measures == hs.open(atlas).measures
    assert set(hs.MEASURES.names()) <= set(pages[0].measures)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("ATLAS", "-o", "ATLAS"), "is one of the inputs"),
        (("ATLAS", "--save-atlas", "new.nc"), "leave it out"),
        (("-o", "same.nc", "--save-atlas", "./same.nc"), "give them different names"),
        (("ATLAS", "-o", "missing/page.html"), "there is no folder missing; make it with: mkdir -p missing"),
        (("--save-atlas", "missing/a.nc"), "there is no folder missing"),
        (("ATLAS", "-o", "."), "is a folder"),
        (("nothing.nc",), "nothing.nc cannot be opened"),
    ],
)
def test_a_bad_argument_is_one_line_and_exit_code_2(
    *,
    run: Run,
    atlas_path: Path,
    tmp_path: Path,
    pages: list[hs.Atlas],
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("report", *(atlas_path if arg == "ATLAS" else arg for arg in args))
    assert result.exit_code == 2
    assert result.stderr.startswith("headscope: error: ")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
    assert not pages
    assert list(tmp_path.iterdir()) == []
