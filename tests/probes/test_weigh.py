"""Probes, kinds, patterns and comparisons by what heads move, against loops over weights and values."""

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.helpers import treebanks
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import (
    as_file,
    by_words,
    eager,
    pieces_by_word,
    random_sentences,
    right,
    slow_cases,
    treebank,
)
from tests.helpers.two_models import moved as another

import headscope as hs
from headscope.errors import OptionError
from headscope.facts.description import description_of
from headscope.facts.findings import findings
from headscope.facts.titles import AtlasWords
from headscope.text.words import WordText
from headscope.trace import survey
from headscope.trace.watch import Watch
from headscope.types import LayerAttention, StackName

DOCUMENTS = random_sentences(14, seed=3, documents=3)
TEXTS = ["The cat sat on the mat. It was red, and the dog saw it.", "A dog! The blue house. The cat."] * 3


def slow_maps(network: Any, ids: Sequence[int]) -> list[NDArray[np.float64]]:
    """(head, query, key) of each layer of a BERT, query by query and key by key from weights, values and W_O."""
    with torch.inference_mode():
        output = network(
            input_ids=torch.tensor([list(ids)]), output_attentions=True, output_hidden_states=True
        )
    layers = []
    for layer, looked, hidden in zip(
        network.encoder.layer, output.attentions, output.hidden_states, strict=False
    ):
        own, dense = layer.attention.self, layer.attention.output.dense
        states, weights = hidden[0].double().numpy(), looked[0].double().numpy()
        values = states @ own.value.weight.detach().double().numpy().T
        values += own.value.bias.detach().double().numpy()
        projection = dense.weight.detach().double().numpy().T
        maps = np.zeros_like(weights)
        width = values.shape[1] // len(weights)
        for head in range(len(weights)):
            part = slice(head * width, (head + 1) * width)
            lengths = [float(np.linalg.norm(value[part] @ projection[part])) for value in values]
            for query in range(len(ids)):
                total = sum(weights[head, query, key] * lengths[key] for key in range(len(ids)))
                for key in range(len(ids)):
                    maps[head, query, key] = weights[head, query, key] * lengths[key] / total
        layers.append(maps)
    return layers


def test_what_is_seen_is_what_heads_move() -> None:
    watch = Watch(survey(tiny("bert")), weigh="moved")
    encoded = [watch.encoder(32).encode_words(WordText.of(text.split())) for text in TEXTS[:2]]
    seen: list[LayerAttention] = []

    def see(stack: StackName, batch: LayerAttention) -> None:
        seen.append(batch)

    watch.run(watch.batch(encoded), see)
    for text, one in enumerate(encoded):
        ids = one.source.ids
        for batch, expected in zip(seen, slow_maps(eager("bert"), ids), strict=True):
            own = batch.attention[text, :, : len(ids), : len(ids)].numpy()
            np.testing.assert_allclose(own, expected, atol=1e-5)
            np.testing.assert_allclose(own.sum(-1), 1, atol=1e-5)


def test_dependency_by_what_heads_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def moved_words(
        architecture: str, forms: Sequence[str], *, faithful: bool = False
    ) -> dict[str, NDArray[np.float64]]:
        ids, places = pieces_by_word(architecture, forms)
        maps = [torch.from_numpy(layer)[None] for layer in slow_maps(eager(architecture), ids)]
        return {"encoder": by_words(maps, places, faithful=faithful)}

    data = treebank(tmp_path, as_file(DOCUMENTS))
    result = hs.DependencyProbe(tiny("bert"), weigh="moved").fit_score(data)
    monkeypatch.setattr(treebanks, "word_maps", moved_words)
    cases = slow_cases("bert", DOCUMENTS)["encoder"]
    overall = result.arrays()["encoder"]["dependency_overall"].values
    np.testing.assert_allclose(overall, right(cases).mean(0), atol=1e-6)
    looked = hs.DependencyProbe(tiny("bert")).fit_score(data).arrays()["encoder"]["dependency_overall"].values
    assert np.abs(looked - overall).max() > 0.01  # it is another question


def probed(probe: str, folder: Path, **options: Any) -> Any:
    """The result of a probe on made-up data."""
    data = treebank(folder, as_file(DOCUMENTS))
    if probe == "dependency":
        return hs.DependencyProbe(tiny("bert"), **options).fit_score(data)
    if probe == "features":
        return hs.FeaturesProbe(tiny("bert"), **options).score(data)
    if probe == "patterns":
        return hs.find_patterns(tiny("bert"), TEXTS, max_length=32, **options)
    return hs.compare(tiny("bert"), another("bert"), TEXTS, max_length=32, **options)


@pytest.mark.parametrize("probe", ["dependency", "features", "patterns", "compare"])
def test_results_stand_beside_those_by_looking(probe: str, tmp_path: Path) -> None:
    looked = probed(probe, tmp_path, **({"weigh": "looked"} if probe == "patterns" else {}))
    check_beside(probe, looked, probed(probe, tmp_path, weigh="moved"))


def check_beside(probe: str, looked: Any, moved: Any) -> None:
    """An atlas holds what a probe found by where heads look and by what they move, each under its own name."""
    atlas = looked.to_atlas()
    before = {name: array.values for name, array in atlas.stack("encoder").items()}
    assert moved.in_brief().startswith("By what heads move. ")
    both = moved.to_atlas(atlas)
    assert set(both.probes) == {probe, f"{probe}_moved"}
    assert both.probes[f"{probe}_moved"]["options"]["weigh"] == "moved"
    after = both.stack("encoder")
    for name, values in before.items():
        np.testing.assert_array_equal(after[name].values, values, err_msg=name)
    fresh = set(after) - set(before)
    assert len(fresh) == len([name for name in before if "_input_" not in name])
    assert all("_moved" in name for name in fresh)
    described = description_of(both, f"{probe}_moved")
    assert "what heads move" in described.heading
    words = AtlasWords(both)
    assert all("moved" in words.group(name) for name in both.probes[f"{probe}_moved"]["arrays"])
    list(findings(both))


def test_patterns_are_of_both_where_both_can_be_told(tmp_path: Path) -> None:
    atlas = probed("patterns", tmp_path).to_atlas()
    assert set(atlas.probes) == {"patterns", "patterns_moved"}
    assert atlas.probes["patterns_moved"]["arrays"][0].endswith("_moved")
    [alone] = hs.find_patterns(tiny("xlnet"), TEXTS, max_length=32).to_atlas().probes
    assert alone == "patterns"


def test_kinds_by_what_heads_move(recwarn: pytest.WarningsRecorder) -> None:
    atlas = hs.analyze(tiny("bert"), TEXTS, measures=["distance_features"], max_length=32, sentences=0)
    moved = hs.head_types(atlas, k=2, weigh="moved")
    np.testing.assert_allclose(
        moved.features.values.reshape(atlas["distance_features_moved"].shape),
        atlas["distance_features_moved"].values,
    )
    both = moved.to_atlas(hs.head_types(atlas, k=2).to_atlas(atlas))
    assert {"head_type", "head_type_moved", "head_type_certainty_moved"} <= set(both.stack("encoder"))
    assert set(both.probes) == {"types", "types_moved"}
    assert any("kinds by what they move" in finding.text for finding in findings(both))
    looked = hs.analyze(
        tiny("bert"), TEXTS, measures=["distance_features"], weigh="looked", max_length=32, sentences=0
    )
    with pytest.raises(hs.errors.AtlasError, match="where heads look only; analyse again with --weigh both"):
        hs.head_types(looked, weigh="moved")


def test_what_cannot_be_told_is_refused_in_a_line(tmp_path: Path) -> None:
    data = treebank(tmp_path, as_file(DOCUMENTS))
    with pytest.raises(OptionError, match=r"not what they move; leave out --weigh moved"):
        hs.DependencyProbe(tiny("xlnet"), weigh="moved")
    with pytest.raises(OptionError, match="weigh must be looked or moved, not 'both'"):
        hs.FeaturesProbe(tiny("bert"), weigh="both").score(data)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="what a head moves has no such score"):
        hs.explain(tiny("bert"), "0.1", TEXTS, weigh="moved")


def with_values(factor: float) -> hs.Model:
    """The tiny BERT with the value matrices of its last layer times a factor; with 0 all its values are the bias."""
    model = tiny("bert")
    network = deepcopy(model.network)
    value = network.base_model.encoder.layer[-1].attention.self.value
    with torch.no_grad():
        value.weight *= factor
        value.bias.copy_(value.bias * factor if factor else torch.ones_like(value.bias))
    return hs.wrap(network.eval(), model.tokenizer, name=f"values times {factor}")


def test_known_answers_of_larger_and_of_equal_values(tmp_path: Path) -> None:
    data = treebank(tmp_path, as_file(DOCUMENTS))

    def overall(model: hs.Model, weigh: Any) -> NDArray[np.float64]:
        """(direction, head) of the last layer: what comes after would see other states."""
        result = hs.DependencyProbe(model, weigh=weigh).fit_score(data)
        values: NDArray[np.float64] = result.arrays()["encoder"]["dependency_overall"].values[:, -1]
        return values

    np.testing.assert_allclose(overall(with_values(5), "moved"), overall(tiny("bert"), "moved"), atol=1e-6)
    equal = with_values(0)
    np.testing.assert_allclose(overall(equal, "moved"), overall(equal, "looked"), atol=1e-6)
