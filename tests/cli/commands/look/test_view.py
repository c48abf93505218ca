import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.helpers.tiny import saved, tiny

import headscope as hs


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command runs."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text can be read: what is refused is refused before that."""
    monkeypatch.setattr("headscope.pages.looking.observe_as", lambda *_, **__: pytest.fail("a text was read"))


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


def test_without_a_head_it_opens_on_all_of_them(run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.html"
    assert json.loads(run("view", model, "The cat sat.", "-o", out, "--json").stdout)["start"] == "view=model"
    lines = json.loads(run("view", model, "The cat sat.", "-o", out, "--view", "head", "--json").stdout)[
        "start"
    ]
    assert re.fullmatch(
        r"view=head&layer=\d&heads=\d", lines
    )  # one head's, not those of all heads of a layer


@pytest.mark.parametrize("option", [["--view", "neuron"], ["--neurons"]])
def test_neurons_of_a_model_that_hides_them_are_refused(
    run: Run, empty_folder: Path, tmp_path: Path, option: list[str]
) -> None:
    saved(tiny("xlnet"), tmp_path / "xlnet")
    result = run("view", tmp_path / "xlnet", "The cat sat.", *option)
    assert result.exit_code == 2
    assert "does not let its queries and keys be read" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_atlas_labels_the_heads(run: Run, model: Path, atlas_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.html"
    result = run("view", model, "The cat sat.", "-o", out, "--atlas", atlas_path, "--no-neurons")
    assert (result.exit_code, result.stderr) == (0, "")
    data = re.search(r'id="headscope-data"[^>]*>(.*?)</script>', out.read_text(encoding="utf-8"), re.S)
    assert data is not None
    cards = json.loads(data[1])["seen"]["cards"]["encoder"]
    atlas = hs.open(atlas_path)
    assert cards == [hs.card(atlas, f"{layer}.{head}").text for layer in range(3) for head in range(4)]


def test_an_atlas_of_another_model_is_refused(
    run: Run, model: Path, stacks_path: Path, empty_folder: Path
) -> None:
    result = run("view", model, "The cat sat.", "--atlas", stacks_path)
    assert result.exit_code == 2
    assert "whose weights differ" in result.stderr


def test_a_second_text_or_model_beside(run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.html"
    told = run("view", model, "The cat sat.", "-o", out, "--beside-text", "A dog saw it.", "--json").stdout
    assert json.loads(told)["beside"]["model"] == model.name
    assert 'data-chunk="beside/maps/encoder/2"' in out.read_text(encoding="utf-8")
    saved(tiny("gpt2"), tmp_path / "gpt2")
    told = run("view", model, "The cat sat.", "-o", out, "--beside", tmp_path / "gpt2", "--json").stdout
    assert json.loads(told)["beside"]["model"] == "gpt2"
    assert 'data-chunk="beside/maps/decoder/' in out.read_text(encoding="utf-8")
    assert json.loads(run("view", model, "The cat sat.", "-o", out, "--json").stdout)["beside"] is None


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
        (["--layer", 9], "no layer 9; it has 0 to 2"),
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
        (["-o", "v.pdf"], "a view is a page, FILE.html; pictures are drawn with --svg"),
        (["--view", "neuron", "--no-neurons"], "drop one of the two"),
        (["--atlas", "missing.nc"], "missing.nc"),
        (["--beside-text", " "], "--beside-text is empty"),
        (["--beside", "nowhere"], "nowhere"),
    ],
)
@pytest.mark.usefixtures("unread")
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
