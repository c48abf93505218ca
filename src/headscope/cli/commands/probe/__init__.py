"""`headscope probe`: what heads know, asked by the probes of headscope and of other installed packages."""

from headscope.cli import usage
from headscope.cli.commands.probe import commands, examples
from headscope.cli.commands.probe.registered import registered
from headscope.registry import known_names

probe = usage.group(
    "probe",
    "Ask what heads know: syntax, coreference, semantic roles, linguistic features.",
    start="headscope probe dependency demo --treebank FILE.conllu",
)
for name in known_names("probe"):
    command = getattr(commands, name) if name in commands.EXAMPLES else registered(name)
    example = commands.EXAMPLES.get(name, f"headscope probe {name} demo --data FILE -o atlas.nc")
    probe.command(name, cls=usage.Command, epilog=f"Example: {example}")(command)
usage.add(probe, examples)
