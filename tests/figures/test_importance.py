"""Gradient importance in pictures and on the page."""

import re
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from tests.helpers.atlases import atlas_of, empty_atlas, per_head, probe_facts, random_atlas
from tests.report.sections.test_probes import read

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.figures.importance import gradient_by_layer, importance_grid, readable
from headscope.importance import KEY_ROLES
from headscope.report import findings
from headscope.types import LabelledArray

LAYERS, HEADS = 4, 3


@pytest.fixture(autouse=True)
def no_screen() -> Iterator[None]:
    mpl.use("Agg")
    yield
    pyplot.close("all")


def layer_means() -> np.ndarray:  # type: ignore[type-arg]
    means = np.linspace(1e-3, 4e-3, LAYERS * len(KEY_ROLES)).reshape(LAYERS, len(KEY_ROLES))
    means[:, KEY_ROLES.index("sep")] = 1e-3
    means[:, KEY_ROLES.index("other")] = [1e-3, 1e-3, 2e-3, 4e-3]
    return means


def atlas(*, ablated: bool = True, sep: bool = True) -> Atlas:
    means = layer_means()
    if not sep:
        means[:, KEY_ROLES.index("sep")] = np.nan
    importance = np.arange(LAYERS * HEADS, dtype=float).reshape(LAYERS, HEADS) / 100
    importance[2, 1] = 0.5
    coords = {"layer": range(LAYERS), "role": KEY_ROLES}
    arrays = {
        **per_head("head_importance", importance, units="nats"),
        "gradient_layer": LabelledArray(means, ("layer", "role"), coords, "g", "nats"),
        "gradient_layer_stderr": LabelledArray(0.1 * means, ("layer", "role"), coords, "g", "nats"),
    }
    facts = {**probe_facts(), "options": {"task": "mlm", "does": "predicting masked tokens", "limit": None}}
    base = empty_atlas()
    if ablated:
        change = per_head("ablation_change", -importance[..., None], {"metric": ("f1",)}, stderr=None)
        base = base.with_probe("ablation", {"encoder": change}, facts=probe_facts(), table={}, examples={})
    return base.with_probe("importance", {"encoder": arrays}, facts=facts, table={}, examples={})


def test_lines_are_the_layer_means_in_a_readable_unit() -> None:
    ax = gradient_by_layer(atlas())
    lines = {line.get_label(): line for line in ax.get_legend_handles_labels()[0]}
    labels = ax.get_legend_handles_labels()[1]
    assert len(labels) == 4
    drawn = [box.lines[0].get_ydata() for box in ax.containers]
    roles = [KEY_ROLES.index(role) for role in ("cls", "sep", "punctuation", "other")]
    np.testing.assert_allclose(drawn, 1000 * layer_means()[:, roles].T)
    assert "10⁻³ nats" in ax.get_ylabel()
    assert len(lines) == 4


def test_a_role_that_no_text_has_is_not_drawn() -> None:
    ax = gradient_by_layer(atlas(sep=False))
    labels = ax.get_legend_handles_labels()[1]
    assert len(labels) == 3
    assert "[SEP]" not in labels


def test_the_grid_shows_every_head() -> None:
    ax = importance_grid(atlas())
    shown = [text.get_text() for text in ax.texts]
    assert len(shown) == LAYERS * HEADS
    assert shown[2 * HEADS + 1] == "500"


def test_units_that_can_be_read() -> None:
    assert readable(3.0, "nats") == (1.0, "nats")
    assert readable(0.02, "nats") == (1000.0, "10⁻³ nats")
    assert readable(5e-6, "nats") == (pytest.approx(1e6), "10⁻⁶ nats")
    assert readable(0.0, "nats") == (1.0, "nats")


@pytest.mark.parametrize("draw", [gradient_by_layer, importance_grid])
def test_without_importance_the_error_says_what_to_do(draw) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(AtlasError, match="headscope importance"):
        draw(random_atlas())


def test_findings() -> None:
    found = [finding for finding in findings(atlas()) if finding.topic == "Importance"]
    assert len(found) == 3
    assert (str(found[0].heads[0]), found[0].value, found[0].units) == ("2.1", 0.5, "nats")
    assert re.findall(r"\d\.\d+", found[1].text) == ["0.38", "1.00"]  # (1/2 + 1/4) / 2 in the upper half
    assert (found[2].value, found[2].verdict) == (pytest.approx(1), "above")
    fewer = [finding.text for finding in findings(atlas(ablated=False, sep=False))]
    assert len(fewer) == 1


def test_the_page_of_what_has_no_errors() -> None:
    arrays = {
        **per_head("head_importance", np.ones((1, 1)), units="nats", stderr=None),
        "gradient_layer": LabelledArray(
            np.ones((1, len(KEY_ROLES))),
            ("layer", "role"),
            {"layer": range(1), "role": KEY_ROLES},
            "g",
            "nats",
        ),
    }
    made = atlas_of({}).with_probe("importance", {"encoder": arrays}, facts={}, table={}, examples={})
    read(made)
    assert len([one for one in findings(made) if one.topic == "Importance"]) == 1
