"""What one head knows of what probes asked, beside what needs no attention; and whether the model uses it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from headscope.atlas import Atlas
from headscope.facts.analyses.probes import head_scores, tests_made
from headscope.facts.analyses.uses import FINDS_AND_USES, uses_of
from headscope.facts.description import Description, direction_name
from headscope.facts.scores import HeadScore
from headscope.facts.wording import count
from headscope.pages.shapes.head import Bar, Chart, Section
from headscope.types import HeadId

MOST = 8
"""How many relations are shown of each kind of score."""

_ABOUT = (
    "The tick is the best simple rule. Only what is clearly above all rules after correction for {}, over all cases; "
    "findings score the head that was chosen on one half of them on the other."
)
_USED = (
    "What the model's score loses, in nats, without the edge in this head; the tick is another edge as far and as "
    "strong in the same head and sentence. The interval is that of their difference."
)

_Scored = tuple[Description, HeadScore]


def relations(atlas: Atlas, stack: str, head: HeadId) -> list[Section]:
    """The relations where the head is clearly above every simple rule, furthest above first, and folded what is not.

    None where nothing had cases enough. The rule is the best one on the same cases as the head's own share.
    """
    asked = [pair for pair in head_scores(atlas, stack, head) if not pair[1].has_few_cases]
    if not asked:
        return []
    ranked = sorted(asked, key=lambda pair: -pair[1].lead)
    clear = [pair for pair in ranked if pair[1].stands_out]
    rest = [pair for pair in ranked if not pair[1].stands_out and _may_be_above(pair[1])]
    probes = {described.name: described for described, _ in asked}
    tests = count(sum(tests_made(atlas, stack, described) for described in probes.values()), "test")
    none = f"None clearly above a simple rule after correction for {tests}, of {len(asked)} tested."
    return [
        Section(
            key="relations",
            title="Relations it finds",
            said=[] if clear else [none],
            charts=_charts(clear),
            about=_ABOUT.format(tests) if clear else "",
            folded_title=f"{len(rest)} not clearly above a simple rule" if rest else "",
            folded=_charts(rest),
        )
    ]


def _may_be_above(score: HeadScore) -> bool:
    """Whether it is above its rule, if not clearly, or held against nothing."""
    return score.best_baseline is None or score.lead > 0


def _charts(scored: Sequence[_Scored]) -> list[Chart]:
    """A chart for each kind of score."""
    kinds: dict[tuple[str, str], list[Bar]] = {}
    for described, row in scored:
        kinds.setdefault((row.score.name, row.score.unit), []).append(_bar(described, row))
    return [
        Chart(title=f"{name}, in {unit}" if unit else name, bars=bars[:MOST], is_share=not unit)
        for (name, unit), bars in kinds.items()
    ]


def _bar(described: Description, row: HeadScore) -> Bar:
    rule, direction = row.best_baseline, direction_name(row.direction or "")
    notes = [described.words]
    if row.cases is not None:
        notes.append(f"{row.cases} cases")
    if rule is not None and not row.stands_out:
        notes.append("not clearly above the simple rules")
    if rule is not None and rule.detail:
        rule = replace(rule, name=f"{rule.name} ({rule.detail})")
    label = ", ".join(filter(None, (described.row_name(row.label), direction)))
    more = {"verdict": row.verdict, "pale": not row.stands_out, "note": ", ".join(notes)}
    return Bar.of(label, row.score, rule, **more)


def used(atlas: Atlas, stack: str, head: HeadId) -> Iterator[Section]:
    """A section for a head whose edges were removed; none for others."""
    known = uses_of(atlas, stack, head)
    if known:
        bars = [
            Bar(
                label=use.relation,
                value=use.change,
                low=use.control + use.low,
                high=use.control + use.high,
                mark=use.control,
                mark_name="another edge as far and as strong",
                pale=use.verdict != FINDS_AND_USES,
                note=use.verdict,
            )
            for use in known
        ]
        yield Section(
            key="uses",
            title="Does the model use what it finds?",
            said=[use.text for use in known],
            charts=[Chart(title="nats lost without the edge", bars=bars)],
            about=_USED,
        )
