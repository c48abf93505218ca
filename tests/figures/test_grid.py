"""Head grids: the right number in the right cell, and clear words when a slice is not named."""

import itertools

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.helpers.atlases import (
    atlas_of,
    empty_atlas,
    per_head,
    previous_token_atlas,
    probe_facts,
    random_atlas,
)

from headscope import figures
from headscope.errors import AtlasError, OptionError
from headscope.figures.style.colours import (
    COLOUR_MAPS,
    INK,
    KINDS,
    LEVELS,
    LIGHT_RAMPS,
    MUTED,
    NO_DATA,
    PAPER,
    RULE,
    SERIES,
)


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

    before = pyplot.get_fignums()  # of other tests of this process
    given = Figure().subplots()
    assert figures.head_grid(random_atlas(), "entropy", select={"query_role": "all"}, ax=given) is given
    assert pyplot.get_fignums() == before


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


def lightness(colours: list[str]) -> list[float]:
    weights = ((0.2126, 1), (0.7152, 3), (0.0722, 5))
    return [sum(weight * int(colour[at : at + 2], 16) for weight, at in weights) for colour in colours]


def test_ramps_get_steadily_darker() -> None:
    halves = {
        "below 0": LIGHT_RAMPS["signed"][: LEVELS // 2][::-1],
        "above 0": LIGHT_RAMPS["signed"][LEVELS // 2 :],
    }
    one_way = {name: ramp for name, ramp in LIGHT_RAMPS.items() if name != "signed"}
    for name, ramp in (one_way | halves).items():
        assert all(one > other for one, other in itertools.pairwise(lightness(ramp))), name
    assert all(len(set(ramp)) == LEVELS for ramp in LIGHT_RAMPS.values())
    assert COLOUR_MAPS["share"].N == LEVELS


def test_a_colour_tells_its_ramp() -> None:
    """The page maps colours to the theme, for which each must stand for one thing."""
    every = [colour for ramp in LIGHT_RAMPS.values() for colour in ramp] + [
        INK,
        MUTED,
        RULE,
        PAPER,
        NO_DATA,
        *SERIES,
        *KINDS,
    ]
    assert len(every) == len(set(every))


def test_values_on_both_sides_of_0_have_colours_that_say_so() -> None:
    ax = figures.head_grid(atlas_of(per_head("thing", np.array([[-0.3, 0.1], [0.0, 0.2]]))), "thing")
    assert ax.collections[0].get_clim() == (-0.3, 0.3)
    assert ax.collections[0].get_cmap().name == "signed"
    assert {text.get_text() for text in ax.texts} == {"-.30", ".10", ".00", ".20"}


@pytest.mark.parametrize(
    ("measure", "coords"),
    [
        (
            "dependency_accuracy",
            {"relation": ("det", "obj"), "direction": ("dependent_to_head", "head_to_dependent")},
        ),
        (
            "coreference_accuracy",
            {"mention_class": ("proper_noun",), "direction": ("mention_to_antecedent",)},
        ),
        (
            "feature_preference",
            {"feature": ("noun", "verb")},
        ),
    ],
)
def test_what_probes_found(measure: str, coords: dict[str, tuple[str, ...]]) -> None:
    values = np.full((2, 2, *map(len, coords.values())), 0.7)
    probe = {"feature_preference": "features"}.get(measure, measure.partition("_")[0])
    arrays = {"encoder": per_head(measure, values, coords)}
    atlas = empty_atlas().with_probe(probe, arrays, facts=probe_facts(), table={}, examples={})
    select = {dim: labels[0] for dim, labels in coords.items()}
    ax = figures.head_grid(atlas, measure, select=select)
    assert [float(text.get_text()) for text in ax.texts] == [0.7] * 4
    dim = next(iter(coords))
    if len(coords[dim]) > 1:
        with pytest.raises(OptionError, match="is a ratio, which cannot be added up"):
            figures.head_grid(atlas, measure, select=select | {dim: list(coords[dim])})


def test_in_cross_attention_the_decoder_asks() -> None:
    atlas = random_atlas(stacks=("encoder", "decoder", "cross"))
    ax = figures.head_grid(atlas, "entropy", select={"query_role": "cls"}, stack="cross")
    title = ax.get_title(loc="left") or ax.get_title()
    assert "from" in title
    assert "source" not in title
