"""Sweeps: the numbers are those of evaluating the edited model by hand, whatever the sweep and the batches."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel
from tests.helpers.tasks import headed, questions_file

import headscope as hs
from headscope.ablation import Ablations, ablate
from headscope.ablation.known import features_of, kinds_in
from headscope.edits import edit, mean_outputs
from headscope.errors import AtlasError, HeadscopeWarning, InterventionError, OptionError
from headscope.facts.analyses.sweeps import random_set
from headscope.importance import gradient_importance
from headscope.tasks import QuestionAnswering, Task, task_for
from headscope.text.items import TextPair
from headscope.trace import surveyed

pytestmark = pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")


def labelled_file(path: Path, *, pairs: bool = False) -> Path:
    words = ["the cat", "a dog saw", "it was red", "blue house", "the mat sat on it", "in the house of a dog"]
    second = "\tthe dog" if pairs else ""
    path.write_text("".join(f"{word} {number}{second}\t{number % 2}\n" for number, word in enumerate(words)))
    return path


def text_file(path: Path) -> Path:
    path.write_text(
        "The cat sat on the mat. It was red.\n\nA dog saw the blue house.\n\nThe dog sat in it.\n"
    )
    return path


def made(tmp_path: Path, architecture: str, name: str) -> tuple[hs.Model, Task]:
    if name == "qa":
        data = questions_file(tmp_path / "q.json")
    else:
        data = (
            text_file(tmp_path / "t.txt") if "lm" in name else labelled_file(tmp_path / "l.tsv", pairs=True)
        )
    model = headed(architecture, name)
    return model, task_for(name, data, model)


CASES = [
    ("bert", "qa"),
    ("distilbert", "qa"),
    ("bert", "classification"),
    ("bert", "mlm"),
    ("gpt2", "lm"),
    ("llama", "lm"),
    ("bart", "classification"),
]


@pytest.mark.parametrize(("architecture", "name"), CASES)
def test_every_head_is_what_evaluating_by_hand_gives(tmp_path: Path, architecture: str, name: str) -> None:
    model, task = made(tmp_path, architecture, name)
    found = ablate(model, task, sweep="heads", batch_size=2)
    plain = ablate(model, task, sweep="heads", reuse=False)
    untouched = task.evaluate(model)
    stacks = surveyed(model).stacks
    assert len(found.edits) == sum(grid.layers * grid.heads for grid in stacks.grids)
    assert found.baseline.values == pytest.approx(untouched.values, abs=1e-5)
    for one, other in zip(found.edits, plain.edits, strict=True):
        assert one.edit == other.edit
        assert one.values == pytest.approx(other.values, abs=1e-4)
    for one in found.edits[:: len(found.edits) // 4]:
        with edit(model, one.edit.heads):
            by_hand = task.evaluate(model).values
        assert one.values == pytest.approx(by_hand, abs=1e-4)
        for metric, change in one.changes.items():
            assert change.value == pytest.approx(one.values[metric] - untouched.values[metric], abs=1e-4)


def test_intervals_and_p_are_those_of_a_paired_test(tmp_path: Path) -> None:
    model, task = made(tmp_path, "bert", "classification")
    found = ablate(model, task, sweep="layers")
    before = task.evaluate(model).scores["loss"]
    for layer, one in enumerate(found.edits):
        with edit(model, layers=layer):
            after = task.evaluate(model).scores["loss"]
        test = ttest_rel(after, before)
        assert one.changes["loss"].p == pytest.approx(test.pvalue, rel=1e-3)
        low, high = test.confidence_interval()
        assert (one.changes["loss"].low, one.changes["loss"].high) == pytest.approx((low, high), rel=1e-3)


def test_mean_takes_the_means_of_the_tasks_own_inputs(tmp_path: Path) -> None:
    model, task = made(tmp_path, "bert", "classification")
    found = ablate(model, task, sweep="layers", how="mean", batch_size=2)
    means = mean_outputs(model, [batch.inputs for batch in task.batches(model)])
    with edit(model, layers=2, how="mean", means=means):
        assert found.edits[2].values == pytest.approx(task.evaluate(model).values, abs=1e-5)


@pytest.fixture
def kinds_sweep(tmp_path: Path) -> tuple[hs.Model, Task, hs.Atlas]:
    model, task = made(tmp_path, "bert", "qa")
    features = features_of(surveyed(model), task.batches(model))
    return model, task, hs.head_types(features, k=3).to_atlas(features)


def test_kinds_and_all_but_kinds(kinds_sweep: tuple[hs.Model, Task, hs.Atlas]) -> None:
    model, task, sorted_heads = kinds_sweep
    empty = ablate(model, task, sweep="layers").to_atlas()
    kinds_found = {"encoder": hs.head_types(sorted_heads, k=3).arrays()}
    atlas = empty.with_probe("types", kinds_found, facts={}, table={}, examples={})
    found = ablate(model, task, sweep="types", atlas=atlas)
    kinds = kinds_in(sorted_heads, surveyed(model).stacks)
    assert sum(len(heads) for heads in kinds.values()) == 12
    names = [one.edit.name for one in found.edits]
    assert names[:6] == [*kinds, *(f"all but {name}" for name in kinds)]
    sizes = dict.fromkeys(len(heads) for heads in kinds.values())
    assert names[6:] == [random_set(size, draw) for size in sizes for draw in range(3)]
    drawn = [one.edit.heads for one in found.edits[6:]]
    assert [len(heads) for heads in drawn] == [size for size in sizes for _ in range(3)]
    assert len({heads.members for heads in drawn}) == len(drawn)
    for name, heads in kinds.items():
        by_name = {one.edit.name: one for one in found.edits}
        assert by_name[name].edit.heads == heads
        assert len(by_name[f"all but {name}"].edit.heads) == 12 - len(heads)
    assert found.facts()["types_from"] == "an atlas of q.json"
    pairs = ablate(model, task, sweep="pairs-of-types", atlas=atlas)
    assert len(pairs.edits) == 3
    first, second, _ = kinds
    assert pairs.edits[0].edit.heads == kinds[first] | kinds[second]


def test_features_on_the_tasks_inputs_are_those_of_analyze(tmp_path: Path) -> None:
    model, task = made(tmp_path, "bert", "classification")
    ours = features_of(surveyed(model), task.batches(model, batch_size=2))["distance_features"]
    pairs = [(text.first, text.second) for text in task.corpus() if isinstance(text, TextPair)]
    theirs = hs.analyze(model, pairs, measures=["distance_features"], max_length=64)["distance_features"]
    np.testing.assert_allclose(ours.values, theirs.values, atol=1e-6)


def test_sentence_masks(tmp_path: Path) -> None:
    model, task = made(tmp_path, "bert", "classification")
    found = ablate(model, task, sweep="sentence-masks")
    by_name = {one.edit.name: one for one in found.edits}
    assert len({round(one.values["loss"], 5) for one in found.edits}) > len(found.edits) // 2
    with edit(model, "all", how="inter"):
        expected = task.evaluate(model).values
    assert by_name["all heads: no attention between sentences"].values == pytest.approx(expected)
    written = {kind: ", ".join(str(head) for _, head in heads) for kind, heads in found.kinds.items()}
    for kind, heads in written.items():
        for how, words in (("intra", "within"), ("inter", "between")):
            with edit(model, heads, how=how):  # type: ignore[arg-type]
                alone = task.evaluate(model).values
            assert by_name[f"{kind}: no attention {words} sentences"].values == pytest.approx(alone)
            with edit(model, f"all but {heads}", how=how):  # type: ignore[arg-type]
                others = task.evaluate(model).values
            assert by_name[f"all but {kind}: no attention {words} sentences"].values == pytest.approx(others)
    assert found.facts()["edit"] == "masked"
    scaled = ablate(model, task, sweep="sentence-masks", renormalise=True)
    with edit(model, "all", how="intra", renormalise=True):
        assert scaled.edits[0].values == pytest.approx(task.evaluate(model).values)
    with pytest.raises(OptionError, match="how='mean' does nothing in the sweep sentence-masks"):
        ablate(model, task, sweep="sentence-masks", how="mean")


def test_a_pruning_curve(tmp_path: Path) -> None:
    model, task = made(tmp_path, "bert", "classification")
    singles = ablate(model, task, sweep="heads")
    found = ablate(model, task, sweep="cumulative", order="effect", steps=4, random_orders=2)
    curve = found.arrays()["encoder"]["pruning_curve"]
    assert curve.values.shape == (3, 5, 4)
    assert list(curve.coords["pruned"]) == [0, 3, 6, 9, 12]
    assert len(found.edits) == 3 * 3 + 1  # all heads are the same heads in any order
    np.testing.assert_allclose(curve.values[:, 0], [list(found.baseline.values.values())] * 3)
    np.testing.assert_allclose(curve.values[0, -1], curve.values[2, -1])
    ranked = sorted(singles.edits, key=lambda one: one.changes["loss"].value)  # a lower loss is better
    least = {member for one in ranked[:3] for member in one.edit.heads}
    assert found.edits[0].edit.heads.members == least
    with edit(model, found.edits[0].edit.heads):
        assert found.edits[0].values == pytest.approx(task.evaluate(model).values, abs=1e-4)
    from_atlas = ablate(
        model, task, sweep="cumulative", order="effect", steps=4, random_orders=2, atlas=singles.to_atlas()
    )
    assert [one.edit for one in from_atlas.edits] == [one.edit for one in found.edits]
    assert "in the given atlas" in from_atlas.facts()["ordered_by"]
    assert "on the same examples" in found.facts()["ordered_by"]
    important = gradient_importance(model, task)
    by_gradient = ablate(model, task, sweep="cumulative", steps=4, random_orders=2)
    least = {row["head"] for row in important.heads()[-3:]}
    assert {str(head) for _, head in by_gradient.edits[0].edit.heads} == least
    again = ablate(model, task, sweep="cumulative", steps=4, random_orders=2, atlas=important.to_atlas())
    assert [one.edit for one in again.edits] == [one.edit for one in by_gradient.edits]
    assert again.facts()["ordered_by"] == "gradient importance in the given atlas"
    assert by_gradient.facts()["ordered_by"] == "gradient importance on the same examples"
    at_random = ablate(model, task, sweep="cumulative", order="random", steps=2, random_orders=2)
    assert at_random.arrays()["encoder"]["pruning_curve"].coords["order"] == ("random 0", "random 1")


def test_an_edit_in_force_is_told(tmp_path: Path) -> None:
    model, task = made(tmp_path, "bert", "qa")
    with edit(model, "1.0"):
        expected = task.evaluate(model).values
        with pytest.warns(HeadscopeWarning, match="the model is already edited"):
            found = ablate(model, task, sweep="layers", limit=None)
    assert found.baseline.values == pytest.approx(expected)
    assert found.facts()["edits_in_force"] == ["zero: 1.0"]
    assert ablate(model, task, sweep="layers").facts()["edits_in_force"] == []


def test_too_few_texts_for_so_many_edits_are_told(tmp_path: Path) -> None:
    model, task = made(tmp_path, "bert", "qa")  # of three articles
    with pytest.warns(HeadscopeWarning, match="3 independent texts cannot make any of 12 edits significant"):
        found = ablate(model, task, sweep="heads")
    assert not any(
        found.is_significant(metric.name, one.edit.name) for metric in found.metrics for one in found.edits
    )


def test_fewer_examples(tmp_path: Path) -> None:
    model, task = made(tmp_path, "bert", "qa")
    found = ablate(model, task, sweep="layers", limit=3)
    fewer = task.limited(3)
    assert isinstance(fewer, QuestionAnswering)
    assert [one.name for one in fewer.questions.questions] == ["a", "c", "e"]  # spread evenly
    assert found.baseline.predictions == fewer.evaluate(model).predictions
    assert found.facts()["examples"] == 3
    for name, architecture in (("classification", "bert"), ("mlm", "bert"), ("lm", "gpt2")):
        model, task = made(tmp_path, architecture, name)
        assert len(ablate(model, task, sweep="layers", limit=2).baseline) == 2
        assert len(task.evaluate(model)) > 2  # the task itself is left alone


def sweeps_of(tmp_path: Path) -> list[Ablations]:
    model, task = made(tmp_path, "bert", "qa")
    return [ablate(model, task, sweep=sweep) for sweep in ("heads", "layers")]  # type: ignore[arg-type]


def test_sweeps_stay_in_an_atlas_together(tmp_path: Path) -> None:
    heads, layers = sweeps_of(tmp_path)
    path = tmp_path / "a.nc"
    heads.to_atlas().save(path)
    layers.to_atlas(hs.open(path)).save(path)
    atlas = hs.open(path)
    assert atlas["ablation_change"].dims == ("layer", "head", "metric")
    assert atlas["layer_change"].dims == ("layer", "metric")
    for (layer, head), name in np.ndenumerate(np.arange(12).reshape(3, 4)):
        own = heads.edits[int(name)]
        assert str(own.edit.heads) == f"{layer}.{head}"
        got = atlas["ablation_change"].sel(layer=layer, head=head, metric="f1")
        assert float(got) == pytest.approx(own.changes["f1"].value)
    assert [row["sweep"] for row in atlas.table("ablation")] == ["heads"] * 12 + ["layers"] * 3
    again = layers.to_atlas(heads.to_atlas(atlas))
    assert len(again.table("ablation")) == 15
    assert set(again.provenance["probes"]["ablation"]["sweeps"]) == {"heads", "layers"}
    np.testing.assert_array_equal(again["ablation_change_stderr"], atlas["ablation_change_stderr"])


def test_an_atlas_of_several_stacks(tmp_path: Path) -> None:
    model, task = made(tmp_path, "bart", "classification")
    atlas = ablate(model, task, sweep="heads").to_atlas()
    assert atlas.stacks == ["encoder", "decoder", "cross"]
    assert atlas["encoder/ablation_change"].shape == (3, 4, 4)
    assert atlas["cross/ablation_change"].shape == (2, 2, 4)
    assert atlas.table("ablation")[0]["name"] == "encoder 0.0"
    with edit(model, "cross 1.1"):
        changed = task.evaluate(model).metric("loss")
    value = float(atlas["cross/ablation_change"].sel(layer=1, head=1, metric="loss"))
    assert value == pytest.approx(changed - task.evaluate(model).metric("loss"), abs=1e-4)


def test_a_single_article_has_no_interval(tmp_path: Path) -> None:
    model = headed("bert", "mlm")
    (tmp_path / "one.txt").write_text("The cat sat on the mat.\n")
    task = task_for("mlm", tmp_path / "one.txt", model)
    with pytest.warns(HeadscopeWarning, match="single text or article"):
        found = ablate(model, task, sweep="layers")
    assert np.isnan(found.adjusted_p["loss"]["layer 0"])
    assert not found.is_significant("loss", "layer 0")


def test_what_cannot_be_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, task = made(tmp_path, "bert", "qa")
    with pytest.raises(OptionError, match="sweep='everything' is not known; choose from heads"):
        ablate(model, task, sweep="everything")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="how='intra' is not known; choose from zero, uniform, mean"):
        ablate(model, task, how="intra")
    with pytest.raises(OptionError, match="renormalise is for"):
        ablate(model, task, renormalise=True)
    with pytest.raises(OptionError, match="limit must be at least 1"):
        ablate(model, task, limit=0)
    with pytest.raises(AtlasError, match="no kinds of heads"):
        ablate(model, task, sweep="types", atlas=ablate(model, task, sweep="layers").to_atlas())
    other, _ = made(tmp_path, "distilbert", "qa")
    with pytest.raises(AtlasError, match="weights differ"):
        ablate(model, task, sweep="types", atlas=ablate(other, task, sweep="layers").to_atlas())
    with pytest.raises(OptionError, match="has no segments"):
        ablate(other, task, sweep="sentence-masks")
    classifier = headed("bert", "classification")
    single = task_for("classification", labelled_file(tmp_path / "single.tsv"), classifier)
    with pytest.raises(OptionError, match=r"no text of .* is a pair"):
        ablate(classifier, single, sweep="sentence-masks")
    unhooked = surveyed(model).__class__(model, surveyed(model).stacks, hooked=False, pads=True)
    monkeypatch.setattr("headscope.edits.changes.surveyed", lambda _: unhooked)
    with pytest.raises(InterventionError, match="does not let its attention be changed"):
        ablate(model, task)
