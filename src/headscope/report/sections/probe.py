"""The section of the report on what one probe found, from its description."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from headscope import figures
from headscope.facts import description
from headscope.facts.analyses.probes import best_heads
from headscope.facts.analyses.uses import with_uses
from headscope.facts.cells import plain_columns
from headscope.facts.description import Description
from headscope.facts.scores import HeadScore, convincing, judged, number
from headscope.facts.subject import Subject, options_of
from headscope.facts.vocabulary import label_name
from headscope.facts.wording import count
from headscope.figures.dots import dots_size, shown_rows
from headscope.report.pictures import Picture, stack_picture
from headscope.report.section import Part, Section, Table
from headscope.report.sections.at_work import at_work

ELSEWHERE = "A probe added by another package."


def probe_section(subject: Subject, described: Description) -> Section:
    """What was asked, a chart, the tables, and heads at work; what there is of it."""
    rows = best_heads(subject.atlas, described.name, stack=subject.stack) if described.value else []
    drawn = [row for row in rows if not row.score.unit]
    ranked = convincing(rows)
    parts = [
        Part("At a glance", pictures=[_chart(subject, described, drawn)] if drawn else []),
        *_table_parts(subject, described),
    ]
    return Section(
        re.sub(r"[^A-Za-z0-9-]", "-", f"probe-{described.name}"),
        described.heading,
        _introduction(subject, described),
        parts=[*_joined(parts), *at_work(subject, described, [row.label for row in ranked])],
    )


def _introduction(subject: Subject, described: Description) -> str:
    question = (described.question or ELSEWHERE).replace("{heads}", str(subject.heads))
    return f"{question} {_chosen(subject, described)}".rstrip()


def _chosen(subject: Subject, described: Description) -> str:
    """How the best heads were chosen, and what that does to their numbers; nothing where none was."""
    if not described.is_choice:
        return ""
    facts, heads = subject.probes[described.name], subject.heads
    options = options_of(facts)
    on, known = options.get("chosen_on"), options.get("chosen_on_hash")
    many = f"The best head of each row is the best of {count(2 * heads, 'candidate')} ({heads} heads, two directions)"
    if not on:
        return f"{many}, and the best of many looks better than it is."
    is_same = known == facts.get("data_hash") if known else on == facts.get("data")
    if is_same and not str(on).startswith("half of"):
        return f"{many}, chosen on the same texts it is scored on, which inflates its score."
    return (
        f"{many}, chosen on {on}. Its score is from other texts, so the choice does not inflate it; among many rows, a "
        "few still lie outside their interval by chance."
    )


def _table_parts(subject: Subject, described: Description) -> Iterator[Part]:
    """The tables of the description, rows with few cases folded away; without one, the rows as they stand."""
    rows: list[Any] = judged(subject.atlas.table(described.name, stack=subject.stack), described)
    if described.name == "dependency":
        rows = with_uses(rows, subject.atlas, subject.stack)
    known = [table for table in described.tables if any(table.columns[0].key in row for row in rows)]
    if rows and not known:
        known = [
            description.Table(tuple(plain_columns(rows)), f"What the {described.words} probe found", "Table")
        ]
    for table in known:
        own = table.rows_of(rows)
        few = [row for row in own if (number(row.get("cases")) or described.few_cases) < described.few_cases]
        enough = [row for row in own if row not in few]
        if enough:
            shown = _table(subject, described, table, enough, table.caption)
            yield Part(table.title, table.about, tables=[shown])
        if few:
            fewer = f"ewer than {described.few_cases} cases"
            title = f"{count(len(few), 'row')} with f{fewer}, too few to say much"
            yield Part(title, tables=[_table(subject, described, table, few, f"F{fewer}")], is_folded=True)


def _table(
    subject: Subject, described: Description, table: description.Table, rows: Sequence[Any], caption: str
) -> Table:
    def name(label: str) -> str:
        return label_name(subject.atlas, subject.stack, described, label)

    is_label = bool(described.label) and table.columns[0].key == described.label
    named, is_figures = name if is_label else str, bool(described.value)
    return Table.described(caption, table.columns, rows, name=named, is_figures=is_figures)


def _chart(subject: Subject, described: Description, rows: Sequence[HeadScore]) -> Picture:
    return stack_picture(
        subject,
        figures.relation_accuracy,
        described.name,
        size=dots_size(len(shown_rows(rows))),
        title=described.chart or described.heading,
        caption=described.chart_caption,
        least=0.8,
    )


def _joined(parts: Sequence[Part]) -> list[Part]:
    """Parts of one title as one, without those that have nothing to show."""
    joined: dict[str, Part] = {}
    for part in parts:
        if part.pictures or part.tables:
            known = joined.setdefault(
                part.title, Part(part.title, part.introduction, is_folded=part.is_folded)
            )
            known.pictures.extend(part.pictures)
            known.tables.extend(part.tables)
    return list(joined.values())
