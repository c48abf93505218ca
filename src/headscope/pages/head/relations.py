"""What one head knows of what probes asked, beside what needs no attention."""

from headscope.atlas import Atlas
from headscope.facts.analyses.probes import head_scores
from headscope.facts.description import Description, direction_name
from headscope.facts.head_arrays import HeadArrays
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


def relations(atlas: Atlas, arrays: HeadArrays, head: HeadId) -> list[Section]:
    """The relations where the head is above a simple rule, furthest above first; none where none had cases enough.

    `arrays` are the stack's, taken at this head. The rule is the best one on the same cases as the head's own share.
    """
    asked = [pair for pair in head_scores(atlas, arrays, head) if not pair[1].has_few_cases]
    above = [pair for pair in asked if pair[1].best_baseline is None or pair[1].lead > 0]
    above.sort(key=lambda pair: -pair[1].lead)
    title = "Relations it finds"
    if not above:
        said = [f"None above a simple rule, of {len(asked)} tested."]
        return [Section(key="relations", title=title, said=said)] if asked else []
    scores: dict[str, list[Bar]] = {}
    for described, row in above:
        scores.setdefault(row.score.name, []).append(_bar(described, row))
    charts = [Chart(title=name, bars=bars[:MOST], is_share=True) for name, bars in scores.items()]
    is_pale = any(bar.pale for chart in charts for bar in chart.bars)
    return [
        Section(key="relations", title=title, charts=charts, about=_ABOUT.format(_PALE if is_pale else ""))
    ]


def _bar(described: Description, row: HeadScore) -> Bar:
    rule, direction = row.best_baseline, direction_name(row.direction or "")
    is_unclear = rule is not None and row.verdict != "above"
    notes = [described.words]
    if row.cases is not None:
        notes.append(f"{row.cases} cases")
    if is_unclear:
        notes.append("not clearly above the simple rules")
    return Bar(
        label=", ".join(filter(None, (described.row_name(row.label), direction))),
        value=row.score.value,
        low=row.score.low,
        high=row.score.high,
        mark=None if rule is None else rule.value,
        mark_name="" if rule is None else f"{rule.name} ({rule.detail})" if rule.detail else rule.name,
        verdict=row.verdict,
        pale=is_unclear,
        note=", ".join(notes),
    )
