"""Which layers of the network the layers of an atlas are, where only some of them attend."""

from collections.abc import Iterator

from headscope.facts.findings.finding import Finding
from headscope.facts.subject import Subject
from headscope.types import numbering as in_words


def numbering(subject: Subject) -> Iterator[Finding]:
    """The numbers that the modules of a hybrid have in its network."""
    numbers = subject.atlas.module_layers(subject.stack)
    if numbers:
        yield Finding("Layers", subject.stack, (in_words(subject.stack, numbers),), float(len(numbers)))
