"""Findings on whether the model uses what heads find."""

from collections.abc import Iterator

from headscope.facts.analyses.uses import FINDS_AND_USES, NOT_SHOWN, uses_of
from headscope.facts.findings.finding import Finding
from headscope.facts.scores import Score
from headscope.facts.subject import Subject
from headscope.types import HeadId


def usage(subject: Subject) -> Iterator[Finding]:
    """A finding for every head that finds its relation and of which something could be shown."""
    for use in uses_of(subject.atlas, subject.stack):
        if use.verdict == NOT_SHOWN:
            continue
        yield Finding(
            "Use",
            subject.stack,
            use.parts,
            use.difference,
            heads=(HeadId.parse(use.head),),
            units="nats",
            interval=(use.low, use.high),
            control=Score("another edge as far and as strong", use.control, unit="nats"),
            verdict="above" if use.verdict == FINDS_AND_USES else "unclear",
        )
