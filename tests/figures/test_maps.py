"""Maps of single heads: the right ones, under their names."""

import numpy as np
import pytest
from tests.helpers.tiny import tiny

import headscope as hs
from headscope import figures
from headscope.errors import OptionError

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
