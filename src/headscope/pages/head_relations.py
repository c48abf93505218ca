"""What one head knows of syntax, coreference and semantic roles, beside what needs no attention."""

from headscope.facts.head_arrays import HeadArrays
from headscope.facts.head_scores import head_scores
from headscope.facts.probe_names import direction_name, row_name
from headscope.facts.scores import HeadScore
from headscope.pages.shapes import Bar, Chart, Section
from headscope.types import HeadId

MOST = 8
"""How many relations are shown of each kind of score."""

_ABOUT = (
    "Above the best simple rule, which is the tick{}. Over all cases; findings score the head that was chosen on one "
    "half of them on the other."
)
_PALE = "; pale where the head is not clearly above all rules: its interval reaches theirs"


def relations(arrays: HeadArrays, head: HeadId) -> list[Section]:
    """The relations where the head is above a simple rule, furthest above first; none where none had cases enough.

    `arrays` are the stack's, taken at this head. The rule is the best one on the same cases as the head's own share.
    """
    asked = [(probe, row) for probe, row in head_scores(arrays, head) if not row.has_few_cases]
    above = [(probe, row) for probe, row in asked if row.best_baseline is None or _above(row) > 0]
    above.sort(key=lambda pair: -_above(pair[1]))
    title = "Relations it finds"
    if not above:
        said = [f"None above a simple rule, of {len(asked)} tested."]
        return [Section(key="relations", title=title, said=said)] if asked else []
    scores: dict[str, list[Bar]] = {}
    for probe, row in above:
        scores.setdefault(row.score.name, []).append(_bar(probe, row))
    charts = [Chart(title=name, bars=bars[:MOST], is_share=True) for name, bars in scores.items()]
    is_pale = any(bar.pale for chart in charts for bar in chart.bars)
    return [
        Section(key="relations", title=title, charts=charts, about=_ABOUT.format(_PALE if is_pale else ""))
    ]


def _above(row: HeadScore) -> float:
    """How far above the best rule; 0 where there is none."""
    return 0.0 if row.best_baseline is None else row.score.value - row.best_baseline.value


def _bar(probe: str, row: HeadScore) -> Bar:
    rule, direction = row.best_baseline, direction_name(row.direction or "")
    is_unclear = rule is not None and row.verdict != "above"
    notes = [probe]
    if row.cases is not None:
        notes.append(f"{row.cases} cases")
    if is_unclear:
        notes.append("not clearly above the simple rules")
    return Bar(
        label=", ".join(filter(None, (row_name(probe, row.label), direction))),
        value=row.score.value,
        low=row.score.low,
        high=row.score.high,
        mark=None if rule is None else rule.value,
        mark_name="" if rule is None else f"{rule.name} ({rule.detail})" if rule.detail else rule.name,
        verdict=row.verdict,
        pale=is_unclear,
        note=", ".join(notes),
    )
