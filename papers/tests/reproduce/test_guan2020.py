import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.helpers.atlases import FEATURES, atlas_of, random_atlas
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import OptionError
from headscope.types import LabelledArray
from headscope_papers.reproduce import Reproduction, guan2020

LAYERS, HEADS, FOLDS = 6, 8, 8
CENTRES = {
    "dense": {"w01": 0.3, "w02": 0.3, "w05": 0.4},
    "diagonal": {"self": 0.4, "w00": 0.6},
    "dense&vertical": {"sep": 0.4, "w03": 0.3, "w06": 0.3},
    "vertical": {"cls": 0.9, "w00": 0.1},
}
BY_LAYER = ("dense", "dense", "dense&vertical", "diagonal", "diagonal", "vertical")
"""All heads of a layer are of one kind, but for the first two, which are dense."""

ITEMS = ["figure 1", "figure 2", "figure 3", "figure 4", "table 1", "table 2", "table 3"]


@pytest.fixture(scope="module", autouse=True)
def two_rounds(few_fits: None) -> Iterator[None]:
    """As many as it takes for a stability to have two ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headscope.kinds.stability.ROUNDS", 2)
        yield


def kinds_atlas(kind: list[list[str]] | None = None) -> hs.Atlas:
    random = np.random.default_rng(0)
    if kind is None:
        kind = [
            [BY_LAYER[layer] if head > 1 else "dense" for head in range(HEADS)] for layer in range(LAYERS)
        ]
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
    assert [row.quantity for row in cloud.section("number").rows[2:]] == [
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
    with pytest.raises(OptionError, match=r"give text .*, or an atlas"):
        guan2020(tiny("bert"))
    with pytest.raises(OptionError, match="text cannot be read with an atlas"):
        guan2020(kinds_atlas(), text=text)
    with pytest.raises(OptionError, match="has no distance_features"):
        guan2020(atlas_of({}))


def test_every_table_and_figure_of_the_paper_has_its_section(known: Reproduction) -> None:
    covered = [name for section in known.sections for name in section.covers]
    assert sorted([*covered, *known.not_covered]) == [
        *(f"figure {number}" for number in range(1, 5)),
        *(f"table {number}" for number in range(1, 4)),
    ]
    assert all(name in section.title.lower() for section in known.sections for name in section.covers)


def test_rows_with_both_columns_have_a_verdict(known: Reproduction, cloud: Reproduction) -> None:
    for section in (*known.sections, *cloud.sections):
        for row in section.rows:
            assert row.published is None or row.ours is None or row.verdict is not None, row.quantity


def test_verdicts_on_kinds(known: Reproduction, cloud: Reproduction) -> None:
    def agreement(result: Reproduction, key: str, quantity: str) -> str:
        row = next(row for row in result.section(key).rows if row.quantity == quantity)
        assert row.verdict is not None
        return row.verdict.agreement

    assert agreement(known, "shares", "vertical") == "same"  # 6 of 48 heads
    assert agreement(known, "stability", "heads, pre-trained") == "same"
    assert agreement(known, "number", "number of kinds") == "same"
    assert agreement(known, "number", "4 kinds against a single cloud") == "same"
    assert agreement(cloud, "shares", "vertical") == "unclear"  # slices of one cloud
    assert agreement(cloud, "stability", "heads, pre-trained") == "different"
    assert agreement(cloud, "number", "number of kinds") == "unclear"
    assert agreement(cloud, "number", "3 kinds against a single cloud") == "different"


def test_a_rare_kind_is_none_of_its_own() -> None:
    few = [[BY_LAYER[layer] if head > 1 else "dense" for head in range(HEADS)] for layer in range(LAYERS)]
    few[5] = ["vertical"] * 3 + ["dense"] * 5
    rows = {row.quantity: row for row in guan2020(kinds_atlas(few)).section("shares").rows}
    vertical = rows["vertical"]
    assert vertical.ours is not None
    assert vertical.ours.value == pytest.approx(3 / 48)
    assert vertical.verdict is not None
    assert vertical.verdict.agreement == "different"


def test_several_models_side_by_side(known: Reproduction) -> None:
    def renamed(model: str, atlas: hs.Atlas) -> hs.Atlas:
        atlas.tree.attrs["model"] = model
        return atlas

    others = [renamed("tuned-mrpc", random_atlas(4, 8)), renamed("tuned-qa", kinds_atlas())]
    with warnings.catch_warnings(action="ignore"):
        alone = guan2020(random_atlas(4, 8))
    result = guan2020(renamed("plain", kinds_atlas()), against=others)
    assert [atlas.provenance["model"] for atlas in result.others] == ["tuned-mrpc", "tuned-qa"]
    assert all("head_type" in atlas for atlas in result.others)
    rows = {row.quantity: row for row in result.section("shares").rows}
    expected = {row.quantity: row.ours for row in known.section("shares").rows}
    assert {kind: rows[f"{kind}, plain"].ours for kind in CENTRES} == {
        kind: expected[kind] for kind in CENTRES
    }
    # Each model's kinds are fitted by itself.
    own = {row.quantity: row.ours for row in alone.section("shares").rows}
    assert {kind: rows[f"{kind}, tuned-mrpc"].ours for kind in own} == own
    stability = {row.quantity: row for row in result.section("stability").rows}
    published = {name: row.published.value for name, row in stability.items() if row.published}
    assert published == {
        "heads, pre-trained, plain": 0.9598, "heads, MRPC, tuned-mrpc": 0.9598, "heads, SQuAD": 0.9626,
        "heads, MNLI": 0.9437,
    }  # fmt: skip
    assert stability["heads, tuned-qa"].ours == stability["heads, pre-trained, plain"].ours
    grid = result.section("layers").grid
    assert grid is not None
    assert grid.lines["dense, plain"] == [8, 8, 2, 2, 2, 2]
    assert all(len(numbers) == LAYERS for numbers in grid.lines.values())
    for key in ("map", "features", "layers"):
        titles = [drawing.title for drawing in result.section(key).drawings]
        assert [title.rpartition(": ")[2] for title in titles] == ["plain", "tuned-mrpc", "tuned-qa"]


def test_drawings_can_be_drawn() -> None:
    text = hs.read_text(hs.sample_path("articles"))
    result = guan2020(tiny("bert"), against=tiny("bert"), text=text, limit=6, max_length=48, k=2)
    for key in ("examples", "map", "features", "layers"):
        drawings = result.section(key).drawings
        assert len(drawings) == 2
        figure = Figure(figsize=drawings[0].size)
        drawings[0].draw(figure.add_subplot())
        assert figure.axes[0].get_title(loc="left") or figure.axes[0].get_title()
