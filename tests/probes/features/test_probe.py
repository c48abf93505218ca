"""The features probe, against attention that the model itself returns and loops that anyone can follow."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.features import (
    SENTENCES,
    SHORT,
    Rows,
    Slow,
    column,
    conllu,
    eager,
    made,
    slow_texts,
    stderr,
)
from tests.helpers.tiny import plain, sentencepiece_tokenizer, tiny
from tests.helpers.treebanks import pieces_by_word

import headscope as hs
from headscope.errors import OptionError, TextError
from headscope.models import wrap
from headscope.probes.features import probe as features_module
from headscope.probes.features.classes import FEATURES
from headscope.probes.features.probe import FeaturesProbe
from headscope.probes.features.result import FeaturesResult
from headscope.probes.features.tally import QUANTITIES
from headscope.text.annotated.treebank import Treebank, read_treebank


@pytest.fixture
def treebank(tmp_path: Path) -> Treebank:
    return made(tmp_path, SENTENCES)


@pytest.mark.parametrize(
    ("architecture", "sentences"), [("bert", SENTENCES), ("t5", SENTENCES), ("gpt2", SHORT)]
)
def test_every_number_is_that_of_slow_loops(architecture: str, sentences: list[Rows], tmp_path: Path) -> None:
    result = FeaturesProbe(plain(architecture)).score(made(tmp_path, sentences))
    expected = slow_texts(architecture, sentences)
    arrays = result.arrays()
    assert set(arrays) == set(expected)
    for stack, texts in expected.items():
        own = arrays[stack]
        for number, feature in enumerate(FEATURES):
            counted = column(texts, feature, "attention")
            assert own["feature_count"].values[number] == len(counted)
            if not len(counted):
                assert np.isnan(own["feature_attention"].values[number]).all()
                continue
            for quantity in QUANTITIES:
                values = column(texts, feature, quantity)
                name = f"feature_{quantity}"
                np.testing.assert_allclose(own[name].values[number], values.mean(0), rtol=1e-5, atol=1e-6)
                if len(values) > 1:
                    np.testing.assert_allclose(
                        own[f"{name}_stderr"].values[number], stderr(values), atol=1e-6
                    )
            even = column(texts, feature, "uniform")
            np.testing.assert_allclose(
                own["feature_attention_uniform"].values[number], even.mean(), atol=1e-6
            )


@pytest.mark.parametrize("architecture", ["bert", "t5"])
def test_the_cls_query_of_the_last_layer(architecture: str, tmp_path: Path) -> None:
    own = FeaturesProbe(tiny(architecture)).score(made(tmp_path, SENTENCES)).arrays()["encoder"]
    texts = slow_texts(architecture, SENTENCES)["encoder"]
    for number, feature in enumerate(FEATURES):
        for quantity in QUANTITIES:
            values = column(texts, feature, quantity, row=0)[:, -1]  # (text, head)
            name = f"feature_{quantity}_cls"
            np.testing.assert_allclose(own[name].values[number], values.mean(0), rtol=1e-5, atol=1e-6)
            if len(values) > 1:
                np.testing.assert_allclose(
                    own[f"{name}_stderr"].values[number], stderr(values), rtol=1e-5, atol=1e-6
                )
        even = column(texts, feature, "uniform", row=0)
        np.testing.assert_allclose(
            own["feature_attention_cls_uniform"].values[number], even.mean(), atol=1e-6
        )


def test_a_first_token_that_sees_only_itself_is_not_asked(tmp_path: Path) -> None:
    result = FeaturesProbe(tiny("gpt2")).score(made(tmp_path, SHORT))
    assert not [name for name in result.arrays()["decoder"] if "_cls" in name]
    assert {row["queries"] for row in result.table()} == {"all"}


def test_a_text_without_a_class_is_left_out_of_it_alone(tmp_path: Path) -> None:
    without: Rows = [("and", ""), ("of", "")]
    some = FeaturesProbe(tiny("bert")).score(made(tmp_path, SENTENCES[:1])).arrays()["encoder"]
    more = FeaturesProbe(tiny("bert")).score(made(tmp_path, [*SENTENCES[:1], without])).arrays()["encoder"]
    words = slice(0, 4)  # noun, verb, pronoun, subject
    np.testing.assert_allclose(
        more["feature_attention"].values[words], some["feature_attention"].values[words], atol=1e-6
    )
    assert more["feature_count"].values.tolist() == [1, 1, 1, 1, 1, 0, 2, 2]
    assert np.isnan(more["feature_attention"].values[5]).all()


def test_a_class_nobody_has_is_told_and_its_row_is_empty(tmp_path: Path) -> None:
    result = FeaturesProbe(tiny("bert")).score(made(tmp_path, SENTENCES[:3]))
    assert any("no sentence has a token of: negation" in note for note in result.source.notes)
    assert any("fewer than 30 sentences" in note and "noun (2)" in note for note in result.source.notes)
    row = next(row for row in result.table() if row["feature"] == "negation")
    assert row["texts"] == 0
    assert {row[name] for name in ("head", "attention", "preference", "attention_mean", "uniform")} == {None}


def test_the_table_names_the_head_that_gives_most(treebank: Treebank) -> None:
    result = FeaturesProbe(tiny("bert")).score(treebank)
    arrays = result.arrays()["encoder"]
    rows = result.table()
    assert [(row["feature"], row["queries"]) for row in rows] == [
        (feature, queries) for queries in ("all", "cls") for feature in FEATURES
    ]
    for number, row in enumerate(rows[: len(FEATURES)]):
        values = arrays["feature_attention"].values[number]
        layer, head = (int(part) for part in row["head"].split("."))
        assert row["attention"] == values.max() == values[layer, head]
        assert row["control"] == arrays["feature_control"].values[number, layer, head]
        assert row["attention_mean"] == pytest.approx(values.mean())
        assert row["preference"] == arrays["feature_preference"].values[number].max()
        assert row["excess"] == arrays["feature_excess"].values[number].max()
    last = rows[len(FEATURES)]
    assert last["attention"] == arrays["feature_attention_cls"].values[0].max()
    assert last["head"] == f"2.{arrays['feature_attention_cls'].values[0].argmax()}"
    with pytest.raises(OptionError, match="'decoder'; choose from encoder"):
        result.table(stack="decoder")


def pair_of_models(treebank: Treebank, second: str = "electra") -> FeaturesResult:
    return FeaturesProbe(tiny("bert"), against=tiny(second), batch_size=2).score(treebank)


def test_two_models_are_compared_text_by_text(treebank: Treebank, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features_module, "MOST_HELD", 4)
    arrays = pair_of_models(treebank).arrays()["encoder"]
    alone = {
        name: FeaturesProbe(tiny(name)).score(treebank).arrays()["encoder"] for name in ("bert", "electra")
    }
    for name, array in alone["bert"].items():
        np.testing.assert_allclose(arrays[name].values, array.values, rtol=1e-5, atol=1e-6)
    for name in ("feature_attention", "feature_preference_cls", "feature_control_stderr"):
        stem = name.removesuffix("_stderr")
        second = f"{stem}_against{name.removeprefix(stem)}"
        np.testing.assert_allclose(arrays[second].values, alone["electra"][name].values, rtol=1e-5, atol=1e-6)
    texts = slow_texts("bert", SENTENCES)["encoder"]
    # The same words, tokens and classes in another model's maps.
    others = slow_electra()
    for number, feature in enumerate(FEATURES):
        for name, quantity in (("feature_change", "attention"), ("feature_preference_change", "preference")):
            for ending, row in (("", None), ("_cls", 0)):
                change = column(others, feature, quantity, row) - column(texts, feature, quantity, row)
                change = change if row is None else change[:, -1]
                found = arrays[f"{name}{ending}"].values[number]
                np.testing.assert_allclose(found, change.mean(0), rtol=1e-5, atol=1e-6)
                if len(change) > 1:
                    error = arrays[f"{name}{ending}_stderr"].values[number]
                    np.testing.assert_allclose(error, stderr(change), rtol=1e-5, atol=1e-6)


def slow_electra() -> list[Slow]:
    """The sentences as ELECTRA sees them; its tokenizer is that of BERT."""
    found = []
    network = tiny("electra").network
    for rows, text in zip(SENTENCES, slow_texts("bert", SENTENCES)["encoder"], strict=True):
        ids, _ = pieces_by_word("bert", [form for form, _ in rows])
        output = eager(network, {"input_ids": torch.tensor([ids])})
        maps = np.stack([layer[0].double().numpy() for layer in output.attentions])
        found.append(replace(text, maps=maps))
    return found


def test_a_model_against_itself_changes_nothing(treebank: Treebank) -> None:
    result = pair_of_models(treebank, "bert")
    arrays = result.arrays()["encoder"]
    np.testing.assert_allclose(arrays["feature_change"].values, 0, atol=1e-7)
    np.testing.assert_allclose(arrays["feature_preference_change_cls"].values, 0, rtol=1e-5, atol=1e-6)
    assert not any(row["change_sure"] for row in result.table())
    assert not [note for note in result.source.notes if "split" in note]


def test_models_of_different_shape_are_refused() -> None:
    with pytest.raises(OptionError, match=r"tiny-t5 .*encoder of 3 layers x 4 heads, decoder of 2"):
        FeaturesProbe(tiny("bert"), against=tiny("t5"))


def test_other_tokenizers_are_paired_by_text_and_told(tmp_path: Path) -> None:
    network = tiny("bert").network
    other = wrap(network, sentencepiece_tokenizer(bos=True, eos=True), name="other")
    data = made(tmp_path, [*SENTENCES[:3], [("zebra", "n"), ("sat", "v")]])
    result = FeaturesProbe(tiny("bert"), against=other).score(data)
    assert any(
        "split 2 of 4 sentences into different numbers of tokens" in note for note in result.source.notes
    )
    assert np.isfinite(result.arrays()["encoder"]["feature_change"].values[:5]).all()
    longest = FeaturesProbe(tiny("bert"), against=other, max_length=8).score(data)
    cut = [note for note in longest.source.notes if "longer than 8 tokens" in note]
    assert [note.partition(" of")[0] for note in cut] == ["other: 2"]


def test_both_models_get_texts_of_the_same_length(treebank: Treebank) -> None:
    shorter = wrap(tiny("electra").network, tiny("electra").tokenizer, name="shorter")
    shorter.__dict__["max_length"] = 7  # as if that were all it takes
    result = FeaturesProbe(tiny("bert"), against=shorter).score(treebank)
    assert result.source.options["max_length"] == 7
    cut = [note for note in result.source.notes if "longer than 7 tokens" in note]
    assert len(cut) == 1  # told once, since it is the same for both
    assert "tiny-bert" not in cut[0]
    assert result.source.texts_cut > 0


def test_words_without_a_token_are_told_with_their_line(tmp_path: Path) -> None:
    data = made(tmp_path, [[("the", ""), ("\u00ad", "n"), ("cat", "n"), ("\u00ad", "v")]])
    result = FeaturesProbe(tiny("bert")).score(data)
    (note,) = [note for note in result.source.notes if "skipped" in note]
    assert note.startswith("1 word skipped: ")  # what follows the last token may as well have been cut off
    assert "made.conllu:2: the tokenizer has no token" in note
    assert result.arrays()["encoder"]["feature_count"].values.tolist() == [1, 0, 0, 0, 0, 0, 1, 1]


def test_a_sentence_of_words_without_tokens_still_has_its_special_tokens(tmp_path: Path) -> None:
    result = FeaturesProbe(tiny("bert")).score(made(tmp_path, [[("\u00ad", "n")]]))
    assert result.arrays()["encoder"]["feature_count"].values.tolist() == [0, 0, 0, 0, 0, 0, 1, 1]


def test_what_is_cut_off_does_not_count(tmp_path: Path) -> None:
    data = made(tmp_path, [[("the", ""), ("cat", "n"), ("sat", "v"), ("red", "")]])
    result = FeaturesProbe(tiny("bert"), max_length=4).score(data)
    assert result.arrays()["encoder"]["feature_count"].values.tolist()[:2] == [1, 0]
    assert result.source.texts_cut == 1
    assert any("1 of 1 sentences were longer than 4 tokens" in note for note in result.source.notes)


def test_broken_sentences_are_skipped_and_told(tmp_path: Path) -> None:
    good = conllu(SENTENCES[:2])
    broken = "1\tcat\t_\tNOUN\t_\t_\t7\tnsubj\t_\t_\n\n"
    result = FeaturesProbe(tiny("bert")).score(made(tmp_path, good + broken))
    assert (result.source.texts, result.source.skipped) == (2, 1)
    assert any("1 sentence skipped" in note and "made.conllu:" in note for note in result.source.notes)
    with pytest.raises(TextError, match="none of its sentences can be used"):
        FeaturesProbe(tiny("bert")).score(made(tmp_path, broken, "broken.conllu"))


def test_the_published_form_is_the_only_one_and_that_is_said(treebank: Treebank) -> None:
    probe = FeaturesProbe(tiny("bert"), faithful=True)
    assert probe.fit(treebank) is probe
    result = probe.score(treebank)
    assert any("faithful changes nothing" in note for note in result.source.notes)
    assert result.source.options["faithful"] is True


def test_what_an_atlas_holds(treebank: Treebank) -> None:
    atlas = pair_of_models(treebank).to_atlas()
    stems = [f"feature_{quantity}{query}" for quantity in QUANTITIES for query in ("", "_cls")]
    changes = [
        "feature_change",
        "feature_change_cls",
        "feature_preference_change",
        "feature_preference_change_cls",
    ]
    expected = {*stems, *(f"{stem}_against" for stem in stems), *changes, "feature_count"}
    assert set(atlas.measures) == expected
    array = atlas["feature_attention"]
    assert array.dims == ("feature", "layer", "head")
    assert list(array["feature"].values) == list(FEATURES)
    assert atlas["feature_attention_cls"].dims == ("feature", "head")
    assert atlas["feature_attention_uniform"].dims == ("feature",)
    facts = atlas.provenance["probes"]["features"]
    assert facts["options"]["against"] == "tiny-electra"
    assert facts["documents"] == 1


def test_progress_is_told_on_standard_error(treebank: Treebank, capsys: pytest.CaptureFixture[str]) -> None:
    FeaturesProbe(tiny("bert"), progress=True).score(treebank)
    assert not capsys.readouterr().out


def test_the_sample_treebank_has_every_class() -> None:
    result = FeaturesProbe(tiny("bert")).score(read_treebank(hs.sample_path("treebank")))
    counts = result.arrays()["encoder"]["feature_count"].values
    assert (counts > 5).all()
    assert counts[-1] == result.source.texts == counts[-2]
