"""Attention weighed by where heads look, by what they move, or both."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import OptionError

TEXTS = [
    "The cat sat on the mat. It was red, and the dog saw it.",
    "A dog! The blue house. The cat.",
    "The dog saw the blue house, and the cat saw the dog.",
]
OPTIONS: dict[str, Any] = {"max_length": 32, "sentences": 0}
ATTENTION = {
    "distance_features",
    "entropy",
    "example_map",
    "head_distance",
    "named_patterns",
    "offset_attention",
    "role_attention",
}
LOUD = {"loudness", "loudness_residual", "constancy"}


def test_both_is_the_default_and_leaves_what_was_there_as_it_is() -> None:
    both, looked = (hs.analyze(tiny("bert"), TEXTS, weigh=weigh, **OPTIONS) for weigh in (None, "looked"))
    moved = {f"{name}_moved" for name in ATTENTION}
    assert set(looked.measures) >= ATTENTION | LOUD
    assert set(both.measures) == set(looked.measures) | moved
    assert not moved & set(looked.measures)
    assert both.provenance["options"]["weigh"] == "both"
    for name, array in looked.stack("encoder").items():
        np.testing.assert_array_equal(array.values, both[name].values, err_msg=name)


def test_moved_variables_have_errors_and_the_same_even_baseline() -> None:
    atlas = hs.analyze(tiny("bert"), TEXTS, weigh="moved", **OPTIONS)
    assert set(atlas.measures) >= LOUD | {f"{name}_moved" for name in ATTENTION}
    assert not ATTENTION & set(atlas.measures)
    arrays = atlas.stack("encoder")
    looked = hs.analyze(tiny("bert"), TEXTS, weigh="looked", **OPTIONS).stack("encoder")
    for name in ATTENTION - {"example_map", "head_distance"}:
        assert np.isfinite(arrays[f"{name}_moved_stderr"].values).any(), name
        np.testing.assert_allclose(arrays[f"{name}_moved_uniform"], looked[f"{name}_uniform"], err_msg=name)
        assert arrays[f"{name}_moved"].dims == looked[name].dims
    shares = arrays["role_attention_moved"].sel(query_role="all").sum("role").values
    np.testing.assert_allclose(shares, 1, atol=1e-5)


def test_grouped_heads_and_three_stacks() -> None:
    llama = hs.analyze(tiny("llama"), TEXTS, measures=["role_attention", "loudness"], **OPTIONS)
    assert np.isfinite(llama["loudness_residual"].values).all()
    t5 = hs.analyze(tiny("t5"), TEXTS, measures=["entropy", "loudness"], **OPTIONS)
    for stack in ("encoder", "decoder", "cross"):
        np.testing.assert_allclose(t5[f"{stack}/loudness"].sum("head"), 1, atol=1e-6)
        assert np.isfinite(t5[f"{stack}/entropy_moved"].values).all()


@pytest.mark.parametrize("kernels", [True, False])
def test_shares_of_what_is_moved_against_parameters_and_loops(kernels: bool) -> None:
    """Each weight times the length of what the head fetches there, by BERT's own parameters; rows add up to 1."""
    model = tiny("bert")
    period = model.tokenizer.convert_tokens_to_ids(".")
    found = hs.analyze(model, [(text, None) for text in TEXTS], weigh="moved", kernels=kernels, **OPTIONS)
    before = model.network.config._attn_implementation
    model.network.set_attn_implementation("eager")
    expected = []
    for text in TEXTS:
        inputs = model.tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            output = model.network(**inputs, output_attentions=True, output_hidden_states=True)
        keys = (inputs["input_ids"][0] == period).tolist()
        shares = np.zeros((3, 4))
        for layer, block in enumerate(model.network.encoder.layer):
            value = block.attention.self.value(output.hidden_states[layer][0]).detach()
            for head in range(4):
                own = slice(8 * head, 8 * head + 8)
                fetched = value[:, own] @ block.attention.output.dense.weight[:, own].T.detach()
                lengths = [float(vector.norm()) for vector in fetched]
                for row in output.attentions[layer][0, head].tolist():
                    moved = [weight * length for weight, length in zip(row, lengths, strict=True)]
                    there = sum(share for share, is_period in zip(moved, keys, strict=True) if is_period)
                    shares[layer, head] += there / sum(moved) / len(lengths)
        expected.append(shares)
    model.network.set_attn_implementation(before)
    ours = found["role_attention_moved"].sel(query_role="all", role="period").values
    np.testing.assert_allclose(ours, np.mean(expected, 0), atol=1e-5)
    looked = hs.analyze(model, [(text, None) for text in TEXTS], weigh="looked", **OPTIONS)
    assert np.abs(ours - looked["role_attention"].sel(query_role="all", role="period").values).max() > 0.01


def test_a_model_that_shows_no_values_is_looked_at_with_a_note() -> None:
    atlas = hs.analyze(tiny("xlnet"), TEXTS, **OPTIONS)
    assert set(atlas.measures) >= ATTENTION
    assert not [name for name in atlas.measures if name in LOUD or name.endswith("_moved")]
    options = atlas.provenance["options"]
    assert options["weigh"] == "looked"
    assert "can tell where its heads look" in options["weigh_note"]
    assert "loudness" not in options["measures"]
    asked = hs.analyze(tiny("xlnet"), TEXTS, weigh="looked", **OPTIONS)
    assert "weigh_note" not in asked.provenance["options"]


@pytest.mark.parametrize("weigh", ["moved", "both"])
def test_what_was_asked_for_and_cannot_be_is_refused(weigh: Any) -> None:
    with pytest.raises(OptionError, match=r"can tell where its heads look.*; give --weigh looked"):
        hs.analyze(tiny("xlnet"), TEXTS, weigh=weigh, **OPTIONS)
    with pytest.raises(OptionError, match="leave out the measure loudness"):
        hs.analyze(tiny("xlnet"), TEXTS, measures=["entropy", "loudness"], **OPTIONS)


def test_the_published_forms_are_of_weights() -> None:
    atlas = hs.analyze(tiny("bert"), TEXTS, faithful=True, **OPTIONS)
    assert not [name for name in atlas.measures if name.endswith("_moved")]
    with pytest.raises(OptionError, match=r"leave out weigh='both' \(--weigh both\)"):
        hs.analyze(tiny("bert"), TEXTS, faithful=True, weigh="both", **OPTIONS)
    with pytest.raises(OptionError, match="weigh must be one of looked, moved, both, not 'seen'"):
        hs.analyze(tiny("bert"), TEXTS, weigh="seen", **OPTIONS)  # type: ignore[arg-type]
