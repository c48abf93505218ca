"""Pictures of kinds: the right heads in the right place, and clear words when there are no kinds."""

import warnings

import numpy as np
import pytest
from tests.helpers.atlases import random_atlas
from tests.helpers.kinds import kinds_atlas, kinds_of_heads

from headscope import figures
from headscope.atlas import Atlas
from headscope.errors import AtlasError, OptionError
from headscope.figures.kinds import kind_colours
from headscope.figures.style.colours import PALETTE
from headscope.figures.texts.maps import EXAMPLES
from headscope.kinds.kinds import head_types
from headscope.pages.page import asset


@pytest.fixture
def atlas() -> Atlas:
    """48 heads of four kinds, sorted."""
    made = kinds_atlas()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return head_types(made).to_atlas(made)


def test_bars_of_a_layer_add_up_to_its_heads(atlas: Atlas) -> None:
    ax = figures.kinds_by_layer(atlas)
    tops = {}
    for bar in ax.patches:
        place = round(bar.get_x() + bar.get_width() / 2)
        tops[place] = max(tops.get(place, 0), bar.get_y() + bar.get_height())
    assert tops == dict.fromkeys(range(6), 8)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(
        atlas["head_type_centre"]["type"].values
    )


def test_boxes_show_the_medians_of_each_kind(atlas: Atlas) -> None:
    ax = figures.feature_boxes(atlas)
    values = atlas["distance_features"].values[kinds_of_heads(6, 8) == "vertical"]
    lines = [line.get_ydata()[0] for line in ax.lines if len(set(line.get_ydata())) == 1]
    assert any(np.isclose(line, np.median(values[:, 1])) for line in lines)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(labels) == sorted(f"{name} (12)" for name in set(kinds_of_heads(6, 8).reshape(-1)))


def test_examples_are_the_most_typical_heads(atlas: Atlas) -> None:
    ax = figures.kind_examples(atlas)
    words = [text.get_text() for text in ax.texts]
    certainty, kind = atlas["head_type_certainty"].values, atlas["head_type"].values
    for name in set(kind.reshape(-1)):
        place = words.index(name)
        shown = words[place + 1 : place + 1 + EXAMPLES]
        own = {
            f"{layer}.{head}": certainty[layer, head] for layer, head in np.argwhere(kind == name).tolist()
        }
        assert shown == sorted(own, key=lambda head: -own[head])[:EXAMPLES]
    assert len(ax.collections) == 4 * EXAMPLES


@pytest.mark.parametrize("draw", [figures.head_map, figures.feature_map])
def test_maps_coloured_by_type_show_every_head_once(draw, atlas: Atlas) -> None:
    ax = draw(atlas, color="type")
    assert sum(len(dots.get_offsets()) for dots in ax.collections) == 48
    names = list(atlas["head_type_centre"]["type"].values)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == names
    assert "coloured by type" in ax.get_title(loc="left")


def test_a_feature_map_can_be_coloured_by_any_measure(atlas: Atlas) -> None:
    ax = figures.feature_map(atlas, color="distance_features", select={"feature": "sep"})
    np.testing.assert_allclose(
        np.sort(ax.collections[0].get_array()), np.sort(atlas["distance_features"].values[..., 1].ravel())
    )
    with pytest.raises(OptionError, match="takes none"):
        figures.feature_map(atlas, color="layer", select={"feature": "sep"})


def test_kinds_have_their_colour_in_every_picture() -> None:
    colours = kind_colours(["a", "b", "c"])
    assert len(set(colours.values())) == 3


@pytest.mark.parametrize("draw", [figures.kinds_by_layer, figures.feature_boxes, figures.kind_examples])
def test_without_kinds_the_error_says_what_to_do(draw) -> None:
    with pytest.raises(AtlasError, match="headscope types"):
        draw(random_atlas())


def test_without_maps_the_error_says_what_to_do() -> None:
    made = kinds_atlas(with_maps=False)
    with pytest.raises(AtlasError, match="example_map"):
        figures.kind_examples(head_types(made).to_atlas(made))


def test_kinds_of_the_same_names_have_the_same_colours_in_two_models() -> None:
    assert kind_colours(["near", "self", "far"]) == kind_colours(["self", "far", "near"])
    assert list(kind_colours(["near", "far"])) == ["near", "far"]


def test_the_front_end_is_built_with_the_palette_of_the_figures() -> None:
    bundle = asset("headscope.js")
    assert [
        colour
        for palette in PALETTE.values()
        for colours in palette.values()
        for colour in colours
        if colour not in bundle
    ] == []


def test_a_bar_for_every_name() -> None:
    shares = {"a on x": [0.5, 0.2, 0.3], "b on y": [0.1, 0.8, 0.1]}
    ax = figures.pattern_bars(shares, ("vertical", "diagonal", "block"))
    assert [label.get_text() for label in ax.get_yticklabels()] == list(shares)
    found: dict[int, list[float]] = {}
    for bar in sorted(ax.patches, key=lambda one: one.get_x()):
        row = round(bar.get_y() + bar.get_height() / 2)
        assert bar.get_x() == pytest.approx(sum(found.get(row, [])))
        found.setdefault(row, []).append(bar.get_width())
    assert list(found.values()) == [pytest.approx(values) for values in shares.values()]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["vertical", "diagonal", "block"]
