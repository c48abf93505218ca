"""What the parsers found, in the report and in figures; of an atlas, which says itself what it holds."""

import numpy as np
from tests.helpers.atlases import empty_atlas, probe_facts
from tests.report.sections.test_probes import about, per_cell, read, with_table

from headscope import figures
from headscope_papers.parser.result import DESCRIPTION


def test_parsers_stand_beside_what_needs_no_attention() -> None:
    rows = [
        {"parser": name, "uas": uas, "low": uas - 0.01, "high": uas + 0.01, "cases": 500, "epochs": epochs}
        for name, uas, epochs in (
            ("attention", 0.61, 4),
            ("best_offset", 0.36, None),
            ("random_attention", 0.3, 2),
        )
    ]
    weights = per_cell(
        "parser_weight", np.array([[[1.0, -2.0], [0.5, 0.0]]]), direction=("dependent_to_head",)
    )
    atlas = with_table("parser", rows, weights, description=DESCRIPTION.to_data())
    assert str(about(atlas, "Syntax")[0]) == (
        "A parser that only weighs the heads' attention gets 61.0% of words right (95% interval 60.0 to "
        "62.0%), against 36.0% for the best fixed offset and 30.0% for the same parser on a model with "
        "random weights."
    )
    html, _, words = read(atlas)
    assert "attention61.0%60.0 to 62.0%5004" in words
    assert "best fixed offset36.0%35.0 to 37.0%500–" in words
    assert "var(--signed-0)" in html


def test_the_weights_of_heads_are_drawn() -> None:
    weights = per_cell("parser_weight", np.full((1, 2, 2), 0.7), direction=("dependent_to_head",))
    facts = probe_facts(description=DESCRIPTION.to_data())
    atlas = empty_atlas().with_probe("parser", {"encoder": weights}, facts=facts, table={}, examples={})
    ax = figures.head_grid(atlas, "parser_weight", select={"direction": "dependent_to_head"})
    assert ax.get_title(loc="left").startswith("Learned weight of every head")
    assert ax.figure.axes[1].get_xlabel().startswith("weight")


def test_a_foreign_table_of_that_name_is_shown() -> None:
    for rows in (
        [],
        [{"x": "y"}],
        [{"relation": "det", "accuracy": "much", "head": "first", "cases": "many"}],
    ):
        read(with_table("parser", rows, {}, notes="x", options=None, description=DESCRIPTION.to_data()))
