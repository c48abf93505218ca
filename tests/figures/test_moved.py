import numpy as np
import pytest
from tests.helpers.atlases import random_atlas
from tests.helpers.tiny import tiny

import headscope as hs
from headscope import figures
from headscope.errors import AtlasError


def test_every_head_is_a_dot_at_what_it_looks_at_and_takes() -> None:
    texts = ["the cat sat on it, and a dog saw it.", "a dog saw it."]
    atlas = hs.analyze(tiny("bert"), texts, measures=["role_attention"], max_length=32)
    ax = figures.looked_and_moved(atlas)
    dots = {line.get_label(): line for line in ax.get_lines()}
    for label, role in (("[SEP]", "sep"), ("[CLS]", "cls")):
        at = {"role": role, "query_role": "all"}
        np.testing.assert_allclose(dots[label].get_xdata(), atlas["role_attention"].sel(at).values.ravel())
        np.testing.assert_allclose(
            dots[label].get_ydata(), atlas["role_attention_moved"].sel(at).values.ravel()
        )
    assert (ax.get_xlim(), ax.get_xlabel()) == (ax.get_ylim(), "share of attention")


def test_an_atlas_of_looks_alone_has_no_such_picture() -> None:
    with pytest.raises(AtlasError, match="headscope analyze --weigh both"):
        figures.looked_and_moved(random_atlas())
