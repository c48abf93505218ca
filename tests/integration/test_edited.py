"""Numbers of an edited or a trained model are never taken for those of another."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import as_file, random_sentences, treebank
from typer.testing import CliRunner

import headscope as hs
from headscope.cli.main import app
from headscope.errors import AtlasError
from headscope.models import Model, wrap
from headscope.pages.atlas import atlas_data
from headscope.report.page import render

TEXTS = ["the red cat saw a blue house. it was in the house, and the dog saw it.", "a dog sat on the mat."]


def analysed(model: Model) -> hs.Atlas:
    return hs.analyze(model, TEXTS, max_length=40, measures=["entropy", "role_attention"])


def features(model: Model, folder: Path) -> Any:
    return hs.FeaturesProbe(model).score(treebank(folder, as_file(random_sentences(6, seed=7, documents=3))))


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
