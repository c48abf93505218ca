"""`headscope probe`: what heads know of syntax, coreference, roles and linguistic features."""

from headscope.cli import usage
from headscope.cli.commands.probe import coreference, dependency, examples, features, parser, relations

probe = usage.group(
    "probe",
    "Ask what heads know: syntax, coreference, semantic roles, linguistic features.",
    start="headscope probe dependency demo --treebank FILE.conllu",
)
for command in (dependency, coreference, relations, features, parser, examples):
    usage.add(probe, command)
