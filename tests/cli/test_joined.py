"""Commands of other installed packages: in help without loading them, loaded when called, and named where they lack."""

import json
from importlib.metadata import EntryPoint

import pytest
import typer
from tests.cli.conftest import Run
from typer.core import TyperGroup
from typer.main import get_command

from headscope.cli.failures import command_of
from headscope.cli.joined import PAPERS
from headscope.cli.main import app

GREET = typer.Typer(add_completion=False)
ZOO = typer.Typer(add_completion=False)


@GREET.command()
def greet(name: str) -> None:
    """Greet somebody."""
    typer.echo(f"hello {name}")


@ZOO.command()
def lion() -> None:
    """Roar."""
    typer.echo("roar")


@ZOO.command()
def mouse() -> None:
    """Squeak."""
    typer.echo("squeak")


def install(patch: pytest.MonkeyPatch, **points: str) -> None:
    """As if a package with these commands were installed, and no other one; `__` stands for the dot."""
    found = [
        EntryPoint(name.replace("__", "."), value, "headscope.commands") for name, value in points.items()
    ]
    patch.setattr(
        "headscope.cli.joined.entry_points", lambda group: found if group == "headscope.commands" else []
    )


def test_a_command_and_a_group_of_another_package_are_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    here = "tests.cli.test_joined"
    install(monkeypatch, greet=f"{here}:GREET", probe__zoo=f"{here}:ZOO")
    assert run("greet", "Ann").stdout == "hello Ann\n"
    assert run("probe", "zoo", "lion").stdout == "roar\n"
    assert "Usage: headscope greet " in run("greet", "--help").stdout
    assert "Usage: headscope probe zoo mouse " in run("probe", "zoo", "mouse", "--help").stdout


def test_help_names_them_without_loading_them(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, greet="no_such_package:app", probe__zoo="no_such_package:app")
    program, probes = run("--help").stdout, run("probe", "--help").stdout
    assert "\n  greet " in program
    assert "\n  zoo " not in program
    assert "\n  zoo " in probes
    assert "\n  greet " not in probes
    assert probes.index("\n  zoo ") < probes.index("\n  examples ")


def test_a_broken_package_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, greet="no_such_package:app")
    for _ in range(2):
        done = run("greet", "Ann", "--json")
        told = json.loads(done.stdout)
        assert (done.exit_code, told["command"]) == (2, "greet")
        assert "no_such_package:app, cannot be loaded (ModuleNotFoundError" in told["error"]


@pytest.mark.parametrize(
    "words", [("reproduce",), ("reproduce", "guan2020", "demo"), ("probe", "parser", "demo")]
)
def test_what_headscope_papers_has_is_named_where_it_is_not_installed(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    install(monkeypatch)
    done = run(*words)
    assert done.exit_code == 2
    assert done.stderr.strip().endswith("pip install headscope-papers")
    assert len(done.stderr.strip().splitlines()) == 1
    for name in PAPERS:
        assert f"\n  {name.rpartition('.')[2]} " not in run("--help").stdout + run("probe", "--help").stdout


def test_headscope_s_own_commands_are_not_replaced(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, show="no_such_package:app", probe__dependency="no_such_package:app")
    assert "Usage: headscope show ATLAS" in run("show", "--help").stdout
    assert run("--help").stdout.count("\n  show ") == 1
    assert run("probe", "--help").stdout.count("\n  dependency ") == 1


def test_a_slip_of_the_pen_is_answered_with_their_names(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, greet="no_such_package:app")
    assert "Did you mean 'greet'" in run("gret").stderr


def test_the_whole_name_of_a_joined_command_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, probe__zoo="tests.cli.test_joined:ZOO")
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    assert command_of(group, ["probe", "zoo", "mouse", "--loud"]) == "probe zoo mouse"
