"""The `headscope` command: puts the commands together."""

from typing import Annotated

import typer

import headscope as hs
from headscope.cli import usage
from headscope.cli.commands import analyze, demo
from headscope.cli.commands.effects import ablate, importance, uses
from headscope.cli.commands.heads import (
    explain,
    find,
    known,
    map,  # the command's name
    patterns,
    redundancy,
    types,
    writes,
)
from headscope.cli.commands.look import card, explore, head, report, show, view
from headscope.cli.commands.probe import probe
from headscope.cli.commands.two_models import compare, match
from headscope.cli.failures import HeadscopeGroup
from headscope.cli.threads import be_modest

app = typer.Typer(
    name="headscope",
    cls=HeadscopeGroup,
    rich_markup_mode=None,  # plain help: it reads the same on a terminal, in a pipe and in the docs
    context_settings=usage.SETTINGS,
    epilog="Start with: headscope report",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headscope {hs.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def headscope(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """What do the attention heads of a transformer do? Text in, an atlas of every head out."""
    usage.show_help(context)


usage.add(app, analyze)
app.add_typer(probe)
usage.add(app, types)
for command in (patterns, known, writes, find, uses, ablate, importance, explain, compare, match, redundancy):
    usage.add(app, command)
usage.add(app, map, function="map_heads")
for command in (explore, show, card, head, view, report, demo):
    usage.add(app, command)


def run() -> None:
    """Entry point of the installed `headscope` command."""
    be_modest()
    app(prog_name="headscope")
