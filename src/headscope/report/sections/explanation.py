"""Why heads do what they do, on the page."""

from collections.abc import Iterator

from headscope import figures
from headscope.facts.analyses.explanations import EMBEDDINGS, NOTHING, Cell, HeadExplanation, explained_heads
from headscope.facts.description import Column
from headscope.facts.subject import Subject
from headscope.figures.explanation import MOST_HEADS, left_size
from headscope.report.pictures import Picture, stack_picture
from headscope.report.section import Section, Table

SIZE = (4.6, 3.2)
SHOWN = 4
"""Of how many heads the shares are drawn."""


def explanation_section(subject: Subject) -> Section:
    """What carries scores, what scores tell apart, and what of the patterns is left."""
    rows = explained_heads(subject.atlas, subject.stack)
    rows.sort(key=lambda row: -row.carried[0].score.number if row.carried else 0.0)
    return Section(
        "explanation",
        "What makes a head look where it looks?",
        "A head's score is a sum over its neurons of query times key. The share of the best few neurons is what they "
        "carry of how much the score varies over keys; they were chosen on one half of the texts and scored on the "
        "other. What is left of a pattern says how near the head's map stays when embeddings are replaced by their "
        "mean everywhere: 1 is the same map, 0 no better than even attention. The parts do not add up to 1, and in "
        "deep layers they act through all layers below.",
        list(_pictures(subject, rows)),
        [_table(rows)] if rows else [],
    )


def _pictures(subject: Subject, rows: list[HeadExplanation]) -> Iterator[Picture]:
    for row in rows[:SHOWN]:
        if row.carried:
            yield stack_picture(
                subject,
                figures.explanation,
                row.head,
                size=SIZE,
                is_wide=False,
                title=f"What carries the score of head {row.head}",
                caption="How much of the score's variance over keys the best 1, 2, 4 and 8 neurons carry, with "
                f"standard errors over texts, beside as many at random. Best first: {', '.join(map(str, row.best))}.",
            )
    known = [row for row in rows if row.pattern_left]
    if known:
        yield stack_picture(
            subject,
            figures.pattern_left,
            size=left_size(min(MOST_HEADS, len(known))),
            title="What is left of the pattern",
            caption="One row per head, those that lose most first. At the solid line the whole pattern is left; at "
            "the dashed line and below it the map is no nearer than even attention.",
        )


def _table(rows: list[HeadExplanation]) -> Table:
    some = f"; the {MOST_HEADS} of {len(rows)} heads whose best neuron carries most"
    caption = "What carries the score and what is left of the pattern, with standard errors over texts"
    cells = [_cells(row) for row in rows[:MOST_HEADS]]
    columns = [Column(name, format="number", digits=2, stderr=f"{name}_stderr") for name in cells[0]]
    shown = [
        {"head": row.head}
        | {name: cell.value for name, cell in of_head.items()}
        | {f"{name}_stderr": cell.stderr for name, cell in of_head.items()}
        for row, of_head in zip(rows, cells, strict=False)
    ]
    return Table.described(
        caption + (some if len(rows) > MOST_HEADS else ""), [Column("head"), *columns], shown
    )


def _cells(row: HeadExplanation) -> dict[str, Cell]:
    first, last = row.carries[0], row.carries[-1]
    left = {
        f"left without {words}": row.pattern_left.get(name, NOTHING) for name, words in EMBEDDINGS.items()
    }
    return {"best neuron": first.score, "best 8": last.score, "random 8": last.score_random, **left}
