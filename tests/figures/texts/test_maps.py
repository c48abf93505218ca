"""Maps of single heads: the right ones, under their names."""

import numpy as np
import pytest
from tests.helpers.atlases import empty_atlas, random_atlas
from tests.helpers.tiny import tiny

import headscope as hs
from headscope import figures
from headscope.atlas import Atlas
from headscope.errors import AtlasError, OptionError
from headscope.types import LabelledArray

TEXTS = [
    "the cat sat on the mat . the dog saw it , and it was red .",
    "a house was red . it was in the mat .",
]


def test_example_maps_show_the_heads_named() -> None:
    atlas = hs.analyze(tiny("bert"), TEXTS, measures=["example_map"], max_length=32)
    ax = figures.example_maps(atlas, {"broad": "0.1", "next token": "2.3"})
    assert [text.get_text() for text in ax.texts] == ["broad: 0.1", "next token: 2.3"]
    shown = ax.collections[1].get_array()
    expected = np.sqrt(atlas["example_map"].values[2, 3])
    assert np.asarray(shown).reshape(expected.shape) == pytest.approx(expected)
    with pytest.raises(OptionError, match=r"there is no head 9\.9"):
        figures.example_maps(atlas, {"broad": "9.9"})
    with pytest.raises(OptionError, match="no heads were given"):
        figures.example_maps(atlas, {})


def with_maps() -> Atlas:
    maps = np.stack([np.eye(4), np.full((4, 4), 0.25)])
    coords = {"shown_pattern": ("diagonal", "heterogeneous"), "row": range(4), "column": range(4)}
    arrays = {"pattern_map": LabelledArray(maps, tuple(coords), coords, "maps")}
    rows = [{"pattern": "diagonal", "head": "1.2"}, {"pattern": "heterogeneous", "head": "0.3"}]
    return empty_atlas().with_probe(
        "pattern_maps", {"encoder": arrays}, facts={"data": "x"}, table={"encoder": rows}, examples={}
    )


def test_maps_stand_under_their_pattern_and_head() -> None:
    ax = figures.pattern_maps(with_maps())
    assert [text.get_text() for text in ax.texts] == ["diagonal (1.2)", "heterogeneous (0.3)"]
    first, second = (np.ma.filled(mesh.get_array(), 0.0) for mesh in ax.collections)
    assert np.allclose(first.reshape(4, 4), np.eye(4))
    assert np.allclose(second, 0.5)  # the square root of a quarter
    with pytest.raises(AtlasError, match="has no 'pattern_map'"):
        figures.pattern_maps(random_atlas())
