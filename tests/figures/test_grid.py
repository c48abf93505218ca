"""Head grids: the right number in the right cell, and clear words when a slice is not named."""

import itertools

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.helpers.atlases import atlas_of, per_head, previous_token_atlas, random_atlas

from headscope import figures
from headscope.errors import AtlasError, OptionError
from headscope.figures.colours import COLOUR_MAPS, LEVELS, LIGHT_RAMPS


def values_of(ax: Axes) -> np.ma.MaskedArray:
    return ax.collections[0].get_array()


def test_the_previous_token_head_is_the_one_dark_cell() -> None:
    ax = figures.head_grid(previous_token_atlas(), "offset_attention", select={"offset": -1})
    assert values_of(ax).reshape(3, 8)[2, 6] == 0.9
    assert ax.get_title(loc="left") == "Attention to the previous token"
    assert ax.collections[0].get_clim() == (0, 1)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0", "1", "2"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # layer 0 on top
    texts = {(text.get_position(), text.get_text()) for text in ax.texts}
    assert ((6, 2), ".90") in texts


def test_it_draws_on_the_axes_it_is_given_and_leaves_pyplot_alone() -> None:
    from matplotlib import pyplot

    given = Figure().subplots()
    assert figures.head_grid(random_atlas(), "entropy", select={"query_role": "all"}, ax=given) is given
    assert pyplot.get_fignums() == []


def test_several_labels_of_a_share_are_added() -> None:
    atlas = random_atlas()
    ax = figures.head_grid(atlas, "role_attention", select={"role": ["period", "comma"], "query_role": "all"})
    wanted = atlas["role_attention"].sel(query_role="all", role=["period", "comma"]).sum("role")
    np.testing.assert_allclose(values_of(ax).ravel(), wanted.values.ravel())
    assert ax.get_title(loc="left") == "Attention to full stops and commas"


def test_entropy_is_coloured_up_to_even_attention() -> None:
    ax = figures.head_grid(random_atlas(), "entropy", select={"query_role": "all"})
    assert ax.collections[0].get_clim() == (0, 4.7)
    assert ax.figure.axes[1].get_xlabel() == "nats"


def test_small_shares_get_a_small_scale_that_the_bar_states() -> None:
    atlas = atlas_of(per_head("thing", np.full((2, 2), 0.004)))
    ax = figures.head_grid(atlas, "thing")
    assert ax.collections[0].get_clim() == (0, 0.01)
    bar = ax.figure.axes[1]
    assert [label.get_text() for label in bar.get_xticklabels()] == ["0", "0.005", "0.01"]


def test_limits_can_be_given() -> None:
    ax = figures.head_grid(previous_token_atlas(), "offset_attention", select={"offset": 3}, limits=(0, 0.25))
    assert ax.collections[0].get_clim() == (0, 0.25)
    with pytest.raises(OptionError, match="smaller first"):
        figures.head_grid(previous_token_atlas(), "offset_attention", select={"offset": 3}, limits=(1, 0))


@pytest.mark.parametrize(
    ("measure", "select", "message"),
    [
        ("entropy", {}, r"'entropy' needs select=\{'query_role': ...\}; choose from all, cls$"),
        ("entropy", {"query_role": "sep"}, "no query_role 'sep'; choose from all, cls$"),
        ("entropy", {"role": "sep"}, "'entropy' has no dimension 'role'; select takes query_role"),
        ("entropy", {"query_role": ["all", "cls"]}, "in nats, which cannot be added up"),
        ("offset_attention", {"offset": 9}, "no offset 9; choose from -8, -7"),
        ("offset_attention", {"offset": []}, "is empty"),
        ("head_distance", {}, "its dimensions are head_a, head_b, not layer and head"),
    ],
)
def test_a_slice_that_is_missing_or_wrong(measure: str, select: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        figures.head_grid(random_atlas(), measure, select=select)  # type: ignore[arg-type]


def test_a_measure_the_atlas_lacks() -> None:
    atlas = random_atlas(stacks=("encoder", "cross"))
    with pytest.raises(AtlasError, match="no 'magic'; it has "):
        figures.head_grid(atlas, "magic")
    with pytest.raises(AtlasError, match="the cross of this atlas has no 'offset_attention'"):
        figures.head_grid(atlas, "offset_attention", select={"offset": -1}, stack="cross")


def test_cells_without_a_value_are_masked_and_unwritten() -> None:
    values = np.full((2, 2), 0.3)
    values[1, 0] = np.nan
    ax = figures.head_grid(atlas_of(per_head("thing", values)), "thing")
    assert values_of(ax).mask.reshape(2, 2).tolist() == [[False, False], [True, False]]
    assert len(ax.texts) == 3


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (6, 12), (12, 12), (24, 16), (32, 32)])
def test_any_shape_has_room_for_its_labels(shape: tuple[int, int]) -> None:
    ax = figures.head_grid(random_atlas(*shape), "offset_attention", select={"offset": -1})
    ax.figure.canvas.draw()
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: (box.x0, box.y0))
        for one, other in itertools.pairwise(boxes):
            assert not (one.overlaps(other) and one.x0 < other.x1 and one.y0 < other.y1)
    assert len(ax.get_xticks()) <= 16
    assert len(ax.get_yticks()) <= 16
    assert bool(ax.texts) == (shape[0] * shape[1] <= 200)


def test_a_dollar_sign_starts_no_formula() -> None:
    name = r"cost $\bad$"
    ax = figures.head_grid(atlas_of(per_head(name, np.ones((1, 2)), units=name)), name)
    ax.figure.canvas.draw()


def test_ramps_get_steadily_darker() -> None:
    for name, ramp in LIGHT_RAMPS.items():
        light = [
            sum(w * int(c[i : i + 2], 16) for w, i in ((0.2126, 1), (0.7152, 3), (0.0722, 5))) for c in ramp
        ]
        assert all(one > other for one, other in itertools.pairwise(light)), name
        assert len(set(ramp)) == LEVELS
    assert COLOUR_MAPS["share"].N == LEVELS


def test_in_cross_attention_the_decoder_asks() -> None:
    atlas = random_atlas(stacks=("encoder", "decoder", "cross"))
    ax = figures.head_grid(atlas, "entropy", select={"query_role": "cls"}, stack="cross")
    title = ax.get_title(loc="left") or ax.get_title()
    assert "from" in title
    assert "source" not in title
