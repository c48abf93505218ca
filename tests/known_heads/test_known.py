"""Known kinds in the demo decoder, whose circuit is known; none in random weights; refusals in words."""

import random

import numpy as np
import pytest
import torch
from tests.helpers.tiny import WORDS, tiny

import headscope as hs
from headscope.errors import ModelError, OptionError, TextError
from headscope.known_heads import KnownResult, Needle
from headscope.known_heads.made import MadeTexts
from headscope.known_heads.needle import draw, retrieve
from headscope.trace import surveyed

NEEDLE = "Zebulon Quackenbush Zorn Varnholm Przybylski | Fitzgerald Montgomery"


@pytest.fixture(scope="module")
def decoder() -> hs.Model:
    return hs.with_head("demo-lm", "next-token")


@pytest.fixture(scope="module")
def found(decoder: hs.Model) -> KnownResult:
    texts = hs.read_text(hs.sample_path("articles"))
    return hs.known(decoder, texts, needle=NEEDLE, made=16, trials=4, needle_length=100, limit=24)


def rows(result: KnownResult) -> dict[str, dict[str, object]]:
    return {str(row["kind"]): row for row in result.rows()}


def test_the_induction_circuit_of_the_demo(found: KnownResult) -> None:
    by_kind = rows(found)
    assert by_kind["induction"]["heads"] == ["4.5", "4.2", "4.6", "4.3", "4.4"]
    assert by_kind["induction"]["attention"] == pytest.approx(0.63, abs=0.03)
    assert by_kind["induction"]["control"] < 0.011
    assert by_kind["previous"]["head"] == "3.3"
    assert {"3.3", "3.2"} <= set(by_kind["previous"]["heads"])
    assert by_kind["duplicate"]["heads"] == []
    assert by_kind["duplicate"]["verdict"] == "unclear"
    assert {"4.2", "4.3", "4.5", "4.6"} <= set(by_kind["sink"]["heads"])
    assert by_kind["induction_in_text"]["head"] == "4.5"
    assert by_kind["retrieval"]["head"] == "4.5"


def test_a_result_says_what_it_is_of_and_prints_no_array(found: KnownResult) -> None:
    said = repr(found)
    assert len(said.splitlines()) <= 10
    assert len(said) < 300, "it has 96 heads in every kind"
    for part in ("KnownResult", "demo-lm", str(found.source.texts), found.source.data):
        assert part in said


def test_numbers_are_those_of_the_models_own_attention(decoder: hs.Model) -> None:
    words = MadeTexts.of(decoder, half=12, seed=3)
    result = hs.known(decoder, made=3, length=12, seed=3)
    drawn, fresh = words.draw([0, 1, 2])
    decoder.network.set_attn_implementation("eager")
    expected = []
    for second in (drawn, fresh):
        ids = words.begun(torch.cat([drawn, second], 1))
        with torch.inference_mode():
            maps = decoder.network(ids, output_attentions=True).attentions
        places = [(1 + 12 + j, 1 + j + 1) for j in range(11)]
        expected.append([[float(layer[:, head, [q for q, _ in places], [k for _, k in places]].mean())
                          for head in range(8)] for layer in maps])  # fmt: skip
    decoder.network.set_attn_implementation("sdpa")
    arrays = result.arrays()["decoder"]
    at = list(arrays["known_heads"].coords["kind"]).index("induction")
    np.testing.assert_allclose(arrays["known_heads"].values[at], expected[0], atol=1e-6)
    np.testing.assert_allclose(arrays["known_heads_control"].values[at], expected[1], atol=1e-6)


def test_texts_do_not_depend_on_their_batch(decoder: hs.Model) -> None:
    words = MadeTexts.of(decoder, half=5)
    together = words.draw([0, 1, 2])
    alone = words.draw([2])
    assert torch.equal(together[0][2:], alone[0])
    assert torch.equal(together[1][2:], alone[1])
    assert not set(together[0].flatten().tolist()) & set(decoder.tokenizer.all_special_ids)


def test_generated_tokens_are_watched_as_one_text(decoder: hs.Model) -> None:
    """With the cache on, a step shows what prompt and output as one text show without it."""
    capture = surveyed(decoder)
    ids = decoder.tokenizer(hs.sample_path("articles").read_text()[:4000], add_special_tokens=False)
    haystack = torch.tensor(ids["input_ids"])
    trial = next(draw(Needle.parse(NEEDLE), haystack, capture, count=2, length=90, seed=1))
    assert torch.equal(trial.ids[trial.place : trial.place + len(trial.answer)], trial.answer)
    overlap = range(trial.place, trial.place + len(trial.answer))
    assert not set(overlap) & set(range(trial.control, trial.control + len(trial.answer)))
    whole = torch.cat([trial.ids, trial.answer])[None]
    decoder.network.set_attn_implementation("eager")
    with torch.inference_mode():
        output = decoder.network(whole, output_attentions=True)
    decoder.network.set_attn_implementation("sdpa")
    steps = range(len(trial.ids) - 1, whole.shape[1] - 1)
    assert output.logits[0, list(steps)].argmax(-1).tolist() == trial.answer.tolist()
    fetched = torch.stack([
        torch.stack([layer[0, :, query, : query + 1].argmax(-1) == trial.place + step
                     for step, query in enumerate(steps)]).double().mean(0)
        for layer in output.attentions
    ])  # fmt: skip
    retrieved = retrieve(capture, trial)
    assert retrieved.written == 1
    torch.testing.assert_close(retrieved.fetched, fetched)
    assert fetched[4, 5] == 1


def test_what_is_found_goes_into_an_atlas(found: KnownResult) -> None:
    atlas = found.to_atlas()
    array = atlas["known_heads"]
    assert array.dims == ("kind", "layer", "head")
    assert float(array.sel(kind="induction", layer=4, head=5)) == pytest.approx(0.63, abs=0.03)
    assert any("4.5 is an induction head" in str(finding) for finding in hs.findings(atlas))


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_random_weights_have_no_known_head(architecture: str) -> None:
    chance = random.Random(0)
    texts = [" ".join(chance.choices(WORDS, k=14)) for _ in range(16)]
    result = hs.known(tiny(architecture), texts, made=8, length=10, max_length=32)
    assert [row["kind"] for row in result.rows() if row["verdict"] == "above"] == []
    assert not [finding for finding in hs.findings(result.to_atlas()) if finding.verdict == "above"]


def test_what_cannot_be_asked_is_refused(decoder: hs.Model) -> None:
    with pytest.raises(ModelError, match="is not a decoder"):
        hs.known(tiny("bert"))
    with pytest.raises(ModelError, match="is not a decoder"):
        hs.known(tiny("t5"))
    with pytest.raises(OptionError, match="has no cue and answer"):
        hs.known(decoder, ["text"], needle="no bar here")
    with pytest.raises(OptionError, match="give some with --text"):
        hs.known(decoder, needle=NEEDLE)
    with pytest.raises(OptionError, match="shorten the needle"):
        hs.known(decoder, ["some text here"], needle=f"{'long ' * 300}| answer", made=2, length=8)
    with pytest.raises(TextError, match="give more text"):
        hs.known(decoder, ["some text here"], needle=NEEDLE, made=2, length=8)
    with pytest.raises(OptionError, match="does not fit"):
        hs.known(decoder, length=400)
    with pytest.raises(OptionError, match="at least 2"):
        hs.known(decoder, made=1)
