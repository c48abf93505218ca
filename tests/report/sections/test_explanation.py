"""Why heads do what they do: colourings, figures, verdicts and the section, from numbers put in by hand."""

import re
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.patches import Rectangle
from tests.helpers.atlases import random_atlas
from tests.planted import EXPLAINED_ROWS as ROWS
from tests.planted import explained_row as row
from tests.planted import row_cell as cell
from tests.planted import with_explanation as explained

from headscope import figures
from headscope.errors import AtlasError
from headscope.facts.analyses.explanations import explained_heads
from headscope.facts.subject import Subject
from headscope.pages.atlas import atlas_data
from headscope.pages.head.explanation import explanation
from headscope.report import findings, page
from headscope.report.sections.explanation import explanation_section
from headscope.types import HeadId

SHARES = {"1.0": 0.1, "2.3": 0.7, "0.1": 0.4}
"""By head, what its best neuron carries."""


def in_words(told: dict[str, Any]) -> list[str]:
    (row,) = explained_heads(explained(rows=[told]), "encoder")
    return row.words


def numbers(text: str) -> list[float]:
    """Those of a sentence, in their order."""
    return [float(number) for number in re.findall(r"\d+\.?\d*", text)]


def test_in_words() -> None:
    neuron, apart, left = in_words(ROWS[0])
    assert numbers(neuron) == [5, 60, 16, 6]
    assert numbers(apart) == [0.9, 0.5, 5, 0.97]
    assert numbers(left) == [90, 2, 95]
    spread, _, left = in_words(ROWS[1])
    assert numbers(spread) == [4, 16, 30, 25]
    assert numbers(left) == [80, 90]  # nothing is left without tokens
    assert in_words({"head": "0.0"}) == []


@pytest.mark.parametrize(("auc", "said"), [(0.0, [0, 0.5, 5, 0.97]), (0.51, [])])
def test_a_head_that_looks_away_and_one_that_does_not_care(auc: float, said: list[float]) -> None:
    told = deepcopy(ROWS[0])
    [sep] = [one for one in told["separates"] if one["contrast"] == "sep"]
    sep["score"] = cell(auc)
    assert numbers(in_words(told)[1]) == said


def test_the_head_page_has_what_is_sure() -> None:
    why, apart, left = explanation(explained(), "encoder", HeadId(0, 1))
    score = why.charts[0].bars
    assert [bar.value for bar in score] == [0.6, 0.7, 0.8]
    assert [bar.mark for bar in score] == [0.0625, 0.125, 0.25]
    [contrast] = apart.charts
    assert len(contrast.bars) == 2
    assert contrast.bars[1].low == 0.9
    assert [bar.value for bar in left.charts[0].bars] == [0.9, 0.02, 0.95, 0]
    assert explanation(explained(), "encoder", HeadId(0, 0)) == []


@pytest.mark.slow
def test_a_head_whose_scores_do_not_vary_has_no_shares() -> None:
    still = row("1.1", (0.0, 0.0, 0.0), (0.9, 0.9, 0.9, 0.9))
    for one in still["carries"]:
        one["score"] = cell(None, None)
    atlas = explained(rows=[still])
    assert all(
        "share of the" not in chart.title
        for s in explanation(atlas, "encoder", HeadId(1, 1))
        for chart in s.charts
    )
    with pytest.raises(AtlasError, match=r"head 1\.1 do not vary"):
        figures.explanation(atlas, "1.1")
    assert 'id="encoder-explanation"' in page.render(atlas)


def test_colourings_say_what_they_are() -> None:
    found = {one.key: one for one in atlas_data(explained()).stacks[0].colourings}
    names = (
        "score_share:neurons=1",
        "score_share:neurons=4",
        "pattern_left:replaced=segment",
        "score_auc:contrast=sep",
    )
    assert len({found[name].title for name in names}) == len(names)
    assert "score_auc:contrast=segment" not in found
    values = found["pattern_left:replaced=position"].values
    assert (values[1], values[11], values[0]) == (0.02, 0.8, None)


def test_what_is_found() -> None:
    found = [one for one in findings(explained()) if one.topic == "Why"]
    assert [one.value for one in found] == [0.6, -0.1, 0.02, 0.9]
    assert [numbers(one.text)[:4] for one in found] == [
        [5, 16, 60, 1],
        [2.3, 80, 1, 90],
        [0.1, 2, 1, 90],
        [0.1, 0.9, 0.01, 0.5],
    ]
    assert [one.heads[0] for one in found] == [HeadId(0, 1), HeadId(2, 3), HeadId(0, 1), HeadId(0, 1)]


def test_figures() -> None:
    atlas = explained()
    ax = figures.explanation(atlas, "0.1")
    bars = [bar for bar in ax.patches if isinstance(bar, Rectangle)]
    assert [round(bar.get_height(), 3) for bar in bars] == [0.6, 0.7, 0.8, 0.062, 0.125, 0.25]
    ax = figures.pattern_left(atlas)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["2.3", "0.1"]
    ax = figures.pattern_left(atlas, ["0.1"])
    marks = {str(line.get_label()): np.asarray(line.get_xdata()).tolist() for line in ax.lines}
    assert marks["without positions"] == [0.02]
    pyplot.close("all")
    with pytest.raises(AtlasError, match=r"head 1\.0 was not explained"):
        figures.explanation(atlas, "1.0")
    with pytest.raises(AtlasError, match="explains no head yet"):
        figures.pattern_left(random_atlas())


def test_heads_whose_best_neuron_carries_most_come_first() -> None:
    rows = [row(head, (share, share, share), (0.9, 0.9, 0.9, 0.9)) for head, share in SHARES.items()]
    [table] = explanation_section(Subject(explained(rows=rows), "encoder")).tables
    assert [cells[0] for cells in table.rows] == ["2.3", "0.1", "1.0"]
