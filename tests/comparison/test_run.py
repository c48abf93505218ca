"""Two models side by side agree with slow loops over the maps that the models themselves return."""

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.tiny import byte_tokenizer, tiny, wordpiece_tokenizer
from tests.helpers.two_models import moved, own_maps

import headscope as hs
from headscope.comparison import Comparison
from headscope.errors import AtlasError, HeadscopeWarning, OptionError, TextError
from headscope.models import Model
from headscope.text.items import TextPair
from headscope.trace import survey
from headscope.trace.watch import Watch

Array = np.ndarray[Any, Any]

PAIRS = [
    ("The cat sat on the mat.", "It was red, and the dog saw it."),
    ("A dog!", None),
    ("The blue house.", "The cat."),
    ("It was in the house of a dog, and the cat sat on it.", "Red!"),
]


def compared(first: Model, second: Model, **options: Any) -> Comparison:
    return hs.compare(first, second, PAIRS, **{"max_length": 48, **options})


def inputs_of(model: Model) -> Iterator[dict[str, torch.Tensor]]:
    """Each text by itself, so that there is no padding anywhere."""
    watch = Watch(survey(model))
    encoder = watch.encoder(48)
    for first, second in PAIRS:
        yield watch.batch([encoder.encode(TextPair(first, second))]).inputs


def slow_numbers(first: Array, second: Array) -> tuple[float, float]:
    """Cosine and JS divergence of two maps (query, key), one cell at a time."""
    dot = sum(float(a) * float(b) for a, b in zip(first.flat, second.flat, strict=True))
    sizes = [math.sqrt(sum(float(a) ** 2 for a in one.flat)) for one in (first, second)]
    rows = []
    for p, q in zip(first, second, strict=True):
        total = 0.0
        for a, b in zip(p.tolist(), q.tolist(), strict=True):
            mean = (a + b) / 2
            total += sum(x / 2 * math.log(x / mean) for x in (a, b) if x > 0)
        rows.append(total)
    return dot / (sizes[0] * sizes[1]), sum(rows) / len(rows)


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5"])
def test_every_head_agrees_with_a_slow_loop(architecture: str) -> None:
    first, second = tiny(architecture), moved(architecture)
    by_text: dict[str, list[Array]] = {}
    for inputs in inputs_of(first):
        ours, theirs = own_maps(first, inputs), own_maps(second, inputs)
        for stack, layers in ours.items():
            numbers = [
                [
                    slow_numbers(a.numpy(), b.numpy())
                    for a, b in zip(maps[0], theirs[stack][layer][0], strict=True)
                ]
                for layer, maps in enumerate(layers)
            ]
            by_text.setdefault(stack, []).append(np.array(numbers))  # (layer, head, 2)
    arrays = compared(first, second).arrays()
    assert set(arrays) == set(by_text)
    for stack, texts in by_text.items():
        values = np.stack(texts)  # (text, layer, head, 2)
        mean, error = values.mean(0), values.std(0, ddof=1) / math.sqrt(len(values))
        for number, name in enumerate(("attention_cosine", "attention_js")):
            np.testing.assert_allclose(arrays[stack][name].values, mean[..., number], atol=2e-5)
            np.testing.assert_allclose(arrays[stack][f"{name}_stderr"].values, error[..., number], atol=2e-5)
        by_layer = values.mean(2)  # (text, layer, 2)
        by_layer[..., 0] = 1 - by_layer[..., 0]
        found = arrays[stack]["attention_change"].values[:, :2]
        np.testing.assert_allclose(found, by_layer.mean(0), atol=2e-5)
        errors = by_layer.std(0, ddof=1) / math.sqrt(len(values))
        np.testing.assert_allclose(arrays[stack]["attention_change_stderr"].values[:, :2], errors, atol=2e-5)


def test_last_layers_against_first_ones_is_paired_by_text() -> None:
    first, second = tiny("bert"), moved("bert")
    differences = []
    for inputs in inputs_of(first):
        ours, theirs = own_maps(first, inputs)["encoder"], own_maps(second, inputs)["encoder"]
        change = [
            1 - np.mean([slow_numbers(a.numpy(), b.numpy())[0] for a, b in zip(x[0], y[0], strict=True)])
            for x, y in zip(ours, theirs, strict=True)
        ]
        differences.append(change[-1] - change[0])  # of three layers one is the last third
    end = compared(first, second).stack().ends["cosine"]
    assert end["layers"] == 1
    assert end["difference"] == pytest.approx(np.mean(differences), abs=2e-5)
    assert end["stderr"] == pytest.approx(np.std(differences, ddof=1) / 2, abs=2e-5)


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5", "albert"])
def test_a_model_is_like_itself(architecture: str) -> None:
    model = tiny(architecture)
    found = compared(model, model)
    for arrays in found.arrays().values():
        for ending in ("", "_input_a", "_input_b"):
            np.testing.assert_allclose(arrays[f"attention_cosine{ending}"].values, 1, atol=1e-6)
            np.testing.assert_allclose(arrays[f"attention_js{ending}"].values, 0, atol=1e-6)
        assert (arrays["weight_change"].values == 0).all()
        for name, array in arrays.items():
            if name.endswith("_change") and name not in ("weight_change", "attention_change"):
                assert np.nanmax(np.abs(array.values)) == 0, name
    for stack in found.stacks:
        kinds = found.kinds(stack=stack)
        assert kinds is None or not kinds["moved"]
        assert not any(row["sure"] for row in found.measures(stack=stack))
    assert any("have the same weights" in note for note in found.source.notes)


@pytest.mark.slow
def test_swapped_models_are_as_far_apart_and_change_the_other_way() -> None:
    there = compared(tiny("bert"), moved("bert")).arrays()["encoder"]
    back = compared(moved("bert"), tiny("bert")).arrays()["encoder"]
    for name in ("attention_cosine", "attention_js", "attention_js_stderr"):
        np.testing.assert_allclose(there[name].values, back[name].values, atol=1e-6)
    for one, other in ("ab", "ba"):
        for name in ("attention_cosine", "attention_js"):
            found, swapped = there[f"{name}_input_{one}"].values, back[f"{name}_input_{other}"].values
            np.testing.assert_allclose(found, swapped, atol=1e-6)
    assert np.abs(there["attention_js_input_a"].values - there["attention_js_input_b"].values).max() > 1e-3
    for name in ("entropy_change", "role_attention_change", "distance_features_change"):
        np.testing.assert_allclose(there[name].values, -back[name].values, atol=1e-6)
        np.testing.assert_allclose(there[f"{name}_stderr"].values, back[f"{name}_stderr"].values, atol=1e-6)


@pytest.mark.slow
def test_measures_change_by_what_analyze_says() -> None:
    first, second = tiny("bert"), moved("bert")
    before, after = (hs.analyze(model, PAIRS, max_length=48) for model in (first, second))
    found = compared(first, second)
    arrays = found.arrays()["encoder"]
    for name in ("entropy", "role_attention", "offset_attention", "distance_features", "named_patterns"):
        np.testing.assert_allclose(arrays[f"{name}_before"].values, before[name].values, atol=1e-6)
        change = after[name].values - before[name].values
        np.testing.assert_allclose(arrays[f"{name}_change"].values, change, atol=1e-6)
    row = next(row for row in found.measures() if row["measure"] == "entropy" and row["query_role"] == "cls")
    layer, head = map(int, row["head"].split("."))
    change = (after["entropy"] - before["entropy"]).sel(query_role="cls")
    assert abs(float(change[layer, head])) == pytest.approx(float(abs(change).max()), abs=1e-6)
    assert row["after"] - row["before"] == pytest.approx(row["change"], abs=1e-6)
    assert row["after_stderr"] == pytest.approx(
        float(after["entropy_stderr"].sel(query_role="cls")[layer, head]), abs=1e-6
    )
    assert not row["sure"]  # four texts decide nothing


@pytest.mark.slow
def test_kinds_are_those_of_the_first_model() -> None:
    first, second = tiny("bert"), moved("bert")
    found = compared(first, second, k=3)
    atlas = hs.analyze(first, PAIRS, measures=["distance_features"], max_length=48)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadscopeWarning)
        kinds = hs.head_types(atlas, k=3)
    arrays = found.arrays()["encoder"]
    assert (arrays["kind_before"].values == kinds.head_type).all()
    features = hs.analyze(second, PAIRS, measures=["distance_features"], max_length=48)[
        "distance_features"
    ].values
    nearest = [
        [int(np.argmin(((centre - kinds.clusters.centres) ** 2).sum(1))) for centre in layer]
        for layer in features
    ]
    assert (arrays["kind_after"].values == np.array(kinds.names, dtype=object)[np.array(nearest)]).all()
    table = found.kinds()
    assert table is not None
    assert np.sum(table["transitions"]) == table["heads"] == 12
    stayed = np.trace(np.array(table["transitions"]))
    assert len(table["moved"]) == 12 - stayed
    assert compared(first, second, k=12).kinds() is None  # twelve heads make no twelve kinds


@pytest.mark.slow
def test_on_the_same_input_only_own_weights_count() -> None:
    """The query and key matrices of the second model, by hand, on the first model's hidden states."""
    first, second = tiny("bert"), moved("bert")
    by_text = []
    for inputs in inputs_of(first):
        maps = own_maps(first, inputs)["encoder"]
        with torch.no_grad():
            states = first.network(**inputs, output_hidden_states=True).hidden_states
        layers = []
        for layer, own in enumerate(maps):
            attention = second.network.encoder.layer[layer].attention.self
            query, key = (
                part(states[layer])[0].view(-1, 4, 8).transpose(0, 1)
                for part in (attention.query, attention.key)
            )
            other = (query @ key.mT / math.sqrt(8)).softmax(-1).detach()
            layers.append([slow_numbers(a.numpy(), b.numpy()) for a, b in zip(own[0], other, strict=True)])
        by_text.append(layers)
    mean = np.array(by_text).mean(0)
    arrays = compared(first, second).arrays()["encoder"]
    np.testing.assert_allclose(arrays["attention_cosine_input_a"].values, mean[..., 0], atol=2e-5)
    np.testing.assert_allclose(arrays["attention_js_input_a"].values, mean[..., 1], atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["mpnet", "deberta", "xlnet", "falcon", "convbert"])
def test_models_of_the_second_road_are_compared_on_the_same_input_too(architecture: str) -> None:
    found = compared(tiny(architecture), moved(architecture))
    arrays = next(iter(found.arrays().values()))
    assert (arrays["attention_js"].values > 0).all()
    assert (arrays["attention_js_input_a"].values > 0).all()
    assert not any("cannot be run on the same input" in note for note in found.source.notes)
    known = architecture not in ("xlnet", "falcon")
    assert np.isfinite(arrays["weight_change"].values[:, :3]).all() == known
    assert any("weights were not compared" in note for note in found.source.notes) != known


def test_other_tokenizers_and_shapes_are_refused() -> None:
    first = tiny("bert")
    with pytest.raises(OptionError, match=r"different tokenizers, such as at .*probe features A --against B"):
        compared(first, Model("bytes", moved("bert").network, byte_tokenizer()))
    cased = wordpiece_tokenizer()
    cased.backend_tokenizer.normalizer.lowercase = False
    with pytest.raises(OptionError, match=r"split text 0 .* into different tokens"):
        compared(first, Model("cased", moved("bert").network, cased))
    other = Model("bart", tiny("bart").network, first.tokenizer)
    with pytest.raises(OptionError, match=r"3 layers x 4 heads.*differ in shape.*headscope match A B.*types"):
        compared(first, other)


def test_bad_options_are_told() -> None:
    with pytest.raises(OptionError, match="more than the 64 tokens"):
        compared(tiny("bert"), moved("bert"), max_length=65)
    with pytest.raises(OptionError, match="limit must be at least 1"):
        compared(tiny("bert"), moved("bert"), limit=0)
    with pytest.raises(OptionError, match="batch_size"):
        compared(tiny("bert"), moved("bert"), batch_size=0)
    with pytest.raises(TextError, match="texts given are empty"):
        hs.compare(tiny("bert"), moved("bert"), [], max_length=48)
    with pytest.raises(OptionError, match="choose from encoder"):
        compared(tiny("bert"), moved("bert")).table(stack="decoder")


@pytest.mark.slow
def test_the_atlas_is_of_the_second_model_and_names_the_first(tmp_path: Path) -> None:
    first, second = tiny("bert"), moved("bert")
    found = compared(first, second, limit=3)
    measured = hs.analyze(second, PAIRS, measures=["entropy"], max_length=48)
    found.to_atlas(measured).save(tmp_path / "both.nc")
    atlas = hs.open(tmp_path / "both.nc")
    facts = atlas.provenance["probes"]["compare"]
    assert facts["options"]["against"] == "tiny-bert"
    assert facts["options"]["against_weights_hash"] == f"sha256:{first.weights_hash}"
    assert (facts["texts"], facts["documents"]) == (3, 3)
    assert atlas.provenance["weights_hash"] == f"sha256:{second.weights_hash}"
    assert atlas["attention_cosine"].dims == ("layer", "head")
    assert atlas["weight_change"].dims == ("layer", "matrix")
    assert atlas["entropy"].shape == (3, 4, 2)  # what was there stays
    assert len(atlas.table("compare")) == 3
    with pytest.raises(AtlasError, match="weights differ"):
        found.to_atlas(hs.analyze(first, PAIRS, measures=["entropy"], max_length=48))


@pytest.mark.slow
def test_linguistic_features_of_both_where_a_treebank_is_given() -> None:
    first, second = tiny("bert"), moved("bert")
    sentences = hs.read_treebank(hs.sample_path("treebank"))
    found = compared(first, second, treebank=sentences)
    assert found.features is not None
    alone = hs.FeaturesProbe(first, against=second).score(hs.read_treebank(hs.sample_path("treebank")))
    ours = found.arrays()["encoder"]["compare_feature_change"].values
    np.testing.assert_allclose(ours, alone.arrays()["encoder"]["feature_change"].values, equal_nan=True)
