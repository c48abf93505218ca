"""Pictures of two models side by side: the numbers of the atlas, and clear words when there are none."""

import numpy as np
import pytest
from tests.helpers.atlases import random_atlas
from tests.helpers.tiny import tiny
from tests.helpers.two_models import moved

import headscope as hs
from headscope import figures
from headscope.atlas import Atlas
from headscope.errors import AtlasError


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    texts = [("the cat sat", "a dog saw it"), ("it was red", "the mat"), ("a house in the mat", None)]
    return hs.compare(tiny("bert"), moved("bert"), texts, max_length=32).to_atlas()


def test_lines_are_the_changes_and_the_weights(atlas: Atlas) -> None:
    lines = {line.get_label(): line.get_ydata() for line in figures.change_by_layer(atlas).lines}
    change = atlas["attention_change"]
    np.testing.assert_allclose(lines["attention: 1 - cosine"], change.sel(change="cosine"))
    np.testing.assert_allclose(lines["attention: JS divergence (nats)"], change.sel(change="js"))
    np.testing.assert_allclose(
        lines["weights: key, ||dW|| / ||W||"], atlas["weight_change"].sel(matrix="key").values
    )
    assert len(lines) == 8


def test_the_table_of_kinds_holds_every_head(atlas: Atlas) -> None:
    ax = figures.kind_changes(atlas)
    assert sum(int(text.get_text()) for text in ax.texts) == 12
    assert [label.get_text() for label in ax.get_yticklabels()] == list(
        atlas["kind_transitions"]["kind_before"].values
    )


@pytest.mark.parametrize("draw", [figures.change_by_layer, figures.kind_changes])
def test_an_atlas_of_one_model_says_how_to_get_there(draw: object) -> None:
    with pytest.raises(AtlasError, match="headscope compare MODEL_A MODEL_B"):
        draw(random_atlas())  # type: ignore[operator]
