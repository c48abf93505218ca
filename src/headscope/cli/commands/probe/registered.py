"""The command of a probe from another package: built from its name alone, so that help does not load the package."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from headscope.cli import options as shared
from headscope.cli.commands.probe.run import scored, tell
from headscope.cli.session import session


def registered(name: str) -> Callable[..., Any]:
    """`headscope probe NAME` for a probe of which only the name is known."""

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
            tell(run, scored(probe, lambda paths: kind.read(*paths), data, select))

    command.__doc__ = f"""Run the probe {name} of another installed package.

    Options:
        data FILE...: Score heads on these.
        select FILE...: Choose the best heads on these; by default on half of --data.
    """
    return shared.with_common(command)
