"""What is said of a head that looks at a token and takes little from it."""

import numpy as np
from tests.helpers.atlases import atlas_of

import headscope as hs
from headscope.facts.headlines import leading
from headscope.facts.slices import head_values
from headscope.facts.titles import AtlasWords
from headscope.types import LabelledArray

ROLES = ("cls", "sep", "period", "comma", "other")
DIMS = ("layer", "head", "query_role", "role")


def atlas(*, looked: float, moved: float, error: float = 0.01) -> hs.Atlas:
    """Two layers of two heads that look evenly and take evenly, but for head 1.0 and [SEP]."""
    arrays = {}
    for name, share in (("role_attention", looked), ("role_attention_moved", moved)):
        values = np.full((2, 2, 1, 5), 0.02)
        values[1, 0, 0, 1] = share
        values[..., 4] = 1 - values[..., :4].sum(-1)
        coords = {"layer": range(2), "head": range(2), "query_role": ("all",), "role": ROLES}
        arrays[name] = LabelledArray(values, DIMS, coords, name)
        arrays[f"{name}_stderr"] = LabelledArray(np.full_like(values, error), DIMS, coords, name)
        even = np.array([[0.02, 0.02, 0.02, 0.02, 0.92]])
        arrays[f"{name}_uniform"] = LabelledArray(
            even, DIMS[2:], {dim: coords[dim] for dim in DIMS[2:]}, name
        )
    return atlas_of(arrays, texts="100")


def told(of: hs.Atlas) -> list[str]:
    return [finding.text for finding in hs.findings(of) if " takes " in finding.text]


def test_the_head_that_looks_and_does_not_take() -> None:
    (text,) = told(atlas(looked=0.38, moved=0.06))
    assert text == (
        "Head 1.0 looks at [SEP] 38.0% ± 1.0 and takes 6.0% ± 1.0 from it. "
        "On average over heads: looks 11.0%, takes 3.0%."
    )


def test_small_or_unsure_differences_are_not_told() -> None:
    assert not told(atlas(looked=0.38, moved=0.35))
    assert not told(atlas(looked=0.38, moved=0.30, error=0.05))


def test_its_card_says_what_it_takes() -> None:
    assert (
        "Looks at [SEP]: 38.0%, evenly 2.0%; takes 6.0% from there."
        in hs.card(atlas(looked=0.38, moved=0.06), "1.0").text
    )
    assert "Looks at [SEP]: 38.0%, evenly 2.0%." in hs.card(atlas(looked=0.38, moved=0.36), "1.0").text


def test_titles_and_units_say_what_is_moved() -> None:
    whole = atlas(looked=0.38, moved=0.06)
    picked = head_values(whole, "role_attention_moved", select={"role": "sep", "query_role": "all"})
    words = AtlasWords(whole)
    assert words.title(picked) == "Moved attention to [SEP]"
    assert words.unit(picked) == "share of what is moved"


def test_show_names_it_without_being_asked_for_all() -> None:
    """It has a topic of its own, so that what is shown first, a finding a topic, has it."""
    of = atlas(looked=0.38, moved=0.06)
    assert any(" takes " in finding.text for finding in leading(hs.findings(of)))
