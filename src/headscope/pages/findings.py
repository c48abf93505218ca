"""What an atlas shows, for the views: findings whose heads can be followed."""

from headscope.atlas import Atlas
from headscope.errors import HeadscopeError
from headscope.facts import findings as facts
from headscope.pages.numbers import plain
from headscope.pages.shapes import Finding, FindingPart


def shown_findings(atlas: Atlas) -> list[Finding]:
    """The findings of all stacks; none when the atlas holds what this headscope does not understand."""
    try:
        return [_shown(finding) for finding in facts.findings(atlas)]
    except (
        HeadscopeError,
        KeyError,
        TypeError,
        ValueError,
    ):  # an atlas may come from elsewhere; the rest is shown
        return []


def _shown(finding: facts.Finding) -> Finding:
    low, high = finding.interval or (None, None)
    return Finding(
        topic=finding.topic,
        stack=finding.stack,
        parts=[
            FindingPart(text=part) if isinstance(part, str) else FindingPart(text=str(part), head=str(part))
            for part in finding.parts
        ],
        heads=[str(head) for head in finding.heads],
        value=plain(finding.value),
        low=plain(low),
        high=plain(high),
        control=None if finding.control is None else plain(finding.control.value),
        control_name="" if finding.control is None else finding.control.name,
        verdict=finding.verdict,
        units=finding.units,
    )
