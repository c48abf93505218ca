import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.atlases import FEATURES, atlas_of, empty_atlas, random_atlas
from tests.helpers.tasks import headed, questions_file
from tests.helpers.tiny import tiny
from tests.reproduce.sweeps import facts, row, with_sweeps

import headscope as hs
from headscope.errors import OptionError
from headscope.reproduce import Figure, Reproduction, Row, guan2020
from headscope.types import LabelledArray

LAYERS, HEADS, FOLDS = 6, 8, 8
CENTRES = {
    "dense": {"w01": 0.3, "w02": 0.3, "w05": 0.4},
    "diagonal": {"self": 0.4, "w00": 0.6},
    "dense&vertical": {"sep": 0.4, "w03": 0.3, "w06": 0.3},
    "vertical": {"cls": 0.9, "w00": 0.1},
}
BY_LAYER = ("dense", "dense", "dense&vertical", "diagonal", "diagonal", "vertical")
"""All heads of a layer are of one kind, but for the first two, which are dense."""


def kinds_atlas() -> hs.Atlas:
    random = np.random.default_rng(0)
    kind = [[BY_LAYER[layer] if head > 1 else "dense" for head in range(HEADS)] for layer in range(LAYERS)]
    values = np.array(
        [[[CENTRES[one].get(name, 0.0) for name in FEATURES] for one in layer] for layer in kind]
    )
    folds = values + random.normal(0, 0.005, (FOLDS, *values.shape))
    grid = {"layer": range(LAYERS), "head": range(HEADS), "feature": FEATURES}
    name = "distance_features"
    return atlas_of(
        {
            name: LabelledArray(folds.mean(0), tuple(grid), grid, name),
            f"{name}_uniform": LabelledArray(np.full(21, 1 / 21), ("feature",), {"feature": FEATURES}, name),
            f"{name}_folds": LabelledArray(folds, ("fold", *grid), {"fold": range(FOLDS), **grid}, name),
            f"{name}_fold_texts": LabelledArray(np.full(FOLDS, 4), ("fold",), {"fold": range(FOLDS)}, name),
        }
    )


@pytest.fixture(scope="module", autouse=True)
def _few_fits() -> Iterator[None]:
    """Fewer rounds and draws than users get: what is tested here is where the numbers go."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headscope.heads.stability.ROUNDS", 2)
        patch.setattr("headscope.heads.clusters.NULL_DRAWS", 9)
        yield


@pytest.fixture(scope="module")
def known() -> Reproduction:
    return guan2020(kinds_atlas())


@pytest.fixture(scope="module")
def cloud() -> Reproduction:
    """Heads that have no kinds; it is told in notes, not by warnings."""
    with warnings.catch_warnings(action="error"):
        return guan2020(random_atlas(4, 8), k=3, seed=2)


def test_known_kinds_have_their_shares_beside_the_published(known: Reproduction) -> None:
    rows = {row.quantity: row for row in known.section("shares").rows}
    published = {name: row.published.value for name, row in rows.items() if row.published}
    ours = {name: row.ours.value for name, row in rows.items() if row.ours}
    assert published == {"dense": 0.2604, "diagonal": 0.2556, "dense&vertical": 0.3411, "vertical": 0.1328}
    heads = {"dense": 16 + 2 * 4, "diagonal": 12, "dense&vertical": 6, "vertical": 6}
    assert ours == pytest.approx({name: number / 48 for name, number in heads.items()})
    grid = known.section("layers").grid
    assert grid is not None
    assert grid.columns == tuple("012345")
    assert grid.lines["dense"] == [8, 8, 2, 2, 2, 2]
    assert grid.lines["diagonal"] == [0, 0, 0, 6, 6, 0]
    assert "26.56 %" in known.section("shares").notes[0]


def test_stability_in_both_readings(known: Reproduction) -> None:
    with warnings.catch_warnings(action="ignore"):
        facts = hs.head_types(kinds_atlas(), k=4)
    rows = {row.quantity: row for row in known.section("stability").rows}
    heads, texts = rows["heads, pre-trained"], rows["texts"]
    assert heads.published is not None
    assert heads.ours is not None
    assert texts.ours is not None
    assert (heads.published.value, heads.ours.value) == (0.9598, facts.by_heads.share)
    assert (heads.ours.low, heads.ours.high) == (facts.by_heads.low, facts.by_heads.high)
    assert (texts.published, texts.ours.value) == (None, 1.0)
    average = rows["texts, mean over fits"].ours
    assert average is not None
    assert average.value == 1.0
    mnli = rows["heads, MNLI"]
    assert mnli.published is not None
    assert (mnli.published.value, mnli.ours) == (0.9437, None)


def test_the_average_counts_fits_in_which_a_head_changed(cloud: Reproduction) -> None:
    changed = cloud.atlas["head_type_changed"].sel(half="heads").values
    rows = {row.quantity: row for row in cloud.section("stability").rows}
    average = rows["heads, mean over fits"].ours
    assert average is not None
    assert changed.mean() > 0
    assert average.value == pytest.approx(1 - changed.mean() / 10)
    assert rows["texts"].ours is None
    assert "texts, mean over fits" not in rows


def test_the_ends_are_percentiles_of_the_rounds(cloud: Reproduction) -> None:
    with warnings.catch_warnings(action="ignore"):
        rounds = hs.head_types(random_atlas(4, 8), k=3, seed=2).by_heads.rounds
    rows = {row.quantity: row.ours for row in cloud.section("stability").rows}
    ours = rows["heads, pre-trained"]
    assert ours is not None
    assert rounds.min() < rounds.max()
    ends = np.quantile(rounds, [0.05, 0.95])
    assert (ours.low, ours.value, ours.high) == pytest.approx((ends[0], rounds.mean(), ends[1]))


def test_warnings_are_notes_and_kinds_without_a_name_have_nothing_published(cloud: Reproduction) -> None:
    section = cloud.section("shares")
    assert section.title.endswith("k = 3")
    assert any("not well separated" in note for note in section.notes)
    assert len([row for row in section.rows if row.ours]) == 3
    assert sum(row.ours.value or 0 for row in section.rows if row.ours) == pytest.approx(1)
    number = cloud.section("number").rows[0]
    assert number.published is not None
    assert number.published.value == 4
    assert [row.quantity for row in cloud.section("number").rows[1:]] == [
        f"silhouette of {k}" for k in range(2, 9)
    ]
    assert cloud.section("effects").needs


def test_a_model_is_measured_on_a_text(tmp_path: Path) -> None:
    text = hs.read_text(hs.sample_path("articles"))
    result = guan2020(tiny("bert"), text=text, limit=6, max_length=48, k=2)
    assert result.atlas.measures[0] == "distance_features"
    assert "head_type" in result.atlas
    path = tmp_path / "a.nc"
    result.atlas.save(path)
    again = guan2020(path, k=2)
    assert again.section("shares").rows == result.section("shares").rows
    assert "tiny-bert has 3 layers x 4 heads" in again.notes[0]


def test_what_cannot_work_is_told() -> None:
    text = hs.read_text(hs.sample_path("articles"))
    with pytest.raises(OptionError, match="give a text, or an atlas"):
        guan2020(tiny("bert"))
    with pytest.raises(OptionError, match="text cannot be read with an atlas"):
        guan2020(kinds_atlas(), text=text)
    with pytest.raises(OptionError, match="has no distance_features"):
        guan2020(atlas_of({}))


def swept(edit: str, *, probe: str = "ablation", atlas: hs.Atlas | None = None, **changes: str) -> hs.Atlas:
    """Kinds edited: dense costs 4 points, near (which no paper knows) 1, all but dense 30."""
    rows = [
        row("types", "dense", -4.0, heads=5),
        row("types", "near", -1.0),
        row("types", "all but dense", -30.0),
    ]
    about = facts("types", edit, **changes)
    return with_sweeps(empty_atlas() if atlas is None else atlas, {"types": (about, rows)}, probe=probe)


def effects(result: Reproduction) -> dict[str, Row]:
    return {row.quantity: row for row in result.section("effects").rows}


def test_tables_2_and_3_of_a_sweep() -> None:
    result = guan2020(swept("zero"))
    rows = effects(result)
    assert rows["untouched"].published == Figure(0.8968)
    assert rows["untouched"].ours == Figure(0.40, 0.35, 0.45)
    assert rows["dense, pruned"].published == Figure(0.8762)
    assert rows["dense, pruned"].ours == Figure(0.36, detail="5 heads")
    change = rows["dense, pruned: change"]
    assert change.ours == Figure(-0.04, -0.05, -0.03)
    assert change.published == Figure(-0.0206)
    assert (rows["near, pruned"].published, rows["near, pruned"].ours) == (
        None,
        Figure(0.39, detail="1 head"),
    )
    assert rows["all but dense, pruned: change"].ours == Figure(-0.3, -0.31, -0.29)
    assert rows["diagonal, pruned"].ours is None
    published = {
        name: row.published.value for name, row in rows.items() if row.published and "change" not in name
    }
    assert published == {
        "untouched": 0.8968,
        "dense, pruned": 0.8762, "diagonal, pruned": 0.0755, "dense&vertical, pruned": 0.8192,
        "vertical, pruned": 0.8857,
        "dense, uniform": 0.8417, "diagonal, uniform": 0.0607, "dense&vertical, uniform": 0.1115,
        "vertical, uniform": 0.5909,
    }  # fmt: skip
    assert rows["dense, uniform"].ours is None
    assert any("no sweep with kinds uniform" in note for note in result.section("effects").notes)
    assert [section.key for section in result.sections if section.needs] == [
        "shares", "stability", "number", "layers", "masks",
    ]  # fmt: skip


def test_another_task_has_no_published_figures_beside_it() -> None:
    rows = effects(guan2020(swept("zero", task="classification")))
    assert rows["dense, pruned"].ours is not None
    assert all(row.published is None for row in rows.values())


def test_both_sweeps_stand_in_their_own_rows() -> None:
    rows = effects(guan2020(swept("uniform")))
    assert rows["dense, pruned"].ours is None
    assert rows["dense, uniform"].ours == Figure(0.36, detail="5 heads")
    both = guan2020(swept("uniform", probe="ablation_uniform", atlas=swept("zero"), data_hash="sha256:2"))
    rows = effects(both)
    assert rows["dense, pruned"].ours == rows["dense, uniform"].ours == Figure(0.36, detail="5 heads")
    assert any("different examples" in note for note in both.section("effects").notes)
    with pytest.raises(OptionError, match="has no distance_features"):
        guan2020(swept("mean"))


@pytest.mark.filterwarnings("ignore:. independent texts cannot make")
def test_kinds_of_a_model_are_pruned_and_made_uniform(tmp_path: Path) -> None:
    model = headed("bert", "qa")
    task = hs.task_for("qa", questions_file(tmp_path / "questions.json"), model)
    text = hs.read_text(hs.sample_path("articles"))
    result = guan2020(model, text=text, limit=6, max_length=48, k=2, task=task, examples=3)
    path = tmp_path / "a.nc"
    result.atlas.save(path)
    rows = effects(result)
    kinds = set(result.atlas["head_type"].values.ravel().tolist())
    for how, words in (("zero", "pruned"), ("uniform", "uniform")):
        expected = hs.ablate(model, task, sweep="types", how=how, atlas=result.atlas, limit=3).table()  # type: ignore[arg-type]
        by_name = {one["name"]: one for one in expected}
        assert kinds == {name for name in by_name if not name.startswith("all but") and "random" not in name}
        for kind in kinds:
            own = rows[f"{kind}, {words}"].ours
            assert own is not None
            assert own.value == pytest.approx(by_name[kind]["values"]["f1"] / 100)
    assert guan2020(path, k=2).section("effects") == result.section("effects")
    masks = hs.ablate(model, task, sweep="sentence-masks", atlas=result.atlas, limit=3)
    masked = {row.quantity: row.ours for row in result.section("masks").rows}
    for one in masks.edits:
        own = masked[one.edit.name]
        assert own is not None
        assert own.value == pytest.approx(one.values["f1"] / 100)
    lines = "".join(f"a text of number {number}\t{number % 2}\n" for number in range(4))
    (tmp_path / "single.tsv").write_text(lines, encoding="utf-8")
    classifier = headed("bert", "classification")
    single = hs.task_for("classification", tmp_path / "single.tsv", classifier)
    alone = guan2020(classifier, text=text, limit=6, max_length=48, k=2, task=single)
    assert alone.section("masks").needs  # single texts have no two sentences
    with pytest.raises(OptionError, match="task cannot be read with an atlas"):
        guan2020(path, task=task)
