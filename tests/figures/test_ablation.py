"""Pictures of ablations: the right numbers in the right places, marked where they are significant."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from tests.helpers.atlases import random_atlas
from tests.helpers.tasks import headed, questions_file
from tests.planted import ABLATED, GRID, HEADS, LAYERS, sweep_arrays, with_sweeps

import headscope as hs
from headscope import figures
from headscope.ablation.result import added_to
from headscope.atlas import Atlas
from headscope.errors import AtlasError, OptionError
from headscope.facts.findings.ablation import ablation
from headscope.facts.slices import HeadValues
from headscope.facts.subject import Subject
from headscope.figures.grid import draw_values
from headscope.figures.style.colours import MUTED, SERIES
from headscope.types import HeadId


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    """Heads whose change of F1 is 1 less with each; the last two of the last layer are significant."""
    return with_sweeps(random_atlas(LAYERS, HEADS))


def test_significant_cells_are_framed(atlas: Atlas) -> None:
    ax = figures.ablation_grid(atlas)
    frames = [patch for patch in ax.patches if isinstance(patch, Rectangle) and not patch.get_fill()]
    assert sorted((round(one.get_x() + 0.46), round(one.get_y() + 0.46)) for one in frames) == [
        (2, 2),
        (3, 2),
    ]
    mesh = ax.collections[0]
    np.testing.assert_allclose(np.asarray(mesh.get_array()).ravel(), -np.arange(12.0))
    assert mesh.get_clim() == (-11, 11)  # signed, as far below as above
    assert "F1" in ax.get_title(loc="left")
    assert not [
        p
        for p in figures.ablation_grid(atlas, metric="em").patches
        if isinstance(p, Rectangle) and not p.get_fill()
    ]


def test_bars_of_layers_have_their_intervals_and_colours(atlas: Atlas) -> None:
    ax = figures.layer_changes(atlas)
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    assert [bar.get_height() for bar in bars] == [-8, 3, 5]
    assert [to_hex(bar.get_facecolor()) for bar in bars] == [SERIES[1], MUTED, SERIES[0]]
    whiskers = ax.containers[0].lines[2][0].get_segments()  # type: ignore[attr-defined]
    assert [(segment[0][1], segment[1][1]) for segment in whiskers] == [(-10, -6), (1, 5), (3, 7)]


def test_kinds_have_their_names(atlas: Atlas) -> None:
    ax = figures.type_changes(atlas)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["near", "far", "all but near", "2 random heads (1)", "2 random heads (2)"]
    assert [patch.get_width() for patch in ax.patches] == [-8, 3, 5, 4, 5]  # type: ignore[attr-defined]


def test_the_curve_lies_beside_the_range_of_random_orders(atlas: Atlas) -> None:
    ax = figures.pruning_curve(atlas)
    drawn = [list(line.get_ydata()) for line in ax.lines]
    assert [40, 39, 5] in drawn  # the order by importance
    assert [40, 25, 5] in drawn  # the mean of the random orders
    corners = ax.collections[0].get_paths()[0].vertices
    assert {(6.0, 20.0), (6.0, 30.0)} <= {(float(x), float(y)) for x, y in corners}


def test_findings_say_which_heads_matter(atlas: Atlas) -> None:
    heads, layers, kinds = ablation(Subject(atlas, "encoder"))
    assert heads.heads == (HeadId(2, 3), HeadId(2, 2))
    assert (heads.value, heads.stderr, heads.verdict) == (-11, 1, "below")
    assert (layers.value, layers.verdict, numbers(layers.text)) == (-8, "below", [1, 0, 8, 2, 3])
    assert (kinds.value, numbers(kinds.text)) == (-8, [1, 2, 8, 1, 2, 4.5, 2])


def numbers(text: str) -> list[float]:
    """Those of a sentence, in their order; F1 has one."""
    return [float(number) for number in re.findall(r"\d+\.?\d*", text)]


@pytest.mark.parametrize(("documents", "verdict"), [(8, "too few"), (9, "unclear")])
def test_no_finding_says_that_nothing_matters_where_nothing_could_show(documents: int, verdict: str) -> None:
    change = np.zeros((LAYERS, HEADS, 2))
    arrays = sweep_arrays("ablation", change, np.zeros_like(change, dtype=bool), GRID)
    arrays["ablation_p"] = arrays["ablation_change"]
    facts = {**ABLATED, "documents": documents}
    made = added_to(random_atlas(LAYERS, HEADS), "heads", {"encoder": arrays}, facts, [])
    (finding,) = ablation(Subject(made, "encoder"))
    assert finding.verdict == verdict
    assert (numbers(finding.text)[:3] == [8, 12, 9]) == (verdict == "too few")


def test_clear_words_when_there_is_nothing_to_draw(atlas: Atlas) -> None:
    empty = random_atlas(LAYERS, HEADS)
    for draw in (figures.ablation_grid, figures.layer_changes, figures.type_changes, figures.pruning_curve):
        with pytest.raises(AtlasError, match="this atlas has no"):
            draw(empty)
    with pytest.raises(OptionError, match="no metric 'bleu' in this atlas; choose from em, f1"):
        figures.layer_changes(atlas, metric="bleu")
    with pytest.raises(OptionError, match="not a list of edits"):
        figures.type_changes(atlas, sweep="heads")  # type: ignore[arg-type]


def test_real_sweeps_can_be_drawn(tmp_path: Path) -> None:
    model = headed("bert", "qa")
    task = hs.task_for("qa", questions_file(tmp_path / "q.json"), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = hs.ablate(model, task, sweep="layers").to_atlas()
    figures.save(figures.layer_changes(made), tmp_path / "a.png")


def test_orange_is_worse_whatever_the_metric(atlas: Atlas) -> None:
    values = HeadValues(np.array([[-1.0, 1.0]]), None, "ablation_change", {}, "encoder", "change")
    shown = {
        low_good: draw_values(values, title="", limits=(-1, 1), is_low_good=low_good).collections[0]
        for low_good in (False, True)
    }
    high, low = (mesh.get_cmap()(mesh.norm([-1.0, 1.0])) for mesh in shown.values())
    np.testing.assert_allclose(high, low[::-1])
    assert not np.allclose(high, low)
    told = atlas.provenance["probes"]["ablation"]["sweeps"]["heads"]
    assert figures.ablation_grid(atlas).collections[0].get_cmap().name == shown[False].get_cmap().name
    loss = {
        **told,
        "metrics": {**told["metrics"], "f1": {**told["metrics"]["f1"], "higher_is_better": False}},
    }
    arrays = atlas.found_by("ablation")
    turned = atlas.with_probe("ablation", arrays, facts={"sweeps": {"heads": loss}}, table={}, examples={})
    assert figures.ablation_grid(turned).collections[0].get_cmap().name == shown[True].get_cmap().name
