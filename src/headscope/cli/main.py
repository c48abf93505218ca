"""The `headscope` command: puts the commands together."""

from typing import Annotated

import typer

import headscope as hs
from headscope.cli import ablate, analyze, compare, importance, patterns, redundancy, report, show, types
from headscope.cli import explain as explain_command
from headscope.cli import explore as explore_command
from headscope.cli import map as map_command
from headscope.cli import view as view_command
from headscope.cli.failures import HeadscopeGroup
from headscope.cli.probe.commands import probe
from headscope.cli.reproduce.commands import reproduce
from headscope.cli.usage import PlainUsageCommand

app = typer.Typer(
    name="headscope",
    cls=HeadscopeGroup,
    rich_markup_mode=None,  # plain help: it reads the same on a terminal, in a pipe and in the docs
    context_settings={"help_option_names": ["-h", "--help"]},
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
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("analyze", cls=analyze.AnalyzeCommand, epilog=analyze.EXAMPLE)(analyze.analyze)
app.add_typer(probe, name="probe")
app.command("types", cls=PlainUsageCommand, epilog=types.EXAMPLE)(types.types)
app.add_typer(reproduce, name="reproduce")
app.command("patterns", cls=patterns.PatternsCommand, epilog=patterns.EXAMPLE)(patterns.patterns)
app.command("ablate", cls=ablate.AblateCommand, epilog=ablate.EXAMPLE)(ablate.ablate)
app.command("importance", cls=importance.ImportanceCommand, epilog=importance.EXAMPLE)(importance.importance)
app.command("explain", cls=explain_command.ExplainCommand, epilog=explain_command.EXAMPLE)(
    explain_command.explain
)
app.command("compare", cls=compare.CompareCommand, epilog=compare.EXAMPLE)(compare.compare)
app.command("redundancy", cls=PlainUsageCommand, epilog=redundancy.EXAMPLE)(redundancy.redundancy)
app.command("map", cls=PlainUsageCommand, epilog=map_command.EXAMPLE)(map_command.map_heads)
app.command("explore", cls=explore_command.ExploreCommand, epilog=explore_command.EXAMPLE)(
    explore_command.explore
)
app.command("show", cls=PlainUsageCommand, epilog=show.EXAMPLE)(show.show)
app.command("view", cls=PlainUsageCommand, epilog=view_command.EXAMPLE)(view_command.view)
app.command("report", cls=PlainUsageCommand, epilog=report.EXAMPLE)(report.report)


def run() -> None:
    """Entry point of the installed `headscope` command."""
    app(prog_name="headscope")
