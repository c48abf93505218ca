"""A head's card says what is clear of its control, and nothing else."""

import re
from dataclasses import replace

import pytest
from tests.helpers.atlases import example
from tests.planted import looking, scored

import headscope as hs
from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts import card as module
from headscope.facts.headlines import headlines
from headscope.facts.sentences import Sentence


def numbers(text: str) -> list[float]:
    """Those of a sentence, in their order."""
    return [float(number) for number in re.findall(r"\d+\.?\d*", text)]


def test_what_is_clear_of_even_attention_is_said() -> None:
    card = hs.card(looking(0.9), "1.2")
    [claim] = card.looks
    assert numbers(claim.text) == [90, 2]
    assert (claim.score.value, claim.control.value) == (0.9, 0.02)
    assert claim.score.interval == pytest.approx((0.88, 0.92), abs=1e-3)
    assert str(card) == claim.text
    assert hs.card(looking(0.9), "encoder:1.2") == card
    other = hs.card(looking(0.9), "1.1")
    assert (other.claims, numbers(other.text)) == ((), [])


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
    assert card.finds[0].label == "induction"
    assert card.finds[0].doing < 10
    assert not any("sink" in claim.text for claim in card.claims)  # most heads are


def test_a_head_that_does_only_what_most_do_says_so(decoder: Atlas) -> None:
    [claim] = hs.card(decoder, "4.7").claims
    assert "the first token" in claim.text


def test_the_headlines_of_a_decoder_name_its_induction_head(decoder: Atlas) -> None:
    leading = headlines(hs.findings(decoder))
    assert any("is an induction head" in finding.text for finding in leading)
    assert not any("sink" in finding.text for finding in leading)


def test_a_head_that_is_not_there() -> None:
    with pytest.raises(AtlasError, match=r"no head 9\.0; the encoder of this atlas has 2 layers of 3 heads"):
        hs.card(looking(0.5), "9.0")


def test_how_much_names_explain_is_said_beside_the_control() -> None:
    explained = hs.card(looking(0.9, explained_share=0.8), "1.2").explained
    assert numbers(explained) == [80, 78, 82, 5, 1]  # a share, its interval, the control, and one token back


@pytest.mark.parametrize(("value", "error"), [(0.1, 0.001), (0.9, 0.5)], ids=["small", "unsure"])
def test_a_share_that_is_small_or_unsure_is_no_name(value: float, error: float) -> None:
    text = hs.card(looking(0.9, explained_share=value, explained_error=error), "1.2").explained
    assert "“" not in text  # no name is named
    assert numbers(text)[0] == 100 * value


def test_what_is_avoided_is_what_it_is_not() -> None:
    assert numbers(hs.card(looking(0.02, 0.001, even=0.1), "1.2").is_not) == [2, 10]
    assert hs.card(looking(0.05, 0.001, even=0.1), "1.2").is_not == ""
    assert hs.card(looking(0.02, even=0.1, error=0.1), "1.2").is_not == ""


def test_what_a_rule_does_as_well_is_what_it_is_not() -> None:
    card = hs.card(scored(0.8, 0.85), "1.2")
    assert (card.finds, numbers(card.is_not)) == ((), [80, 900, 85])
    clear = hs.card(scored(0.8, 0.3), "1.2")
    assert [claim.label for claim in clear.finds] == ["nsubj"]
    assert clear.is_not == ""


def test_five_sentences_at_most_and_the_claims_give_way() -> None:
    claim = hs.card(looking(0.9), "1.2").looks[0]
    full = replace(
        hs.card(looking(0.9), "1.2"),
        finds=(claim, claim),
        looks=(claim, claim),
        is_not="Not that.",
        explained="Names explain 80%.",
        without="Without it: nothing.",
    )
    assert full.sentences == [
        claim.text,
        claim.text,
        "Not that.",
        "Names explain 80%.",
        "Without it: nothing.",
    ]
    assert len(replace(full, is_not="", explained="", without="").sentences) == 4


def test_a_notebook_shows_the_card_with_its_picture() -> None:
    card = replace(hs.card(looking(0.9), "1.2"), sentence=Sentence.of_example(example()))
    html = card._repr_html_()
    assert card.looks[0].text in html
    assert html.count("<svg") == 1
    assert "cat" in html[html.index("<svg") :]
    assert "<svg" not in hs.card(looking(0.9), "1.1")._repr_html_()


def test_report_and_head_page_work_out_a_card_once(decoder: Atlas, monkeypatch: pytest.MonkeyPatch) -> None:
    atlas, asked = Atlas(decoder.tree), []
    places = module._places
    monkeypatch.setattr(module, "_places", lambda *a, **o: asked.append(a) or places(*a, **o))
    every = module.cards(atlas, "decoder")
    assert [str(hs.card(atlas, known.head)) for known in every] == list(map(str, every))
    assert len(asked) == len(every)
