"""A head's card says what is clear of its control, and nothing else."""

import numpy as np
import pytest
from tests.helpers.atlases import per_head, random_atlas

import headscope as hs
from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.headlines import headlines
from headscope.types import LabelledArray

OFFSETS = (-1, 0, 1)


def looking(value: float, error: float = 0.01, even: float = 0.02) -> Atlas:
    """Head 1.2 gives the previous token so much; all others look evenly."""
    values = np.full((2, 3, 3), even)
    values[1, 2, 0] = value
    arrays = per_head("offset_attention", values, {"offset": OFFSETS}, stderr=error)
    uniform = LabelledArray(np.full(3, even), ("offset",), {"offset": OFFSETS}, "even", "1")
    arrays["offset_attention_uniform"] = uniform
    return Atlas.build({"encoder": arrays}, provenance=random_atlas().provenance | {"texts": 64})


def test_what_is_clear_of_even_attention_is_said() -> None:
    card = hs.card(looking(0.9), "1.2")
    [claim] = card.looks
    assert claim.text == "Looks at the previous token: 90.0%, evenly 2.0%."
    assert (claim.score.value, claim.control.value) == (0.9, 0.02)
    assert claim.score.interval == pytest.approx((0.88, 0.92), abs=1e-3)
    assert str(card) == "Looks at the previous token: 90.0%, evenly 2.0%."
    assert hs.card(looking(0.9), "encoder:1.2") == card
    assert hs.card(looking(0.9), "1.1").text == "Nothing that was measured stands out."


@pytest.mark.parametrize(("value", "error"), [(0.1, 0.001), (0.9, 0.5)], ids=["small", "unsure"])
def test_what_is_small_or_unsure_is_not(value: float, error: float) -> None:
    assert not hs.card(looking(value, error), "1.2").looks


@pytest.fixture(scope="module")
def decoder() -> Atlas:
    """A few texts of the demo decoder: where its heads look, and which are of a known kind."""
    texts = hs.read_text(hs.sample_path("articles"))
    measures = ["offset_attention", "role_attention", "named_patterns"]
    atlas = hs.analyze("demo-lm", texts, limit=4, measures=measures, sentences=0)
    return hs.known("demo-lm", made=6).to_atlas(atlas)


def test_the_card_of_an_induction_head_begins_with_induction(decoder: Atlas) -> None:
    card = hs.card(decoder, "4.5")
    assert card.sentences[0].startswith("Is an induction head: ")
    assert card.finds[0].doing < 10
    assert not any("sink" in sentence for sentence in card.sentences)  # most heads are


def test_a_head_that_does_only_what_most_do_says_so(decoder: Atlas) -> None:
    [sentence] = hs.card(decoder, "4.7").sentences
    assert "the first token" in sentence


def test_the_headlines_of_a_decoder_name_its_induction_head(decoder: Atlas) -> None:
    leading = headlines(hs.findings(decoder))
    assert any("is an induction head" in finding.text for finding in leading)
    assert not any("sink" in finding.text for finding in leading)


def test_a_head_that_is_not_there() -> None:
    with pytest.raises(AtlasError, match=r"no head 9\.0; the encoder of this atlas has 2 layers of 3 heads"):
        hs.card(looking(0.5), "9.0")
