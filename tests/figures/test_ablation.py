"""Pictures of ablations: the right numbers in the right places, marked where they are significant."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from tests.helpers.atlases import random_atlas
from tests.helpers.tasks import headed, questions_file

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
from headscope.types import LabelledArray

METRICS = {
    "em": {"unit": "%", "digits": 1, "higher_is_better": True},
    "f1": {"unit": "%", "digits": 1, "higher_is_better": True},
}
LAYERS, HEADS = 3, 4


def facts(**more: object) -> dict[str, object]:
    told = {
        "task": "qa",
        "data": "q.json",
        "edit": "zero",
        "examples": 40,
        "documents": 50,
        "metrics": METRICS,
        "correction": "holm",
    }
    return {**told, "baseline": {"em": 30.0, "f1": 40.0}, "types_from": "", "ordered_by": "", **more}


def family(
    start: str, change: np.ndarray, sure: np.ndarray, coords: dict[str, object]
) -> dict[str, LabelledArray]:
    labels = {**coords, "metric": ["em", "f1"]}

    def array(values: np.ndarray) -> LabelledArray:
        return LabelledArray(values, tuple(labels), labels, "made up", "points")  # type: ignore[arg-type]

    return {
        f"{start}_change": array(change),
        f"{start}_change_stderr": array(np.ones_like(change)),
        f"{start}_change_low": array(change - 2),
        f"{start}_change_high": array(change + 2),
        f"{start}_significant": array(sure.astype(float)),
    }


@pytest.fixture
def atlas() -> Atlas:
    """Heads whose change of F1 is 1 less with each; the last two of the last layer are significant."""
    change = -np.arange(LAYERS * HEADS, dtype=float).reshape(LAYERS, HEADS)
    both = np.stack([np.zeros_like(change), change], -1)
    sure = np.zeros_like(both, dtype=bool)
    sure[2, 2:, 1] = True
    made = random_atlas(LAYERS, HEADS)
    grid = {"layer": range(LAYERS), "head": range(HEADS)}
    made = added_to(made, "heads", {"encoder": family("ablation", both, sure, grid)}, facts(), [])
    layer = np.array([[0.0, -8.0], [0.0, 3.0], [0.0, 5.0]])
    sure = np.array([[False, True], [False, False], [False, True]])
    made = added_to(
        made, "layers", {"encoder": family("layer", layer, sure, {"layer": range(3)})}, facts(), []
    )
    named = {"edit": ["near", "far", "all but near", "2 random heads (1)", "2 random heads (2)"]}
    drawn = np.array([[0.0, 4.0], [0.0, 5.0]])
    every = np.concatenate([layer, drawn]), np.concatenate([sure, np.zeros((2, 2), dtype=bool)])
    kinds = facts(types={"near": ["0.0", "0.1"], "far": ["1.0"]})
    made = added_to(made, "types", {"encoder": family("type", *every, named)}, kinds, [])
    coords = {"order": ["importance", "random 0", "random 1"], "pruned": [0, 6, 12], "metric": ["em", "f1"]}
    curve = np.zeros((3, 3, 2))
    curve[:, :, 1] = [[40, 39, 5], [40, 30, 5], [40, 20, 5]]
    array = LabelledArray(curve, tuple(coords), coords, "made up", "points")  # type: ignore[arg-type]
    return added_to(made, "cumulative", {"encoder": {"pruning_curve": array}}, facts(), [])


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
    by_label = {str(line.get_label()): line for line in ax.lines}
    assert list(by_label["least gradient importance first"].get_ydata()) == [40, 39, 5]
    assert list(by_label["random order: mean and range of 2"].get_ydata()) == [40, 25, 5]
    corners = ax.collections[0].get_paths()[0].vertices
    assert {(6.0, 20.0), (6.0, 30.0)} <= {(float(x), float(y)) for x, y in corners}


def test_findings_say_which_heads_matter(atlas: Atlas) -> None:
    heads, layers, kinds = ablation(Subject(atlas, "encoder"))
    assert "2 heads of 12 change F1 significantly when removed: 2.3 and 2.2." in heads.text
    assert "The most is lost with head 2.3: -11.0 points" in heads.text
    assert (heads.value, heads.stderr) == (-11, 1)
    assert "suffers most in layer 0: -8.0 points. 2 of 3 layers matter" in layers.text
    assert (
        "F1 suffers most with the 2 heads called near removed: -8.0 points. 1 of 2 kinds matter" in kinds.text
    )
    assert "As many random heads: +4.5 points in the mean of 2 draws." in kinds.text


def test_no_finding_says_that_nothing_matters_where_nothing_could_show() -> None:
    change = np.zeros((LAYERS, HEADS, 2))
    grid = {"layer": range(LAYERS), "head": range(HEADS)}
    arrays = family("ablation", change, np.zeros_like(change, dtype=bool), grid)
    arrays["ablation_p"] = arrays["ablation_change"]
    for documents, expected in {
        8: "8 independent texts cannot make any of 12 edits significant, whatever they do: that takes 9.",
        9: "No single head of 12 changes F1 significantly when removed.",
    }.items():
        made = added_to(
            random_atlas(LAYERS, HEADS), "heads", {"encoder": arrays}, facts(documents=documents), []
        )
        (finding,) = ablation(Subject(made, "encoder"))
        assert finding.text.startswith(f"{expected} The most is lost with")
        assert finding.verdict == ("too few" if documents == 8 else "unclear")


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
