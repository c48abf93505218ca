"""The numbers of an atlas as tables are those of its arrays."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from tests.helpers.atlases import random_atlas

from headscope.atlas import Atlas
from headscope.errors import AtlasError, HeadscopeError, OptionError


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return random_atlas()


def test_one_row_a_head_and_one_column_a_number(atlas: Atlas) -> None:
    frame = atlas.to_dataframe()
    offsets = atlas["offset_attention"]
    assert len(frame) == offsets.sizes["layer"] * offsets.sizes["head"]
    for row in frame.itertuples():
        assert frame.loc[row.Index, "offset_attention[-1]"] == offsets.sel(
            layer=row.layer, head=row.head, offset=-1
        )
    assert not [name for name in frame if name.startswith(("head_distance", "example_map"))]
    assert [name for name in frame if name.endswith("_stderr[-1]")]
    assert not [name for name in atlas.to_dataframe(errors=False) if "_stderr" in name]


def test_polars(atlas: Atlas, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(DataFrame=dict))
    columns = atlas.to_dataframe(library="polars")
    assert np.array_equal(columns["offset_attention[-1]"], atlas.to_dataframe()["offset_attention[-1]"])
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(HeadscopeError, match="pip install polars"):
        atlas.to_dataframe(library="polars")


def test_every_number_of_one_head(atlas: Atlas) -> None:
    frame = atlas.head("1.2").set_index(["measure", "label"])
    previous = frame.loc[("offset_attention", "-1")]
    for name, ending in {"value": "", "stderr": "_stderr"}.items():
        array = atlas["offset_attention" + ending]
        assert previous[name] == array.sel(layer=1, head=2, offset=-1).item()
    even = frame.xs("entropy", level="measure")["even"]
    assert set(even) == set(np.ravel(atlas["entropy_uniform"].values))
    assert frame.equals(atlas.head("encoder:1.2").set_index(["measure", "label"]))
    with pytest.raises(AtlasError, match=r"no head 99\.0; the encoder of this atlas has"):
        atlas.head("99.0")


def test_the_heads_with_the_most_of_a_measure(atlas: Atlas) -> None:
    best = atlas.top("offset_attention", offset=-1, n=3)
    values = atlas["offset_attention"].sel(offset=-1).transpose("layer", "head").values
    order = np.argsort(-values.ravel(), kind="stable")[:3]
    assert list(best["head"]) == [f"{at // values.shape[1]}.{at % values.shape[1]}" for at in order]
    assert list(best["value"]) == list(values.ravel()[order])
    assert atlas.top("entropy", lowest=True)["value"].is_monotonic_increasing
    with pytest.raises(OptionError, match="needs offset=, one of"):
        atlas.top("offset_attention")
    with pytest.raises(OptionError, match="it has no 99"):
        atlas.top("offset_attention", offset=99)
    with pytest.raises(OptionError, match="has no dimension role"):
        atlas.top("entropy", role="all")
    with pytest.raises(AtlasError, match="has no 'nothing'"):
        atlas.top("nothing")
