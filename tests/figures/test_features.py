"""What [CLS] of the last layer gives each class of words: the right rows under the right names."""

import numpy as np
from tests.helpers.atlases import random_atlas

from headscope import figures
from headscope.atlas import Atlas
from headscope.types import LabelledArray


def test_what_cls_gives_each_class() -> None:
    values = np.array([[0.1, 0.2, 0.3], [0.4, 0.05, 0.6]])
    coords = {"feature": ("noun", "sep"), "head": range(3)}
    arrays = {
        f"feature_attention_cls{ending}": LabelledArray(part, tuple(coords), coords, "attention")
        for ending, part in (("", values), ("_against", values / 2))
    }
    atlas = Atlas.build({"encoder": arrays}, provenance=random_atlas().provenance)
    for against, shown in ((False, values), (True, values / 2)):
        ax = figures.cls_attention(atlas, against=against)
        assert [label.get_text() for label in ax.get_yticklabels()] == ["nouns", "[SEP]"]
        assert np.allclose(np.asarray(ax.collections[0].get_array()).reshape(2, 3), shown)
