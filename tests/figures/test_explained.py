"""Stacked bars of what names explain: the parts of a bar add up to 1, and grey is what has no name."""

import numpy as np
import pytest
from tests.helpers.atlases import atlas_of, per_head

from headscope import figures
from headscope.atlas import Atlas
from headscope.facts.analyses.explained import (
    GROUPS,
    NO_NAME,
    explained_sentences,
    group_names,
    named_parts,
    template_name,
)
from headscope.measures.templates import SYNTAX, TEMPLATES


def atlas(layers: int = 2, heads: int = 3) -> Atlas:
    """Head 0.0 is explained to 0.8, three quarters of it by the previous token; 0.1 looks evenly; 0.2 is misled."""
    shares = np.full((layers, heads), 0.4)
    shares[0, :3] = 0.8, np.nan, -0.2
    weights = np.zeros((layers, heads, len(TEMPLATES)))
    weights[..., TEMPLATES.index("delimiters")] = 1
    weights[0, 0] = 0
    for name, weight in (("even", 0.2), ("offset_-1", 0.6), ("first_token", 0.2)):
        weights[0, 0, TEMPLATES.index(name)] = weight
    arrays = per_head("explained", shares, stderr=0.01)
    for name in ("explained_control", "explained_ceiling"):
        arrays |= per_head(name, shares, stderr=None)
    arrays |= per_head("explained_weight", weights, {"template": TEMPLATES}, stderr=None)
    return atlas_of(arrays)


def test_parts_are_the_share_dealt_out_by_weights() -> None:
    parts = named_parts(atlas(), stack="encoder")
    names = group_names(TEMPLATES)
    assert dict(zip(names, parts[0, 0].tolist(), strict=True)) == {
        **dict.fromkeys(names, 0.0),
        "near tokens": pytest.approx(0.6),
        "first token": pytest.approx(0.2),
    }
    assert parts[0, 1].sum() == parts[0, 2].sum() == 0
    assert parts[1, 1].sum() == pytest.approx(0.4)


def test_every_template_but_even_has_a_group_and_a_name() -> None:
    grouped = [template for group in GROUPS.values() for template in group]
    assert sorted([*grouped, "even"]) == sorted([*TEMPLATES, *SYNTAX])
    assert template_name("offset_-1") == "1 token back"
    assert len({template_name(template) for template in TEMPLATES}) == len(TEMPLATES)


def test_bars_reach_one_and_grey_is_the_rest() -> None:
    ax = figures.explained_heads(atlas())
    assert [container.get_label() for container in ax.containers] == [*group_names(TEMPLATES), NO_NAME]
    heights = np.array([[bar.get_height() for bar in container] for container in ax.containers])
    np.testing.assert_allclose(heights.sum(0), 1)
    np.testing.assert_allclose(heights[-1], [0.2, 1, 1, 0.6, 0.6, 0.6])


def test_a_bar_is_a_layer_where_there_are_many_heads() -> None:
    ax = figures.explained_heads(atlas(layers=11, heads=20))
    assert {len(container) for container in ax.containers} == {11}


def test_sentences_name_the_best_and_the_least() -> None:
    first, second = explained_sentences(atlas(), stack="encoder")
    assert first.startswith("Names explain 40.0% of the median head's attention. Control, ")
    assert second == "Head 0.0 is explained best (80.0% ± 1.0), head 0.2 least (-20.0% ± 1.0)."
