"""Profiles and pictures by layer: lines and dots show the atlas's own numbers."""

import numpy as np
import pytest
from tests.helpers.atlases import atlas_of, per_head, previous_token_atlas, random_atlas, stack_arrays

from headscope import figures
from headscope.errors import OptionError
from headscope.types import HeadId


def test_offset_profile_draws_the_heads_it_is_given() -> None:
    atlas = random_atlas()
    ax = figures.offset_profile(atlas, ["1.2", HeadId(0, 3)])
    lines = {line.get_label(): line for line in ax.get_lines()}
    np.testing.assert_allclose(lines["1.2"].get_ydata(), atlas["offset_attention"][1, 2])
    assert lines["0.3"].get_xdata().tolist() == list(range(-8, 9))


def test_offset_profile_finds_the_previous_token_head() -> None:
    ax = figures.offset_profile(previous_token_atlas())
    assert "2.6" in {text.get_text() for text in ax.get_legend().get_texts()}


def test_a_decoder_has_nothing_ahead() -> None:
    ax = figures.offset_profile(random_atlas(stacks=("decoder",)), ["0.0"])
    assert ax.get_lines()[0].get_xdata().tolist() == list(range(-8, 1))


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (["3.0"], "no head 3.0: layers go from 0 to 2, heads from 0 to 3"),
        (["x"], "not a head"),
        ([], "no heads"),
    ],
)
def test_heads_that_are_not_there(heads: list[str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        figures.offset_profile(random_atlas(), heads)
    with pytest.raises(OptionError, match=message):
        figures.distance_profile(random_atlas(), heads)


def test_distance_profile_by_layer_is_the_mean_of_its_heads() -> None:
    atlas = random_atlas()
    line = figures.distance_profile(atlas).get_lines()[1]
    np.testing.assert_allclose(line.get_ydata(), atlas["distance_features"][1, :, 5:].values.mean(0))
    np.testing.assert_allclose(line.get_xdata()[:2], [100 / 32, 300 / 32])


def test_distance_profile_of_a_head() -> None:
    atlas = random_atlas()
    line = figures.distance_profile(atlas, ["2.1"]).get_lines()[0]
    np.testing.assert_allclose(line.get_ydata(), atlas["distance_features"][2, 1, 5:])


def test_the_dashed_line_is_the_atlas_own_baseline() -> None:
    atlas = random_atlas()
    lines = {line.get_label(): line for line in figures.distance_profile(atlas).get_lines()}
    np.testing.assert_allclose(lines["even"].get_ydata(), atlas["distance_features_uniform"][5:])


def test_entropy_by_layer_shows_heads_means_and_the_baseline() -> None:
    atlas = random_atlas()
    ax = figures.entropy_by_layer(atlas)
    lines = {line.get_label(): line for line in ax.get_lines()}
    wanted = atlas["entropy"].sel(query_role="all")
    np.testing.assert_allclose(lines["one head"].get_ydata(), wanted.values.ravel())
    np.testing.assert_allclose(lines["layer mean"].get_ydata(), wanted.mean("head"))
    assert lines["even attention: 4.70"].get_ydata()[0] == 4.7


def test_role_by_layer_shows_one_role() -> None:
    atlas = random_atlas()
    ax = figures.role_by_layer(atlas, "sep")
    dots = next(line for line in ax.get_lines() if line.get_label() == "one head")
    np.testing.assert_allclose(
        dots.get_ydata(), atlas["role_attention"].sel(query_role="all", role="sep").values.ravel()
    )
    assert ax.get_title(loc="left") == "Attention to [SEP]"
    with pytest.raises(OptionError, match="choose from cls, sep, period, comma, other"):
        figures.role_by_layer(atlas, "verb")


def test_words_fit_the_kind_of_model() -> None:
    atlas = random_atlas(stacks=("encoder", "decoder", "cross"))
    titles = [
        figures.role_by_layer(atlas, "cls", stack=stack).get_title(loc="left") for stack in atlas.stacks
    ]
    assert titles == [
        "Attention to the first token",
        "Attention to the first token",
        "Attention to the first token of the source",
    ]


def test_a_layer_without_values_leaves_a_gap() -> None:
    arrays = stack_arrays(3, 4)
    arrays["entropy"].values[1] = np.nan
    ax = figures.entropy_by_layer(atlas_of(arrays))
    means = next(line for line in ax.get_lines() if line.get_label() == "layer mean").get_ydata()
    assert np.isnan(means).tolist() == [False, True, False]


@pytest.mark.parametrize("shape", [(1, 2), (24, 16)])
def test_any_shape_and_no_standard_errors(shape: tuple[int, int]) -> None:
    atlas = random_atlas(*shape, stderr=None)
    for ax in (
        figures.offset_profile(atlas),
        figures.distance_profile(atlas),
        figures.entropy_by_layer(atlas),
        figures.role_by_layer(atlas, "sep"),
        figures.head_map(atlas),
    ):
        ax.figure.canvas.draw()


def test_head_map_shows_every_head_in_its_place_and_colour() -> None:
    from headscope.kinds.map import head_map

    atlas = random_atlas()
    ax = figures.head_map(atlas)
    dots = ax.collections[0]
    found = head_map(atlas)
    np.testing.assert_allclose(dots.get_offsets()[:, 0], found["x"])
    assert dots.get_array().tolist() == found["layer"].values.tolist()
    assert f"stress {float(found['stress']):.2f}" in {text.get_text() for text in ax.texts}
    coloured = figures.head_map(atlas, color="entropy", select={"query_role": "cls"})
    np.testing.assert_allclose(
        coloured.collections[0].get_array(), atlas["entropy"].sel(query_role="cls").values.ravel()
    )


def test_a_map_computed_before_is_used() -> None:
    from headscope.kinds.map import head_map

    atlas = random_atlas()
    places = head_map(atlas)
    places["x"] = places["x"] + 1
    np.testing.assert_allclose(
        figures.head_map(atlas, places=places).collections[0].get_offsets()[:, 0], places["x"]
    )


def test_select_goes_with_a_measure() -> None:
    with pytest.raises(OptionError, match='color="layer" takes none'):
        figures.head_map(random_atlas(), select={"query_role": "all"})


def test_a_measure_with_other_labels_than_its_neighbours() -> None:
    """Two arrays that share a dimension are stored with the labels of both; the empty ones are no choice."""
    arrays = per_head("one", np.ones((1, 2, 2)), {"kind": ("a", "b")}) | per_head(
        "two", np.ones((1, 2, 1)), {"kind": ("c",)}
    )
    with pytest.raises(OptionError, match=r"choose from a, b$"):
        figures.head_grid(atlas_of(arrays), "one")
    assert figures.head_grid(atlas_of(arrays), "two").get_title(loc="left") == "Two (kind c)"
