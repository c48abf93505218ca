"""What an atlas shows, in plain words."""

from collections.abc import Callable, Iterator

from headscope.atlas import Atlas
from headscope.report.ablation import ablation
from headscope.report.compare import compared
from headscope.report.explanation import explanation
from headscope.report.finding import Finding, Subject
from headscope.report.importance import importance
from headscope.report.kinds import kinds
from headscope.report.know import coreference, syntax
from headscope.report.know import roles as semantic_roles
from headscope.report.patterns import patterns
from headscope.report.spread import breadth, likeness
from headscope.report.where import distances, habits, neighbours, roles

_LOOKS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    neighbours,
    roles,
    breadth,
    distances,
    kinds,
    patterns,
    likeness,
    habits,
    syntax,
    coreference,
    semantic_roles,
    compared,
    ablation,
    importance,
    explanation,
)


def findings(atlas: Atlas, *, stack: str | None = None) -> list[Finding]:
    """Short findings, each with its number, its standard error and the heads it is about.

    For one stack, or for all in the order of the forward pass. What the atlas lacks is left out.
    """
    stacks = atlas.stacks if stack is None else [stack]
    subjects = [Subject(atlas, name) for name in stacks]
    return [finding for subject in subjects for look in _LOOKS for finding in look(subject)]
