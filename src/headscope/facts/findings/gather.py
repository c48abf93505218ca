"""What an atlas shows, in plain words."""

from collections.abc import Callable, Iterator

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.findings.ablation import ablation
from headscope.facts.findings.compare import changes
from headscope.facts.findings.explanation import explanation
from headscope.facts.findings.finding import Finding
from headscope.facts.findings.importance import importance
from headscope.facts.findings.kinds import kinds, patterns
from headscope.facts.findings.know import knowledge, usage
from headscope.facts.findings.measures import breadth, distances, likeness, named_patterns, neighbours, roles
from headscope.facts.findings.moved import taking
from headscope.facts.subject import Subject
from headscope.remembered import once
from headscope.types import numbering


def _numbered(subject: Subject) -> Iterator[Finding]:
    """Which layers of the network the layers of the atlas are, where only some of them attend."""
    if numbers := subject.atlas.module_layers(subject.stack):
        yield Finding("Layers", subject.stack, (numbering(subject.stack, numbers),), float(len(numbers)))


_LOOKS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    neighbours,
    roles,
    taking,
    breadth,
    distances,
    kinds,
    patterns,
    likeness,
    named_patterns,
    knowledge,
    usage,
    changes,
    ablation,
    importance,
    explanation,
    _numbered,
)


def findings(atlas: Atlas, *, stack: str | None = None) -> list[Finding]:
    """Short findings, each with its number, how sure it is, what it is held against and the heads it is about.

    For one stack, or for all in the order of the forward pass. What the atlas lacks is left out.
    """
    try:
        return [
            finding
            for name in (atlas.stacks if stack is None else [stack])
            for finding in _of_stack(atlas, name)
        ]
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        if atlas.opened is None:
            raise
        raise AtlasError(
            f"{atlas.opened.path} holds arrays that are not laid out as those of an atlas ({type(error).__name__}: "
            f"{error}); make it again with: headscope analyze"
        ) from error


@once
def _of_stack(atlas: Atlas, stack: str) -> tuple[Finding, ...]:
    """The findings of one stack; a page asks for them more than once."""
    subject = Subject(atlas, stack)
    return tuple(finding for look in _LOOKS for finding in look(subject))
