"""A head's card says what is clear of its control, and nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.atlases import example, per_head, probe_facts, provenance

import headscope as hs
from headscope.atlas import Atlas, Typical
from headscope.errors import AtlasError
from headscope.facts import card as module
from headscope.facts.headlines import headlines
from headscope.facts.sentences import Sentence
from headscope.measures.templates import TEMPLATES
from headscope.types import LabelledArray

OFFSETS = (-1, 0, 1)


def looking(
    value: float,
    error: float = 0.01,
    even: float = 0.02,
    *,
    explained_share: float | None = None,
    explained_error: float = 0.01,
    typical: Sequence[Typical] = (),
) -> Atlas:
    """Head 1.2 gives the previous token so much; all others look evenly. Names explain as much of every head."""
    values = np.full((2, 3, 3), even)
    values[1, 2, 0] = value
    arrays = per_head("offset_attention", values, {"offset": OFFSETS}, stderr=error)
    uniform = LabelledArray(np.full(3, even), ("offset",), {"offset": OFFSETS}, "even", "1")
    arrays["offset_attention_uniform"] = uniform
    if explained_share is not None:
        arrays |= per_head("explained", np.full((2, 3), explained_share), stderr=explained_error)
        for name, share in (("control", 0.05), ("ceiling", 0.95)):
            arrays |= per_head(f"explained_{name}", np.full((2, 3), share), stderr=None)
        weights = np.zeros((2, 3, len(TEMPLATES)))
        weights[..., 0], weights[..., TEMPLATES.index("offset_-1")] = 0.1, 0.9
        arrays |= per_head("explained_weight", weights, {"template": TEMPLATES}, stderr=None)
    facts = provenance(texts=64)
    return Atlas.build(
        {"encoder": arrays}, provenance=facts, typical={"encoder": typical} if typical else None
    )


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
    assert hs.card(looking(0.9, explained_share=0.8), "1.2").explained == (
        "Names explain 80.0% of it (78.0 to 82.0%; with another text's names 5.0%), "
        "most of all the name “1 token back”."
    )


@pytest.mark.parametrize(("value", "error"), [(0.1, 0.001), (0.9, 0.5)], ids=["small", "unsure"])
def test_a_share_that_is_small_or_unsure_is_no_name(value: float, error: float) -> None:
    text = hs.card(looking(0.9, explained_share=value, explained_error=error), "1.2").explained
    assert text.startswith("Names explain little of it: ")


def test_what_is_avoided_is_what_it_is_not() -> None:
    values = {"even": 0.1, "error": 0.001}
    assert hs.card(looking(0.02, **values), "1.2").is_not == (
        "Does not look at the previous token: 2.0%, evenly 10.0%."
    )
    assert hs.card(looking(0.05, **values), "1.2").is_not == ""
    assert hs.card(looking(0.02, even=0.1, error=0.1), "1.2").is_not == ""


def scored(value: float, rule: float) -> Atlas:
    """Head 1.2 finds subjects so often, the best offset so often; all other heads never do."""
    values = np.zeros((1, 2, 2, 3))
    values[0, 0, 1, 2] = value
    ways = ("dependent_to_head", "head_to_dependent")
    cells = {"relation": ["nsubj"], "direction": ways, "layer": range(2), "head": range(3)}
    arrays = {}
    for ending, each in (("", values), ("_stderr", np.full_like(values, 0.01))):
        arrays[f"dependency_accuracy{ending}"] = LabelledArray(each, tuple(cells), cells, "share")
    offsets = {"relation": ["nsubj"], "offset": [1]}
    for ending, number in (("", rule), ("_stderr", 0.01)):
        arrays[f"dependency_baseline{ending}"] = LabelledArray(
            np.array([[number]]), tuple(offsets), offsets, "share"
        )
    for name, number in (("count", 900), ("units", 60), ("documents", 60)):
        of = {"relation": ["nsubj"]}
        arrays[f"dependency_{name}"] = LabelledArray(np.array([number]), tuple(of), of, name)
    return looking(0.9).with_probe(
        "dependency", {"encoder": arrays}, facts=probe_facts(), table={"encoder": []}, examples={}
    )


def test_what_a_rule_does_as_well_is_what_it_is_not() -> None:
    card = hs.card(scored(0.8, 0.85), "1.2")
    assert (card.finds, card.is_not) == (
        (),
        "Finds the verb of a subject, but no more often than a rule: 80.0% of all 900 cases, the best "
        "fixed offset 85.0%.",
    )
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
    assert "Looks at the previous token: 90.0%, evenly 2.0%." in html
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
