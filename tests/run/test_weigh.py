"""Attention weighed by where heads look, by what they move, or both."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.batches import Carried
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


def test_lengths_dealt_out_to_other_keys_bring_back_what_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The control: with the lengths of a text shuffled over its keys, moved shares lose what set them apart."""
    model = hs.load("demo")
    articles = hs.sample_path("articles").read_text(encoding="utf-8").split("\n\n")[:2]
    options: dict[str, Any] = {"measures": ["role_attention"], "limit": 8, "max_length": 64, "sentences": 0}
    real = hs.analyze(model, articles, **options)
    fetched = Carried.fetched.func
    draw = torch.Generator().manual_seed(0)

    def shuffled(self: Carried) -> torch.Tensor:
        lengths = fetched(self)
        return lengths[..., torch.randperm(lengths.shape[-1], generator=draw)]

    monkeypatch.setattr(Carried, "fetched", property(shuffled))
    control = hs.analyze(model, articles, **options)
    place = {"query_role": "all", "role": "period"}

    def gap(atlas: hs.Atlas) -> float:
        apart = atlas["role_attention_moved"].sel(place) - atlas["role_attention"].sel(place)
        return float(apart.mean())

    assert gap(real) < -0.01
    assert abs(gap(control)) < 0.3 * abs(gap(real))


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
