"""The probe commands, put together."""

import typer
from typer.core import TyperGroup

from headscope.cli.probe import coreference, dependency, examples, features, parser, relations
from headscope.cli.probe.usage import ProbeCommand

probe = typer.Typer(
    name="probe",
    cls=TyperGroup,
    rich_markup_mode=None,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Ask what heads know: syntax, coreference, semantic roles, linguistic features.",
    epilog="Start with: headscope probe dependency demo --treebank FILE.conllu",
)


@probe.callback(invoke_without_command=True)
def show_help(context: typer.Context) -> None:
    """Ask what heads know: syntax, coreference, semantic roles, linguistic features."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


probe.command("dependency", cls=ProbeCommand, epilog=dependency.EXAMPLE)(dependency.dependency)
probe.command("coreference", cls=ProbeCommand, epilog=coreference.EXAMPLE)(coreference.coreference)
probe.command("relations", cls=ProbeCommand, epilog=relations.EXAMPLE)(relations.relations)
probe.command("features", cls=ProbeCommand, epilog=features.EXAMPLE)(features.features)
probe.command("parser", cls=ProbeCommand, epilog=parser.EXAMPLE)(parser.parser)
probe.command("examples", cls=ProbeCommand, epilog=examples.EXAMPLE)(examples.examples)
