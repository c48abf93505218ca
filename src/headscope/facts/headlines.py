"""What a page begins with: the few findings that say most, and the number that tells heads apart best."""

from collections.abc import Iterable
from itertools import islice, product

import numpy as np

from headscope.atlas import Atlas
from headscope.facts.findings import Finding
from headscope.facts.head_arrays import stack_arrays
from headscope.facts.slices import HeadValues, head_values

MOST = 3
_QUESTIONS = (
    ("Syntax", "Coreference", "Roles", "Known kinds"),
    ("Change", "Ablation", "Importance"),
    ("Named patterns", "Special tokens and punctuation", "Neighbours", "Distance"),
)
"""What heads know, what the model needs or what changed, where heads look: topics of findings that answer each."""
_WHERE = ("offset_attention", "role_attention", "named_patterns")
MOST_SLICES = 24


def headlines(findings: Iterable[Finding]) -> list[Finding]:
    """Up to three findings that are clear of what they are held against: first the best answer to each question.

    The best is what few heads do, far above its control. What was not tested, or is not clearly above its control,
    never leads.
    """
    clear = [finding for finding in findings if _margin(finding) > 0]
    ranked = sorted(clear, key=lambda finding: _margin(finding) * finding.rarity, reverse=True)
    chosen: list[Finding] = []
    for topics in _QUESTIONS:
        answers = [finding for finding in ranked if finding.topic in topics]
        chosen += sorted(answers, key=lambda finding: _repeats(finding, chosen))[:1]
    for finding in ranked:  # then other heads
        if len(chosen) < MOST and finding not in chosen and not _repeats(finding, chosen):
            chosen.append(finding)
    return chosen[:MOST]


def _repeats(finding: Finding, chosen: Iterable[Finding]) -> bool:
    """Whether it is about a head that leads already."""
    return bool(finding.heads) and finding.heads[0] in [other.heads[0] for other in chosen if other.heads]


def leading(findings: Iterable[Finding]) -> list[Finding]:
    """The headlines, then a finding on every other topic of each stack: what is clear first."""
    known = list(findings)
    first = headlines(known)
    seen = {(finding.stack, finding.topic) for finding in first}
    for finding in sorted(known, key=lambda finding: finding.verdict != "above"):
        if (finding.stack, finding.topic) not in seen:
            first.append(finding)
            seen.add((finding.stack, finding.topic))
    return first


def _margin(finding: Finding) -> float:
    """By how much the whole interval lies above all of the control's; not above 0 where that was not found."""
    if finding.interval is None or (finding.control is None and finding.verdict is None):
        return 0.0
    if finding.verdict not in (None, "above"):
        return 0.0
    control = finding.control
    level = 0.0 if control is None else control.value if control.high is None else control.high
    return finding.interval[0] - level


def most_telling(atlas: Atlas) -> HeadValues | None:
    """The share that differs most between heads, by its standard deviation over them; None where none is known.

    Of where heads look if that was measured, else of anything known head by head.
    """
    slices = [
        values for stack in atlas.stacks for measure in _WHERE for values in _slices(atlas, stack, measure)
    ]
    slices = slices or [
        values
        for stack in atlas.stacks
        for measure in atlas.stack(stack)
        for values in _slices(atlas, stack, str(measure))
    ]
    shares = [values for values in slices if values.is_share and not values.is_signed]
    return max(shares or slices, key=lambda values: float(np.nanstd(values.values)), default=None)


def _slices(atlas: Atlas, stack: str, measure: str) -> list[HeadValues]:
    """A measure's numbers by head, those of all queries, for each of its other labels."""
    array = stack_arrays(atlas, stack).get(measure)
    if measure not in atlas.measures or array is None or not {"layer", "head"} <= set(array.dims):
        return []
    if array.values.dtype.kind != "f" or not np.isfinite(array.values).any():
        return []
    dims = [dim for dim in array.dims if dim not in ("layer", "head")]
    labels = [["all"] if dim == "query_role" else array.choices(dim) for dim in dims]
    return [
        head_values(atlas, measure, select=dict(zip(dims, chosen, strict=True)), stack=stack)
        for chosen in islice(product(*labels), MOST_SLICES)
    ]
