"""What one head knows of syntax, coreference and semantic roles, beside what needs no attention."""

from headscope.facts.head_arrays import HeadArrays
from headscope.facts.head_scores import head_scores
from headscope.facts.probe_names import direction_name, row_name
from headscope.facts.scores import HeadScore
from headscope.pages.numbers import plain
from headscope.pages.shapes import RelationScore
from headscope.types import HeadId

MOST = 16


def relations(arrays: HeadArrays, head: HeadId) -> tuple[list[RelationScore], int]:
    """The relations where the head is above a simple rule, furthest above first, and how many had cases enough.

    `arrays` are the stack's, taken at this head. The rule is the best one on the same cases as the head's own share.
    """
    asked = [(probe, row) for probe, row in head_scores(arrays, head) if not row.has_few_cases]
    above = [(probe, row) for probe, row in asked if row.best_baseline is None or _above(row) > 0]
    above.sort(key=lambda pair: -_above(pair[1]))
    return [_relation(probe, row) for probe, row in above[:MOST]], len(asked)


def _above(row: HeadScore) -> float:
    """How far above the best rule; 0 where there is none."""
    return 0.0 if row.best_baseline is None else row.score.value - row.best_baseline.value


def _relation(probe: str, row: HeadScore) -> RelationScore:
    rule = row.best_baseline
    detail = f" ({rule.detail})" if rule is not None and rule.detail else ""
    return RelationScore(
        relation=row_name(probe, row.label),
        accuracy=plain(row.score.value),
        low=plain(row.score.low),
        high=plain(row.score.high),
        baseline=None if rule is None else plain(rule.value),
        baseline_name="" if rule is None else f"{rule.name}{detail}",
        probe=probe,
        direction=direction_name(row.direction or ""),
        what=row.score.name,
        cases=row.cases,
        verdict=row.verdict,
    )
