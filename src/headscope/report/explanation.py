"""Why heads do what they do, on the page."""

from typing import Any

from headscope import figures
from headscope.facts.explanations import EMBEDDINGS, REPLACED, best_neuron, cell, rows_of
from headscope.facts.subject import Subject
from headscope.facts.wording import amount
from headscope.figures.explanation import MOST_HEADS, left_size
from headscope.report.pictures import Picture, picture
from headscope.report.section import Section, Table

SIZE = (4.6, 3.2)
SHOWN = 4
"""Of how many heads the shares are drawn."""


def explanation_section(subject: Subject, _: int) -> Section:
    """What carries scores, what scores tell apart, and what of the patterns is left."""
    rows = rows_of(subject.atlas, subject.stack)
    return Section(
        "explanation",
        "Why heads do it: what carries their scores",
        "A head's score is a sum over its neurons of query times key. The share of the best few neurons is what they "
        "carry of how much the score varies over keys; they were chosen on one half of the texts and scored on the "
        "other. What is left of a pattern says how near the head's map stays when embeddings are replaced by their "
        "mean everywhere: 1 is the same map, 0 no better than even attention. The parts do not add up to 1, and in "
        "deep layers they act through all layers below.",
        [*_carried(subject, rows), *_left(subject, rows)],
        [_table(rows)] if rows else [],
    )


def _carried(subject: Subject, rows: list[dict[str, Any]]) -> list[Picture]:
    """Of the heads whose best neuron carries the most."""
    known = sorted(
        (row for row in rows if best_neuron(row) is not None),
        key=lambda row: -(cell(best_neuron(row)).value or 0.0),
    )
    return [_shares(subject, row) for row in known[:SHOWN]]


def _shares(subject: Subject, row: dict[str, Any]) -> Picture:
    head = str(row["head"])
    best = ", ".join(map(str, row.get("best") or []))
    return picture(
        lambda ax: figures.explanation(subject.atlas, head, stack=subject.stack, ax=ax),
        size=SIZE,
        title=f"What carries the score of head {head}",
        caption="How much of the score's variance over keys the best 1, 2, 4 and 8 neurons carry, with standard "
        f"errors over texts, beside as many at random. Best first: {best}.",
    )


def _left(subject: Subject, rows: list[dict[str, Any]]) -> list[Picture]:
    known = [
        row for row in rows if any(cell(one.get("left")).value is not None for one in row.get("left") or [])
    ]
    if not known:
        return []
    return [
        picture(
            lambda ax: figures.pattern_left(subject.atlas, stack=subject.stack, ax=ax),
            size=left_size(min(MOST_HEADS, len(known))),
            title="What is left of the pattern",
            caption="A row a head, those first that lose most without something. At the solid line the whole pattern "
            "is left; at the dashed line and below it the map is no nearer than even attention.",
            is_wide=True,
        )
    ]


def _table(rows: list[dict[str, Any]]) -> Table:
    shown = sorted(rows, key=lambda row: -(cell(best_neuron(row)).value or 0.0))[:MOST_HEADS]
    return Table(
        "What carries the score and what is left of the pattern, with standard errors over texts"
        + (
            ""
            if len(rows) <= MOST_HEADS
            else f"; the {MOST_HEADS} of {len(rows)} heads whose best neuron carries most"
        ),
        (
            "Head",
            "Best neuron",
            "Best 8",
            "Random 8",
            *(f"Left without {REPLACED[name]}" for name in EMBEDDINGS),
        ),
        tuple(_cells(row) for row in shown),
        is_figures=True,
    )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    carries, left = (
        row.get("carries") or [{}],
        {str(one.get("replaced")): one for one in row.get("left") or []},
    )
    found = [
        cell(carries[0].get("score")),
        cell(carries[-1].get("score")),
        cell(carries[-1].get("score_random")),
        *(cell(left.get(name, {}).get("left")) for name in EMBEDDINGS),
    ]
    return (
        str(row.get("head")),
        *("–" if one.value is None else amount(one.value, one.stderr, units="") for one in found),
    )
