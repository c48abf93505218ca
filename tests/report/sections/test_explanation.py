"""Why heads do what they do: sentences, colourings, figures and the section, from numbers put in by hand."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.patches import Rectangle
from tests.helpers.atlases import carried, per_head, probe_facts, random_atlas

from headscope import figures
from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.analyses.explanations import DESCRIPTION, explained_heads
from headscope.pages.atlas import atlas_data
from headscope.pages.head.explanation import explanation
from headscope.report import findings, page
from headscope.types import HeadId

COUNTS = (1, 2, 4)
REPLACED = ("token", "position", "segment", "all")
CONTRASTS = ("segment", "sentence", "sep")


def cell(value: float | None, stderr: float | None = 0.01) -> dict[str, float | None]:
    ends = (None, None) if value is None or stderr is None else (value - 2 * stderr, value + 2 * stderr)
    return {"value": value, "stderr": stderr, "low": ends[0], "high": ends[1]}


def row(head: str, shares: tuple[float, ...], left: tuple[float, ...], **more: Any) -> dict[str, Any]:
    sep = {"neuron": 5, "auc": 0.97, "stderr": 0.01, "low": 0.9, "high": 1.0, "clear": True}
    return {
        "head": head,
        "neurons": 16,
        "best": [5, 3, 7, 1],
        "alike": 4,
        "carries": carried(dict(zip(COUNTS, shares, strict=True)), cell),
        "bias": None,
        "separates": [
            {"contrast": "segment", "texts": 0, "score": cell(None, None), "neurons": [], "clear": 0},
            {"contrast": "sep", "texts": 9, "score": cell(0.9), "neurons": [sep, {**sep, "clear": False}]},
        ],
        "left": [
            *({"replaced": name, "left": cell(value)} for name, value in zip(REPLACED, left, strict=True)),
            {"replaced": "even", "left": None},
        ],
        **more,
    }


ROWS = [
    row("0.1", (0.6, 0.7, 0.8), (0.9, 0.02, 0.95, 0.0)),
    row("2.3", (0.1, 0.2, 0.3), (-0.1, 0.8, 0.9, 0.0)),
]


def explained(atlas: Atlas | None = None, rows: list[dict[str, Any]] | None = None) -> Atlas:
    share, left, auc = np.full((3, 4, 3), np.nan), np.full((3, 4, 4), np.nan), np.full((3, 4, 3), np.nan)
    for one in ROWS:
        at = tuple(map(int, one["head"].split(".")))
        share[at] = [part["score"]["value"] for part in one["carries"]]
        left[at] = [found["left"]["value"] for found in one["left"][:4]]
        auc[at] = (np.nan, 0.6, 0.9)
    arrays = {
        **per_head("score_share", share, {"neurons": COUNTS}),
        **per_head("pattern_left", left, {"replaced": REPLACED}),
        **per_head("score_auc", auc, {"contrast": CONTRASTS}),
    }
    found = ROWS if rows is None else rows
    return (atlas or random_atlas()).with_probe(
        "explanation",
        {"encoder": arrays},
        facts=probe_facts(description=DESCRIPTION.to_data()),
        table={"encoder": found},
        examples={},
    )


def in_words(told: dict[str, Any]) -> list[str]:
    (row,) = explained_heads(explained(rows=[told]), "encoder")
    return row.words


def test_in_words() -> None:
    assert in_words(ROWS[0]) == [
        "One neuron (5) carries 60% of its score, of 16; as many random neurons carry 6%.",
        "What it separates best is [SEP] from other keys: AUC 0.90, where 0.50 is chance; neuron 5 by itself, 0.97.",
        "Its pattern keeps 90% without tokens, 2% without positions, 95% without segments.",
    ]
    assert in_words(ROWS[1])[0] == (
        "Its score is spread: the best 4 of 16 neurons carry 30% of it; as many random neurons carry 25%."
    )
    assert "nothing without tokens" in in_words(ROWS[1])[2]
    assert in_words({"head": "0.0"}) == []


@pytest.mark.parametrize(
    ("auc", "words"),
    [
        (
            0.0,
            "What it separates best is [SEP] from other keys, by looking away: AUC 0.00, where 0.50 is chance",
        ),
        (0.51, "Its score does not tell keys apart by sentence, segment or [SEP]."),
    ],
)
def test_a_head_that_looks_away_and_one_that_does_not_care(auc: float, words: str) -> None:
    told = deepcopy(ROWS[0])
    [sep] = [one for one in told["separates"] if one["contrast"] == "sep"]
    sep["score"] = cell(auc)
    assert in_words(told)[1].startswith(words)


def test_the_head_page_has_what_is_sure() -> None:
    why, apart, left = explanation(explained(), "encoder", HeadId(0, 1))
    score = why.charts[0].bars
    assert [bar.label for bar in score] == ["best neuron", "best 2", "best 4"]
    assert [bar.value for bar in score] == [0.6, 0.7, 0.8]
    assert [bar.mark for bar in score] == [0.0625, 0.125, 0.25]
    [contrast] = apart.charts
    assert contrast.title == "[SEP] from other keys"
    assert [bar.label for bar in contrast.bars] == ["whole score", "neuron 5"]
    assert contrast.bars[1].low == 0.9
    assert [bar.value for bar in left.charts[0].bars] == [0.9, 0.02, 0.95, 0]
    assert [bar.label for bar in left.charts[0].bars][-1] == "without all of these"
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
    assert "What carries the score of head" not in page.render(atlas)


def test_colourings_say_what_they_are() -> None:
    found = {one.key: one for one in atlas_data(explained()).stacks[0].colourings}
    titles = {
        key: found[key].title for key in found if found[key].group == "What makes a head look where it looks"
    }
    assert titles["score_share:neurons=1"] == "Score carried by the best neuron"
    assert titles["score_share:neurons=4"] == "Score carried by the best 4 neurons"
    assert titles["pattern_left:replaced=segment"] == "Pattern left without segments"
    assert titles["score_auc:contrast=sep"] == "How well the score tells [SEP] from other keys"
    assert "score_auc:contrast=segment" not in titles
    values = found["pattern_left:replaced=position"].values
    assert (values[1], values[11], values[0]) == (0.02, 0.8, None)


def test_what_is_found() -> None:
    found = [one for one in findings(explained()) if one.topic == "Why"]
    texts = [one.text for one in found]
    assert texts[0] == (
        "One neuron (5 of 16) carries 60.0% ± 1.0 of the score of head 0.1, the most of the 2 heads that were "
        "explained; a neuron at random carries 6.2%."
    )
    assert "Head 0.1 needs positions: 2.0% ± 1.0 of its pattern is left without them" in texts[2]
    assert "Head 2.3 needs tokens: nothing of its pattern is left without them" in texts[1]
    assert not [text for text in texts if "needs segments" in text]
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


@pytest.mark.slow
def test_the_section() -> None:
    text = page.render(explained())
    assert 'id="encoder-explanation"' in text
    assert "What carries the score of head 0.1" in text
    assert "What is left of the pattern" in text
