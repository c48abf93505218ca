"""What names explain of heads, as stacked bars: shares in fixed order, the rest without a name."""

import pytest
from tests.helpers.atlases import random_atlas
from tests.planted import looking

from headscope.facts.analyses.explained import NO_NAME, group_names
from headscope.measures.templates import TEMPLATES
from headscope.pages.atlas import atlas_data
from headscope.pages.head.page import head_page


def test_every_head_has_a_bar_that_adds_up_to_one() -> None:
    [stack] = atlas_data(looking(0.9, explained_share=0.8), with_maps=False).stacks
    assert stack.stacked is not None
    assert stack.stacked.names == [*group_names(TEMPLATES), NO_NAME]
    assert "syntax" not in stack.stacked.names  # which needs a treebank
    assert len(stack.stacked.heads) == 6
    for shares in stack.stacked.heads:
        assert shares[0] == pytest.approx(0.8)  # the previous token is a near one
        assert (sum(shares), shares[-1]) == pytest.approx((1, 0.2))
    assert "explained" in {colouring.key for colouring in stack.colourings}


def test_a_heads_page_has_its_own_bar_and_weights() -> None:
    page = head_page(looking(0.9, explained_share=0.8), "encoder", 1, 2)
    section = next(one for one in page.sections if one.key == "explained")
    assert section.stacked is not None
    assert section.stacked.heads == [[0.8, 0, 0, 0, 0, 0, pytest.approx(0.2)]]
    [chart] = section.charts
    assert [(bar.label, bar.value) for bar in chart.bars] == [("1 token back", 0.9), ("even attention", 0.1)]


def test_less_than_nothing_is_all_without_a_name() -> None:
    [stack] = atlas_data(looking(0.9, explained_share=-0.3), with_maps=False).stacks
    assert stack.stacked is not None
    assert stack.stacked.heads[0] == [0, 0, 0, 0, 0, 0, 1]


def test_an_atlas_without_the_measure_has_none() -> None:
    atlas = random_atlas(2, 2)
    assert atlas_data(atlas, with_maps=False).stacks[0].stacked is None
    assert "explained" not in {section.key for section in head_page(atlas, "encoder", 0, 0).sections}
