"""What one head knows of what probes asked, beside what needs no attention."""

from headscope.atlas import Atlas
from headscope.facts.description import Description, direction_name
from headscope.facts.head_arrays import HeadArrays
from headscope.facts.probes import head_scores
from headscope.facts.scores import HeadScore
from headscope.pages.numbers import plain
from headscope.pages.shapes import RelationScore
from headscope.types import HeadId

MOST = 16


def relations(atlas: Atlas, arrays: HeadArrays, head: HeadId) -> tuple[list[RelationScore], int]:
    """The rows of probes where the head is above a simple rule, furthest above first, and how many had cases enough.

    `arrays` are the stack's, taken at this head. The rule is the best one on the same cases as the head's own share.
    """
    asked = [pair for pair in head_scores(atlas, arrays, head) if not pair[1].has_few_cases]
    above = [pair for pair in asked if pair[1].best_baseline is None or pair[1].lead > 0]
    above.sort(key=lambda pair: -pair[1].lead)
    return [_relation(*pair) for pair in above[:MOST]], len(asked)


def _relation(described: Description, row: HeadScore) -> RelationScore:
    rule = row.best_baseline
    detail = f" ({rule.detail})" if rule is not None and rule.detail else ""
    return RelationScore(
        relation=described.row_name(row.label),
        accuracy=plain(row.score.value),
        low=plain(row.score.low),
        high=plain(row.score.high),
        baseline=None if rule is None else plain(rule.value),
        baseline_name="" if rule is None else f"{rule.name}{detail}",
        probe=described.name,
        direction=direction_name(row.direction or ""),
        what=row.score.name,
        cases=row.cases,
        verdict=row.verdict,
    )
