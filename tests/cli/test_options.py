"""Options that a command's docstring describes: as they are typed, as help shows them, with their bounds."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from headscope.cli import options as shared
from headscope.cli import usage

SEEN: dict[str, object] = {}


@shared.with_common(without=shared.LOADING)
def taste(
    thing: Path | None = None,
    *,
    top: int | None = None,
    is_dry: bool = False,
    cooled: bool = True,
    common: shared.Common,
) -> None:
    """Taste a thing.

    Slowly.

    Options:
        thing THING: What is tasted. Without it: nothing.
        top N>=1<=9: Only the N best; of
            all of them.
        is_dry: Without water.
        cooled: From the fridge.
    """
    SEEN.update(thing=thing, top=top, is_dry=is_dry, cooled=cooled, json=common.json)


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None)
    app.command("taste", cls=usage.Command)(taste)
    return app


def test_they_are_parsed(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["wine", "--top", "3", "--is-dry", "--no-cooled", "--json"])
    assert result.exit_code == 0, result.output
    assert {"thing": Path("wine"), "top": 3, "is_dry": True, "cooled": False, "json": True} == SEEN


def test_bounds_hold_and_a_flag_that_is_off_cannot_be_put_off(app: typer.Typer) -> None:
    for wrong in (["--top", "0"], ["--top", "10"], ["--no-is-dry"]):
        assert CliRunner().invoke(app, wrong).exit_code == 2


def test_help_has_the_text_and_not_the_list(app: typer.Typer) -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    words = " ".join(text.split())
    assert "Taste a thing. Slowly." in words
    assert "--top N Only the N best; of all of them. [1<=x<=9]" in words
    assert "What is tasted. Without it: nothing." in words
    assert "N>=1" not in text
