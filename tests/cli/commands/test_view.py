import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command runs."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_writes_one_page(run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.html"
    result = run("view", model, "The cat sat.", "A dog saw it.", "-o", out, "--layer", 1, "--head", 2)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{out}: 12 tokens, 12 heads, 0.")
    assert result.stdout.endswith("open it in a browser\n")
    content = out.read_text(encoding="utf-8")
    assert content.startswith("<!doctype html>")
    assert '"start":"view=head&layer=1&heads=2"' in content
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".html"] == ["v.html"]
    assert run("view", model, "The cat sat.", "-o", out, "-q").output == ""  # a page is replaced


@pytest.mark.parametrize(
    ("named", "start"),
    [
        (["--head", "1.2"], "view=head&layer=1&heads=2"),
        (["--head", "1.2", "--head", "1.0"], "view=head&layer=1&heads=2,0"),
        (["--head", "2.*"], "view=head&layer=2"),
        (["--head", "encoder:1.2"], "view=head&layer=1&stack=encoder&heads=2"),
        (["--layer", "1", "--head", "2", "--head", "3"], "view=head&layer=1&heads=2,3"),
    ],
)
def test_heads_are_named_as_everywhere(
    run: Run, model: Path, tmp_path: Path, named: list[str], start: str
) -> None:
    told = run("view", model, "The cat sat.", "-o", tmp_path / "v.html", "--no-neurons", "--json", *named)
    assert json.loads(told.stdout)["start"] == start


def test_json_tells_what_was_written(run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.html"
    told = json.loads(run("view", model, "the cat " * 100, "-o", out, "--json", "--no-neurons").stdout)
    assert (told["output"], told["bytes"]) == (str(out), out.stat().st_size)
    assert (told["tokens"], told["heads"], told["neurons"]) == (64, 12, "none")
    assert 0 < told["max_error"] <= 0.005
    assert "longer than 64 tokens" in told["notes"][0]


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
@pytest.mark.parametrize("view", ["head", "matrix"])
def test_a_picture_beside_it(run: Run, model: Path, tmp_path: Path, view: str, suffix: str) -> None:
    picture = tmp_path / f"p.{suffix}"
    result = run("view", model, "The cat sat.", "-o", tmp_path / "v.html", "--view", view, "--svg", picture)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"picture: {picture}" in result.stdout
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--layer", 9], "no layer 9 in its encoder; it has 0 to 2"),
        (["--head", 7], "no head 0.7"),
        (["--head", "1.2", "--head", "2.2"], "a page begins with heads of one layer"),
        (["--head", "encoder:1.2", "--stack", "decoder"], "name different stacks"),
        (["--head", "1.2", "--layer", 2], "a page begins with heads of one layer"),
        (["--head", "layers 0-1"], "a page begins with heads of one layer"),
        (["--stack", "cross"], "no stack 'cross'"),
        (["--svg", "p.bmp"], ".svg, .pdf or .png"),
        (["--svg", "p.svg", "--view", "model"], "not --view model"),
        (["--max-length", 500], "more than the 64 tokens"),
        (["-o", "missing/v.html"], "there is no folder"),
    ],
)
def test_what_cannot_be_done(
    run: Run, model: Path, empty_folder: Path, args: list[object], says: str
) -> None:
    result = run("view", model, "The cat sat.", *args)
    assert result.exit_code == 2
    assert says in result.stderr
    assert not list(empty_folder.iterdir())


def test_no_other_file_is_overwritten(run: Run, model: Path, tmp_path: Path) -> None:
    other = tmp_path / "notes.html"
    other.write_text("my notes", encoding="utf-8")
    result = run("view", model, "The cat sat.", "-o", other)
    assert (result.exit_code, other.read_text(encoding="utf-8")) == (2, "my notes")
