"""The commands for each paper, put together."""

import typer
from typer.core import TyperGroup

from headscope.cli.commands.reproduce import clark2019, everything, guan2020, kovaleva2019, vig2019
from headscope.cli.usage import Command as ProbeCommand

reproduce = typer.Typer(
    name="reproduce",
    cls=TyperGroup,
    rich_markup_mode=None,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Print a paper's figures with those of your model beside them.",
    epilog="Start with: headscope reproduce guan2020 demo --text FILE",
)


@reproduce.callback(invoke_without_command=True)
def show_help(context: typer.Context) -> None:
    """Print a paper's figures with those of your model beside them."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


reproduce.command("clark2019", cls=ProbeCommand, epilog=clark2019.EXAMPLE)(clark2019.clark2019)
reproduce.command("guan2020", cls=ProbeCommand, epilog=guan2020.EXAMPLE)(guan2020.guan2020)
reproduce.command("kovaleva2019", cls=ProbeCommand, epilog=kovaleva2019.EXAMPLE)(kovaleva2019.kovaleva2019)
reproduce.command("vig2019", cls=ProbeCommand, epilog=vig2019.EXAMPLE)(vig2019.vig2019)
reproduce.command("all", cls=ProbeCommand, epilog=everything.EXAMPLE)(everything.all_papers)
