"""`headscope probe`: what heads know, asked by the probes of headscope and of other installed packages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from headscope.cli import options as shared
from headscope.cli import usage
from headscope.cli.commands.probe import commands, examples
from headscope.cli.joined import JoinedGroup
from headscope.cli.results import tell
from headscope.cli.session import session
from headscope.registry import known_names


def registered(name: str) -> Callable[..., Any]:
    """`headscope probe NAME` for a probe of another package: of its name alone, so that help does not load that."""

    def command(
        model: shared.ModelName,
        *,
        data: list[Path],
        select: list[Path] | None = None,
        limit: shared.Limit = None,
        output: shared.Output = None,
        common: shared.Common,
    ) -> None:
        from headscope.facts.description import PROBES  # loads the package, which --help does without

        with session(common, output, inputs=[*data, *(select or [])]) as run:
            kind: Any = PROBES.get(name)
            probe = kind(run.load(model), limit=limit, **common.probe_options)
            tell(run, commands.scored(probe, lambda paths: kind.read(*paths), data, select))

    command.__doc__ = f"""Run the probe {name} of another installed package.

    Options:
        data FILE...: Score heads on these.
        select FILE...: Choose the best heads on these; by default on half of --data.
    """
    return shared.with_common(command)


class ProbeGroup(JoinedGroup):
    """The probes; those of other installed packages are looked for when a probe is named or probes are listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every probe's name, `examples` last."""
        names = [name for name in super().list_commands(ctx) if name != "examples"]
        return [*names, *(name for name in known_names("probe") if name not in names), "examples"]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a probe."""
        command = super().get_command(ctx, cmd_name)
        if command is None and cmd_name in known_names("probe"):
            example = f"headscope probe {cmd_name} demo --data FILE -o atlas.nc"
            return typer.main.get_command(usage.single(cmd_name, registered(cmd_name), example))
        return command


probe = usage.group(
    "probe",
    "Test what heads know: syntax, coreference, semantic roles, linguistic features.",
    start="headscope probe dependency demo --treebank FILE.conllu",
    kind=ProbeGroup,
)
for name in ("dependency", "coreference", "relations", "features"):
    usage.add(probe, commands, name)
usage.add(probe, examples)
