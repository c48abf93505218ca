"""Why one head does what it does, where `headscope explain` was asked about it."""

from collections.abc import Sequence

from headscope.atlas import Atlas
from headscope.facts.analyses.explanations import REPLACED, Cell, HeadExplanation, explained_heads
from headscope.pages.shapes.head import Bar, Chart, Section
from headscope.types import HeadId

MOST_NEURONS = 3
"""How many neurons that tell keys apart are named, of each contrast."""


def explanation(atlas: Atlas, stack: str, head: HeadId) -> list[Section]:
    """What carries the head's score, what it tells apart and what it needs; none where it was not explained."""
    rows = [row for row in explained_heads(atlas, stack) if row.head == str(head)]
    sections = [part(row) for row in rows[-1:] for part in (_why, _apart, _left)]
    return [section for section in sections if section.said or section.charts]


def _why(row: HeadExplanation) -> Section:
    """What the best 1, 2, 4 ... neurons carry of the score and give of the pattern, beside as many at random."""
    labels = ["best neuron" if part.neurons == 1 else f"best {part.neurons}" for part in row.carried]
    score = [(part.score, part.score_random) for part in row.carried]
    pattern = [(part.pattern, part.pattern_random) for part in row.carried]
    bias = Bar(label="bias for position", value=None if row.bias is None else row.bias.value)
    charts = [
        Chart(
            title="share of the score that its best neurons carry",
            bars=_beside_random(labels, score),
            is_share=True,
        ),
        Chart(title="share of the pattern that they alone give", bars=_beside_random(labels, pattern)),
        Chart(bars=[bias], is_share=True),
    ]
    return Section(
        key="explanation",
        title="Why it does that",
        said=row.words,
        charts=[chart for chart in charts if any(bar.value is not None for bar in chart.bars)],
        about="The tick is what as many random neurons give." if score else "",
    )


def _beside_random(labels: Sequence[str], cells: Sequence[tuple[Cell, Cell]]) -> list[Bar]:
    return [
        _bar(label, best, mark=random.value, mark_name="as many at random")
        for label, (best, random) in zip(labels, cells, strict=True)
    ]


def _apart(row: HeadExplanation) -> Section:
    """What the whole score, and the neurons that surely tell it by themselves, tell apart."""
    charts = []
    for part in row.told:
        neurons = {
            f"neuron {neuron.neuron}": Cell(neuron.auc, neuron.stderr, neuron.low, neuron.high)
            for neuron in part.sure[:MOST_NEURONS]
        }
        cells = {"whole score": part.score, **neurons}
        bars = [_bar(label, cell, mark=0.5, mark_name="tells nothing") for label, cell in cells.items()]
        charts.append(Chart(title=part.words, bars=bars, is_share=True))
    return Section(
        key="explanation_apart",
        title="What its score separates",
        charts=charts,
        about="AUC: 0.5, the tick, is chance. Only neurons whose interval, 95 % for all of them together, excludes it "
        "are named.",
    )


def _left(row: HeadExplanation) -> Section:
    """What is left of the pattern when embeddings are replaced by their mean."""
    bars = [_bar(f"without {REPLACED.get(name, name)}", left) for name, left in row.pattern_left.items()]
    return Section(
        key="explanation_left",
        title="What is left of its pattern",
        charts=[Chart(bars=bars)] if bars else [],
        about="With embeddings replaced by their mean: 1 is the whole pattern, 0 no better than even attention.",
    )


def _bar(label: str, cell: Cell, *, mark: float | None = None, mark_name: str = "") -> Bar:
    """A number of the table with its interval."""
    return Bar(label=label, value=cell.value, low=cell.low, high=cell.high, mark=mark, mark_name=mark_name)
