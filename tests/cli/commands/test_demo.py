"""What `headscope demo` runs: commands that there are, one after another, up to the first that fails."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from typer.main import get_command

import headscope as hs
from headscope.cli.commands import demo
from headscope.cli.main import app


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command is typed."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def steps(monkeypatch: pytest.MonkeyPatch, *commands: str) -> None:
    monkeypatch.setattr(demo, "STEPS", commands)


def test_every_step_is_run_and_printed_as_typed(
    run: Run, there: Path, model: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyze = f"analyze {model} --text {corpus} --measures entropy --max-length 16"
    steps(monkeypatch, f"{analyze} -o ATLAS", "report ATLAS -o REPORT")
    result = run("demo")
    assert result.exit_code == 0, result.stderr
    typed = [line for line in result.stdout.splitlines() if line.startswith("headscope ")]
    assert typed == [
        f"headscope {analyze} -o demo/demo.nc",
        "headscope report demo/demo.nc -o demo/report.html",
    ]
    assert result.stdout.endswith("(look at it with: headscope explore demo/demo.nc)\n")
    assert "entropy" in hs.open(there / "demo" / "demo.nc").measures
    assert (there / "demo" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html")


def test_with_json_there_is_one_object(run: Run, atlas_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps(monkeypatch, f"report {atlas_path} -o REPORT")
    told = json.loads(run("demo", "-o", "here", "--json").stdout)
    assert (told["output"], told["atlas"], told["report"]) == ("here", "here/demo.nc", "here/report.html")
    assert run("demo", "--quiet").stdout == ""


def test_the_first_that_fails_ends_it(run: Run, there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps(monkeypatch, "types ATLAS", "report ATLAS -o REPORT")
    result = run("demo")
    assert result.exit_code == 2
    assert "demo/demo.nc" in result.stderr
    assert "headscope report" not in result.stdout
    told = json.loads(run("demo", "--json").stdout)
    assert (told["command"], told["exit_code"]) == ("demo", 2)


def test_a_folder_is_made_but_not_its_parents(run: Run, there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps(monkeypatch)
    assert run("demo", "-o", "new").exit_code == 0
    assert (there / "new").is_dir()
    result = run("demo", "-o", "no/new")
    assert result.exit_code == 2
    assert "mkdir -p no" in result.stderr
    (there / "file").touch()
    assert "is a file" in run("demo", "-o", "file").stderr


def test_the_study_is_made_of_commands_on_the_sample_texts() -> None:
    known = set(get_command(app).commands)  # type: ignore[attr-defined]  # a group
    for command in demo.commands(Path("demo.nc"), Path("report.html")):
        assert command[0] in known
        assert not [word for word in command if word.isupper()]
        assert all(Path(word).is_file() for word in command if word.endswith((".txt", ".conllu", ".jsonl")))


def test_sample_texts_are_named_from_here_where_they_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hs.sample_path("roles").parents[1])
    assert "data/articles.txt" in demo.commands(Path("demo.nc"), Path("report.html"))[0]


def test_a_copy_of_the_project_has_the_model_itself(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def models() -> set[str]:
        return {
            words[words.index("demo" if "demo" in words else str(demo.COPY))]
            for words in demo.commands(Path("a.nc"), Path("r.html"))
            if words[0] not in ("types", "report")
        }

    (there / demo.COPY).mkdir(parents=True)
    assert models() == {"demo"}
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    assert models() == {str(demo.COPY)}
    (there / demo.COPY).rmdir()
    assert models() == {"demo"}
