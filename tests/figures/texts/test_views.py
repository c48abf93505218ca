"""The pictures of one text: every line and cell at its place, as strong as its weight."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from tests.helpers.atlases import atlas_of, per_head, random_atlas

from headscope import figures
from headscope.errors import AtlasError, OptionError
from headscope.figures.style.colours import COLOUR_MAPS, HEAD_COLOURS
from headscope.figures.texts.views import ROW

TOKENS = ["[CLS]", "the", "cat", "$a_b$"]


def weights(heads: int = 2) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.full(4, 0.4), size=(heads, 4))


def test_lines_run_between_the_right_tokens() -> None:
    array = weights()
    ax = figures.head_view(array, TOKENS, threshold=0.05)
    [lines] = ax.collections
    drawn = set()
    for path, colour in zip(lines.get_segments(), lines.get_edgecolors(), strict=True):
        (_, start), (_, end) = path
        head = [to_rgb(one) for one in HEAD_COLOURS].index(tuple(colour[:3]))
        query, key = round(start / ROW), round(end / ROW)
        drawn.add((head, query, key))
        assert colour[3] == pytest.approx(0.08 + 0.92 * array[head, query, key])
    assert drawn == {tuple(place) for place in np.argwhere(array >= 0.05)}


def test_the_strongest_line_is_on_top_and_only_chosen_heads_are_drawn() -> None:
    ax = figures.head_view(weights(), TOKENS, heads=[1], threshold=0)
    [lines] = ax.collections
    assert len(lines.get_segments()) == 16
    widths = lines.get_linewidths()
    assert list(widths) == sorted(widths)
    assert ax.get_legend() is None
    assert figures.head_view(weights(), TOKENS).get_legend() is not None


def test_tokens_stand_on_both_sides() -> None:
    ax = figures.head_view(weights()[:, :3], TOKENS[:3], key_tokens=TOKENS, title="a $ title")
    written = [text.get_text() for text in ax.texts]
    assert written == ["from", "to", *TOKENS[:3], *TOKENS]
    assert ax.get_title(loc="left") == "a $ title"


def test_cells_have_the_colour_of_their_weight() -> None:
    array = weights()[0]
    ax = figures.matrix_view(array, TOKENS)
    [cells] = ax.collections
    low, high = cells.get_clim()
    assert low == 0
    assert high >= array.max()
    places = {
        (round(path.vertices[0][1] / ROW), round(path.vertices[0][0] / ROW)): value
        for path, value in zip(cells.get_paths(), cells.get_array(), strict=True)
    }
    for (query, key), value in places.items():
        assert value == array[query, key]
    pale = [array[query, key] for query in range(4) for key in range(4) if (query, key) not in places]
    assert all(COLOUR_MAPS["share"](value / high) == COLOUR_MAPS["share"](0) for value in pale)


@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_both_are_vectors(tmp_path: Path, kind: str) -> None:
    for number, ax in enumerate(
        [figures.head_view(weights(), TOKENS), figures.matrix_view(weights()[0], TOKENS)]
    ):
        path = figures.save(ax, tmp_path / f"{number}.{kind}")
        content = path.read_bytes()
        assert b"<image" not in content
        assert b"/Subtype /Image" not in content
        if kind == "svg":
            assert b">[CLS]<" in content


@pytest.mark.parametrize(
    ("shape", "options", "says"),
    [
        ((4, 4), {}, "expected (head, query, key)"),
        ((1, 4, 3), {}, "4 queries and 3 keys"),
        ((2, 4, 4), {"heads": [2]}, "some of 0 to 1"),
        ((2, 4, 4), {"heads": []}, "some of 0 to 1"),
    ],
)
def test_what_does_not_fit_is_told(shape: tuple[int, ...], options: dict, says: str) -> None:
    with pytest.raises(OptionError) as failure:
        figures.head_view(np.full(shape, 0.25), TOKENS, **options)
    assert says in str(failure.value)


def test_weights_must_be_numbers() -> None:
    with pytest.raises(OptionError, match="at least 0"):
        figures.matrix_view(np.full((4, 4), np.nan), TOKENS)


def test_a_figure_is_named_by_whoever_draws_it() -> None:
    assert figures.head_view(weights(), TOKENS).get_title(loc="left") == ""
    assert figures.matrix_view(weights()[0], TOKENS).get_title(loc="left") == ""


def test_the_model_view_has_a_map_for_every_head_at_its_place() -> None:
    maps = np.zeros((2, 3, 32, 32))
    maps[1, 2, 31, 0] = 0.64  # the last query looks at the first key
    maps[0, 0, 0, 0] = 0.01  # too faint to show
    coords = {"row": range(32), "column": range(32)}
    ax = figures.model_view(atlas_of(per_head("example_map", maps, coords, stderr=None)))
    meshes = ax.collections
    assert len(meshes) == 6
    drawn = [np.ma.filled(mesh.get_array(), 0.0).reshape(16, 16) for mesh in meshes]
    assert [np.argwhere(one > 0).tolist() for one in drawn] == [[], [], [], [], [], [[15, 0]]]
    assert drawn[5][15, 0] == pytest.approx(0.8)  # the square root
    left, top = meshes[5].get_coordinates()[0, 0]
    assert (left, top) == pytest.approx((2 * 1.12, 1 * 1.12))
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert labels == ["0", "1"]
    with pytest.raises(AtlasError, match="no example_map"):
        figures.model_view(random_atlas())
