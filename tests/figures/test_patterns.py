"""Pictures of the five patterns: bars that add up, and maps under the right names."""

import numpy as np
import pytest
from tests.helpers.atlases import empty_atlas, random_atlas

from headscope import figures
from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.types import LabelledArray


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
