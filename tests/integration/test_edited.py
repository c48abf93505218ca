"""Numbers of an edited or a trained model are never taken for those of another."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import as_file, random_sentences, treebank
from typer.testing import CliRunner

import headscope as hs
from headscope.cli.main import app
from headscope.errors import AtlasError
from headscope.models import Model, wrap
from headscope.pages.atlas import atlas_data
from headscope.report.page import render
from headscope.tasks import MaskedLanguageModelling
from headscope.text.corpus import as_corpus

TEXTS = ["the red cat saw a blue house. it was in the house, and the dog saw it.", "a dog sat on the mat."]


def analysed(model: Model) -> hs.Atlas:
    return hs.analyze(model, TEXTS, max_length=40, measures=["entropy", "role_attention"])


def features(model: Model, folder: Path) -> Any:
    return hs.FeaturesProbe(model).score(treebank(folder, as_file(random_sentences(6, seed=7, documents=3))))


def importance(model: Model, folder: Path) -> Any:
    return hs.gradient_importance(model, MaskedLanguageModelling(as_corpus(TEXTS), max_length=40))


def ablation(model: Model, folder: Path) -> Any:
    return hs.ablate(model, MaskedLanguageModelling(as_corpus(TEXTS), max_length=40), sweep="layers")


PROBES = pytest.mark.parametrize("probe", [features, importance, ablation])
pytestmark = pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")


def test_an_atlas_names_the_edits_in_force(tmp_path: Path) -> None:
    model = tiny("bert")
    means = hs.mean_outputs(model, TEXTS)
    with hs.edit(model, "1.2, 0.3"), hs.edit(model, "2.1", how="mean", means=means):
        atlas = analysed(model)
    with hs.edit(model, how="uniform", heads="all"):
        assert analysed(model).edits == ("uniform: all heads",)
    assert analysed(model).edits == ()
    assert "edits" not in analysed(model).provenance
    atlas.save(tmp_path / "edited.nc")
    again = hs.open(tmp_path / "edited.nc")
    first, second = again.edits
    assert first == "zero: 0.3, 1.2"
    assert second.startswith("mean (means sha256:")
    assert second.endswith("): 2.1")
    assert "edited (zero: 0.3, 1.2; mean (" in repr(again)
    assert "edited (zero: 0.3, 1.2; mean (" in atlas_data(again).about
    page = render(again)
    assert "Attention heads of tiny-bert, edited" in page
    assert "zero: 0.3, 1.2" in page
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "edited.nc")])
    assert "tiny-bert, edited (zero: 0.3, 1.2; mean (means" in " ".join(shown.stdout.split("\n"))


@PROBES
def test_probes_do_not_mix_edited_and_untouched(probe: Callable[[Model, Path], Any], tmp_path: Path) -> None:
    model = headed("bert", "mlm")
    plain = analysed(model)
    with hs.edit(model, "1.2"):
        edited, found = analysed(model), probe(model, tmp_path)
    with pytest.raises(
        AtlasError, match=r"as it is, without edits, and the new numbers are of it with edits in force"
    ):
        found.to_atlas(plain)
    assert found.to_atlas(edited).edits == ("zero: 1.2",)
    assert found.to_atlas().edits == ("zero: 1.2",)
    untouched = probe(model, tmp_path)
    with pytest.raises(
        AtlasError, match=r"with edits in force \(zero: 1.2\), and the new numbers are of it as it is"
    ):
        untouched.to_atlas(edited)
    assert untouched.to_atlas(plain).edits == ()
    with hs.edit(model, "1.3"), pytest.raises(AtlasError, match=r"\(zero: 1.2\), and .* \(zero: 1.3\)"):
        probe(model, tmp_path).to_atlas(edited)


def test_a_new_analysis_does_not_take_over_the_probes_of_an_edited_model(tmp_path: Path) -> None:
    model = tiny("bert")
    with hs.edit(model, "1.2"):
        old = features(model, tmp_path).to_atlas(analysed(model))
        assert "features" in analysed(model).with_probes_of(old).provenance["probes"]
    with pytest.raises(AtlasError, match="do not belong in one atlas"):
        analysed(model).with_probes_of(old)


@pytest.mark.slow
def test_a_comparison_names_the_edits_of_both(tmp_path: Path) -> None:
    first, second = wrap(deepcopy(tiny("bert").network), tiny("bert").tokenizer, name="first"), tiny("bert")
    with hs.edit(first, "1.2"):
        found = hs.compare(first, second, TEXTS, max_length=40)
    assert found.source.options["against_edits"] == ["zero: 1.2"]
    assert found.state.edits == ()
    with hs.edit(second, "1.2"):
        found = hs.compare(first, second, TEXTS, max_length=40)
    assert "against_edits" not in found.source.options
    assert found.to_atlas().edits == ("zero: 1.2",)


def data(parameter: torch.nn.Parameter) -> None:
    """The one change of a parameter that torch does not count."""
    parameter.data.mul_(2)


def step(parameter: torch.nn.Parameter) -> None:
    parameter.grad = torch.ones_like(parameter)
    torch.optim.SGD([parameter], lr=0.1).step()


def swapped(parameter: torch.nn.Parameter) -> None:
    """The sum over all numbers stays."""
    parameter.data = parameter.data.flip(0)


@pytest.mark.parametrize("change", [data, step, swapped])
def test_the_weights_hash_is_that_of_the_weights_now(change: Callable[[torch.nn.Parameter], None]) -> None:
    model = wrap(deepcopy(tiny("bert").network), tiny("bert").tokenizer, name="training")
    weights = model.network.encoder.layer[1].attention.self.query.weight
    kept = weights.detach().clone()
    before, atlas = model.weights_hash, analysed(model)
    change(weights)
    assert model.weights_hash != before
    assert analysed(model).provenance["weights_hash"] != atlas.provenance["weights_hash"]
    weights.data = kept
    assert model.weights_hash == before


@PROBES
def test_a_result_keeps_the_hash_of_the_weights_it_was_found_with(
    probe: Callable[[Model, Path], Any], tmp_path: Path
) -> None:
    base = headed("bert", "mlm")
    model = wrap(deepcopy(base.network), base.tokenizer, name="training")
    atlas, found = analysed(model), probe(model, tmp_path)
    with torch.no_grad():
        model.core.encoder.layer[0].attention.self.key.weight.add_(0.1)
    assert found.to_atlas().provenance["weights_hash"] == atlas.provenance["weights_hash"]
    found.to_atlas(atlas)  # both are of the model before the step
    with pytest.raises(AtlasError, match="whose weights differ"):
        found.to_atlas(analysed(model))
