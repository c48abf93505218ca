"""Arrays without xarray: the same parts of the same numbers."""

import warnings
from collections.abc import Iterator, Sequence

import pytest
import xarray as xr
from tests.helpers.atlases import random_atlas
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.atlas import Atlas
from headscope.facts.head_arrays import Choice, HeadArray, stack_arrays
from headscope.facts.titles import AtlasWords
from headscope.pages.atlas import colourings
from headscope.pages.head.page import head_page

MEASURE = "role_attention"


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return random_atlas(3, 4)


def same(own: HeadArray, known: xr.DataArray) -> None:
    assert own.dims == known.dims
    assert own.sizes == dict(known.sizes)
    assert own.labels == {dim: known[dim].values.tolist() for dim in known.dims}
    assert own.units == known.attrs["units"]
    xr.testing.assert_identical(xr.Variable(own.dims, own.values), xr.Variable(known.dims, known.values))


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"layer": 2},
        {"role": "period", "layer": 1},
        {"role": ["period", "cls"]},
        {"head": (3, 0), "role": "sep", "query_role": ["all"]},
        {"role": []},
    ],
)
def test_a_part_is_what_xarray_takes(atlas: Atlas, labels: dict[str, Choice | Sequence[Choice]]) -> None:
    wanted = {dim: list(label) if isinstance(label, tuple) else label for dim, label in labels.items()}
    same(stack_arrays(atlas, "encoder")[MEASURE].sel(**labels), atlas[MEASURE].sel(wanted))


def test_axes_in_another_order(atlas: Atlas) -> None:
    order = ("role", "head", "query_role", "layer")
    same(stack_arrays(atlas, "encoder")[MEASURE].transpose(*order), atlas[MEASURE].transpose(*order))


@pytest.fixture(scope="module")
def decoders() -> Iterator[dict[str, hs.Atlas]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measures = ["role_attention", "distance_features", "named_patterns", "offset_attention"]
        texts = [("the cat sat.", "a dog, it saw."), "the dog saw it, and the cat sat on the mat."]
        yield {
            name: hs.analyze(tiny(name), texts, measures=measures, max_length=60) for name in ("bert", "gpt2")
        }


def test_a_decoder_has_neither_tokens_that_its_texts_lack_nor_sentences_of_a_pair(
    decoders: dict[str, hs.Atlas],
) -> None:
    own = stack_arrays(decoders["gpt2"], "decoder")
    assert own["role_attention"].choices("role") == ["cls", "period", "comma", "other"]
    assert "sep" not in own["distance_features"].labels["feature"]
    assert not [name for name in own["named_patterns"].labels["pattern"] if "sentence" in str(name)]
    assert own["role_attention_stderr"].labels == own["role_attention"].labels
    assert max(own["offset_attention"].labels["offset"]) == 0  # type: ignore[type-var]
    assert "next_word" not in own["named_patterns"].labels["pattern"]
    other = stack_arrays(decoders["bert"], "encoder")
    assert "sep" in other["role_attention"].choices("role")
    assert "other_sentence" in other["named_patterns"].choices("pattern")


def test_nothing_is_said_of_them(decoders: dict[str, hs.Atlas]) -> None:
    said = " ".join(finding.text for finding in hs.findings(decoders["gpt2"]))
    assert "other sentence" not in said
    assert "end of text" not in said
    page = head_page(decoders["gpt2"], "decoder", 0, 1).model_dump_json()
    assert "sentence of" not in page
    assert "other sentence" not in page


def test_numbers_along_a_dimension_are_those_under_its_labels(atlas: Atlas) -> None:
    array = stack_arrays(atlas, "encoder")[MEASURE].sel(layer=2, head=1)
    asking = array.labels["query_role"][-1]
    along = array.along("role", query_role=asking)
    assert along == {role: array.number(role=role, query_role=asking) for role in array.labels["role"]}
    assert array.along("role", query_role="nobody") == array.along("role") == {}


def test_a_decoder_is_not_coloured_by_what_no_head_can_do(decoders: dict[str, hs.Atlas]) -> None:
    for name, stack in (("gpt2", "decoder"), ("bert", "encoder")):
        known = {one.key: one for one in colourings(decoders[name], stack, AtlasWords(decoders[name]))}
        assert ("offset_attention:offset=1" in known) == (name == "bert")
        assert "offset_attention:offset=-1" in known
        if name == "gpt2":
            assert [key for key, one in known.items() if not any(one.values)] == []
