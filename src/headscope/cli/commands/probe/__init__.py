"""`headscope probe`: what heads know, asked by the probes of headscope and of other installed packages."""

from typing import Any

from typer.core import TyperGroup

from headscope.cli import usage
from headscope.cli.commands.probe import commands, examples
from headscope.cli.commands.probe.registered import registered
from headscope.registry import known_names


class ProbeGroup(TyperGroup):
    """The probes; those of other installed packages are looked for when a probe is named or probes are listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every probe's name, `examples` last."""
        own = super().list_commands(ctx)
        return [*own[:-1], *(name for name in known_names("probe") if name not in own), own[-1]]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a probe."""
        if cmd_name not in self.commands and cmd_name in known_names("probe"):
            example = f"headscope probe {cmd_name} demo --data FILE -o atlas.nc"
            return usage.single(cmd_name, registered(cmd_name), example)
        return super().get_command(ctx, cmd_name)


probe = usage.group(
    "probe",
    "Test what heads know: syntax, coreference, semantic roles, linguistic features.",
    start="headscope probe dependency demo --treebank FILE.conllu",
    kind=ProbeGroup,
)
for name, example in commands.EXAMPLES.items():
    probe.command(name, cls=usage.Command, epilog=f"Example: {example}")(getattr(commands, name))
usage.add(probe, examples)
